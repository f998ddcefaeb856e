/**
 * Translation of what a data plane reports on its attachment into what interface and claim status say. Pure and total:
 * whatever stands in the attachment's status, a report comes out and nothing is thrown.
 */
import type { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { Condition, KubeObject } from 'kube-control-loop'
import type { PlaneReport, ReportedFrom, TranslatedCondition } from './types.ts'

/** What one DataPlane says about where its reports stand. */
export type ReportSource = {
  /** Name of the DataPlane, e.g. `galactic`. */
  readonly plane: string
  readonly apiGroup: string
  readonly apiVersion: string
  readonly kind: string
  readonly preparedCondition: string
  /** Absent: the plane reports no programming, and Programmed mirrors Prepared. */
  readonly programmedCondition: string | undefined
}

export type Reported = {
  readonly source: ReportSource
  readonly interface: { readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string } }
  readonly attachment: KubeObject | undefined
  /** Whether the kind is served; undefined while that is not known yet. */
  readonly served: boolean | undefined
  /** Why nothing can be asked of the data plane now, for people. */
  readonly hindrance?: string | undefined
  /** The field manager that had set a condition of the attachment, where known. */
  readonly reporterOf?: (condition: string) => string | undefined
  /** Whose the object under the network's name is, for people, when it is somebody else's. */
  readonly foreignNetworkObject?: string | undefined
  /** Why the API server takes the attachment in no form, for people. */
  readonly refused?: string | undefined
  /** What was said of Prepared before: where that is a refusal it stands until the API server has answered this process. */
  readonly refusedBefore?: TranslatedCondition | undefined
  /** What else people should know as long as the interface is not prepared. */
  readonly note?: string | undefined
  /** Values of the DataPlane's `report` templates; anything but a non-empty string counts as not reported. */
  readonly vpc?: unknown
  readonly podNetwork?: unknown
}

/** A reason as the API conventions want it: one CamelCase word. */
const reasonPattern = /^[A-Z][A-Za-z0-9]{0,127}$/
/** Bound of a condition's message in the CRDs (metav1.Condition). */
const longestMessage = 32768

/** A condition as NSO itself says it; `next` becomes the end of its message: what to do, or who is waited for. */
type Said = TranslatedCondition & { readonly next?: string }

const next = {
  noPlane: 'install one, or add the location to one',
  notInstalled: 'install its definitions, then it goes on by itself',
  foreignNetwork: 'remove that object, or use another network name',
  refused: 'correct the templates of the DataPlane, or what the claim asks for',
  hindered: 'see the conditions of the DataPlane',
  unmade: 'wait for NSO to make it',
  going: 'wait for the data plane to let go of it',
  unowned: 'see who made it; NSO makes its own when it is gone',
  silent: 'wait for the data plane, and see that it runs',
  stale: 'wait for the data plane to report again, and see that it runs',
  breach: 'tell the makers of the data plane',
} as const

/** No accepted DataPlane serves the location. `why` says what to do too. */
export function reportWithoutPlane(location: string, why: string = next.noPlane): PlaneReport {
  const message = bounded(`No accepted DataPlane serves location ${location}: ${why}`)
  return {
    ...nothing,
    prepared: { status: 'False', reason: 'NoDataPlane', message },
    programmed: { status: 'Unknown', reason: 'AwaitingDataPlane', message },
  }
}

/**
 * What status says of an earlier report; undefined when it only holds the seeds of its schema. A claim repeats what it said of
 * this interface itself: a process may have ended between the two writes, and the interface then says what was before.
 */
export function standingReport(nic: NetworkInterface, speaker?: NetworkInterfaceClaim): PlaneReport | undefined {
  const isHolder = speaker?.status?.networkInterfaceRef?.name === nic.metadata.name
  const conditions = (isHolder && saidBy(speaker)) || saidBy(nic)
  const { vpc, attachmentRef } = nic.status ?? {}
  return conditions && { ...conditions, vpc, attachmentRef, podNetwork: undefined }
}

function saidBy({ status }: Pick<NetworkInterface | NetworkInterfaceClaim, 'status'>) {
  const [prepared, programmed] = ['Prepared', 'Programmed'].map((type) => status?.conditions?.find((each) => each.type === type))
  if (!prepared || !programmed || isUnsaid(prepared) || isUnsaid(programmed)) return undefined
  const said = ({ type, status: is, reason, message }: Condition): TranslatedCondition => {
    const { type: _, ...from } = status?.conditionSources?.find((source) => source.type === type) ?? {}
    return { status: is, reason, message, ...('object' in from ? { from } : {}) }
  }
  return { prepared: said(prepared), programmed: said(programmed) }
}

/** What NSO has said keeps the time of the seed as long as it is Unknown, and has a generation. */
const isUnsaid = (condition: Condition): boolean => isSeed(condition) && condition.observedGeneration === undefined

const nothing = { vpc: undefined, attachmentRef: undefined, podNetwork: undefined }

export function translateReport(reported: Reported): PlaneReport {
  const report = translated(reported)
  const note = (reported.attachment && reported.foreignNetworkObject) ?? reported.note
  const prepared = closed(note ? noted(report.prepared, note) : report.prepared)
  const programmed = reported.source.programmedCondition ? closed(report.programmed) : mirrored(prepared)
  return { ...report, prepared, programmed }
}

const noted = (said: Said, note: string): Said =>
  said.status === 'True' ? said : { ...said, message: `${said.message}; ${note}` }

/** Too long a message loses its middle, never what to do. */
function closed({ next: remedy, ...said }: Said): TranslatedCondition {
  const end = remedy === undefined ? '' : `: ${remedy}`
  return { ...said, message: `${bounded(said.message, longestMessage - end.length)}${end}` }
}

type Translation = Omit<PlaneReport, 'prepared' | 'programmed'> & { prepared: Said; programmed: Said }

function translated(reported: Reported): Translation {
  const { source, attachment } = reported
  if (reported.served === false) {
    const message = `DataPlane ${source.plane}: kind ${source.kind} (${source.apiGroup}) is not installed`
    return withoutReport(source, { status: 'False', reason: 'DataPlaneNotInstalled', message, next: next.notInstalled })
  }
  if (!attachment && reported.foreignNetworkObject) {
    const message = `DataPlane ${source.plane}: nothing is made for ${nameOf(reported)}: ${reported.foreignNetworkObject}`
    return withoutReport(source, { status: 'False', reason: 'NetworkObjectForeign', message, next: next.foreignNetwork })
  }
  if (!attachment && reported.refused && !reported.hindrance) {
    const message = `${refusalOf(reported)}${reported.refused}`
    return withoutReport(source, { status: 'False', reason: 'AttachmentRefused', message, next: next.refused })
  }
  const before = reported.refusedBefore
  if (!attachment && !reported.hindrance && before && isRefusal(before, reported)) return withoutReport(source, before)
  if (!attachment) {
    const why = reported.hindrance ? `: ${reported.hindrance}` : ''
    const message = `DataPlane ${source.plane}: ${source.kind} ${nameOf(reported)} does not exist yet${why}`
    const remedy = reported.hindrance ? next.hindered : next.unmade
    return withoutReport(source, { status: 'Unknown', reason: 'Pending', message, next: remedy })
  }
  const says = reporter(source, attachment)
  const owner = foreignOwner(reported)
  if (owner) return withoutReport(source, unknown('ReportStale', `${says}: ${owner}`, next.unowned))
  return ownReport(reported, attachment, says)
}

/** How each refusal of this attachment begins. */
const refusalOf = (reported: Reported): string =>
  `DataPlane ${reported.source.plane}: ${reported.source.kind} ${nameOf(reported)}: `

const isRefusal = ({ reason, message }: TranslatedCondition, reported: Reported): boolean =>
  reason === 'AttachmentRefused' && message.startsWith(refusalOf(reported))

function ownReport(reported: Reported, attachment: KubeObject, says: string): Translation {
  const { source } = reported
  const about = { attachment, says, from: (condition: string) => reportedFrom(reported, attachment, condition) }
  const prepared = preparedFrom(about, source.preparedCondition)
  return {
    prepared,
    programmed: source.programmedCondition ? programmedFrom(about, source.programmedCondition) : mirrored(prepared),
    vpc: text(reported.vpc),
    podNetwork: text(reported.podNetwork),
    attachmentRef: { apiGroup: source.apiGroup, kind: source.kind, name: attachment.metadata.name },
  }
}

function withoutReport(source: ReportSource, prepared: Said): Translation {
  const programmed: Said = source.programmedCondition
    ? { ...prepared, status: 'Unknown', reason: 'AwaitingDataPlane' }
    : mirrored(prepared)
  return { ...nothing, prepared, programmed }
}

const mirrored = <S extends Said>(prepared: S): S => ({ ...prepared, reason: 'NotReported' })

type About = { attachment: KubeObject; says: string; from: (condition: string) => { from?: ReportedFrom } }

/** Nothing in it moves while the report stands: neither times nor versions. */
function reportedFrom({ source, reporterOf }: Reported, { metadata }: KubeObject, condition: string): { from?: ReportedFrom } {
  const { name, uid, generation } = metadata
  if (uid === undefined) return {}
  const manager = reporterOf?.(condition)
  return {
    from: {
      dataPlane: source.plane,
      object: { apiVersion: source.apiVersion, kind: source.kind, name, uid },
      ...(generation === undefined ? {} : { generation }),
      condition,
      ...(manager === undefined ? {} : { manager }),
    },
  }
}

function preparedFrom(about: About, type: string): Said {
  const given = read(about, type)
  if (given === 'not reported') return unknown('Pending', `${about.says}: no report yet`, next.silent)
  if (given.status !== 'True') return given
  if (about.attachment.metadata.deletionTimestamp) {
    return { ...given, ...unknown('Pending', `${about.says}: is being deleted`, next.going) }
  }
  return { ...given, reason: 'AttachmentReady' }
}

function programmedFrom(about: About, type: string): Said {
  const given = read(about, type)
  return given === 'not reported' ? unknown('AwaitingDataPlane', `${about.says}: no report yet`, next.silent) : given
}

/** One condition of the attachment as it may be passed on, with where it stands. */
function read(about: About, type: string): Said | 'not reported' {
  const said = judged(about, type)
  return said === 'not reported' ? said : { ...said, ...about.from(type) }
}

function judged({ attachment, says }: About, type: string): Said | 'not reported' {
  const found = findCondition(attachment.status, type)
  if (found === undefined) return 'not reported'
  const breach = found === 'malformed' ? 'status.conditions is no list with one entry for each type' : breachIn(found, type)
  if (found === 'malformed' || breach) return unknown('ContractViolation', `${says}: ${breach}`, next.breach)
  const status = statusOf(found)
  if (isSeed(found)) {
    if (status === 'Unknown') return 'not reported'
    return unknown('ContractViolation', `${says}: condition ${type} is ${status} by a default, not by a report`, next.breach)
  }
  const stale = staleness(attachment, found)
  if (stale) return unknown('ReportStale', `${says}: ${stale}`, next.stale)
  const message = `${says}: ${typeof found.message === 'string' ? found.message : ''}`
  if (typeof found.reason === 'string' && reasonPattern.test(found.reason)) {
    return { status: status ?? 'Unknown', reason: found.reason, message }
  }
  const remedy = status === 'True' ? {} : { next: next.breach }
  return { status: status ?? 'Unknown', reason: 'ContractViolation', message, ...remedy }
}

/** Whether the data plane has spoken of a condition, whatever it said: never, before the attachment last changed, or since. */
export function reportedWhen(attachment: KubeObject, type: string): 'never' | 'earlier' | 'since' {
  const found = findCondition(attachment.status, type)
  if (found === 'malformed') return 'since'
  if (found === undefined || isSeed(found)) return 'never'
  return staleness(attachment, found) === undefined ? 'since' : 'earlier'
}

/** Whether what the data plane says of a condition, if anything, is against the contract. */
export function breaksContract(attachment: KubeObject, type: string): boolean {
  const said = judged({ attachment, says: '', from: () => ({}) }, type)
  return said !== 'not reported' && said.reason === 'ContractViolation'
}

type Fields = { readonly [key: string]: unknown }

const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function findCondition(status: unknown, type: string): Fields | 'malformed' | undefined {
  if (status === undefined || status === null) return undefined
  if (!isMap(status)) return 'malformed'
  const { conditions } = status
  if (conditions === undefined || conditions === null) return undefined
  if (!Array.isArray(conditions)) return 'malformed'
  const named = conditions.filter((condition): condition is Fields => isMap(condition) && condition.type === type)
  return named.length > 1 ? 'malformed' : named[0]
}

function breachIn(condition: Fields, type: string): string | undefined {
  const { message, observedGeneration } = condition
  if (statusOf(condition) === undefined) return `condition ${type} has a status other than True, False or Unknown`
  if (isGiven(message) && typeof message !== 'string') return `condition ${type} has a message that is no text`
  return isGiven(observedGeneration) && !Number.isInteger(observedGeneration)
    ? `condition ${type} has an observedGeneration that is no integer`
    : undefined
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const statusOf = ({ status }: Fields): TranslatedCondition['status'] | undefined =>
  status === 'True' || status === 'False' || status === 'Unknown' ? status : undefined

/** A condition that the CRD's default put there: the conventional time is the epoch. Nobody has reported it. */
const isSeed = (condition: Fields): boolean =>
  typeof condition.lastTransitionTime === 'string' && Date.parse(condition.lastTransitionTime) === 0

/**
 * Why a condition does not speak of the attachment as it stands; undefined when it does. Without any observedGeneration
 * it can only be believed about an attachment that never changed. The start of a deletion counts as a generation of its own
 * (apiserver, rest.BeforeDelete) and changes nothing that was asked for.
 */
function staleness(attachment: KubeObject, condition: Fields): string | undefined {
  const { generation, deletionTimestamp } = attachment.metadata
  if (generation === undefined) return undefined
  const asked = deletionTimestamp ? [generation, generation - 1] : [generation]
  const observed = condition.observedGeneration ?? (attachment.status as Fields).observedGeneration
  if (observed === undefined || observed === null) {
    return Math.min(...asked) > 1
      ? `reports without observedGeneration, and the attachment has changed (generation ${generation})`
      : undefined
  }
  return asked.some((one) => one === observed)
    ? undefined
    : `reported for generation ${JSON.stringify(observed)}, the attachment is at ${generation}`
}

/** Says whose the attachment is when it is not this interface's; the uid tells incarnations of one name apart. */
function foreignOwner({ attachment, interface: nic }: Reported): string | undefined {
  const owner = attachment?.metadata.ownerReferences?.find((reference) => reference.controller)
  if (!owner) return 'has no controlling owner, so it is not this interface’s'
  return owner.uid === nic.metadata.uid
    ? undefined
    : `belongs to ${owner.kind} ${owner.name} with uid ${owner.uid}, not to this interface`
}

const unknown = (reason: string, message: string, remedy: string): Said => ({
  status: 'Unknown',
  reason,
  message,
  next: remedy,
})

/** As long as a name may be: identifiers are repeated in other objects, which have bounds of their own. */
const longestIdentifier = 253

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= longestIdentifier ? value : undefined

const nameOf = ({ interface: { metadata } }: Reported): string => `${metadata.namespace ?? ''}/${metadata.name}`

/** Begins each message: who reported, on which object. */
const reporter = ({ kind, plane }: ReportSource, { metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace ?? ''}/${metadata.name} (${plane})`

/** Cut by characters as the API server counts them, never within one. */
const bounded = (message: string, longest: number = longestMessage): string =>
  message.length <= longest ? message : [...message].slice(0, longest).join('')
