/** One DataPlane object, compiled: its templates, its kinds, and what keeps it from being used. */
import type { DataPlane, NetworkInterface } from '@nso/api'
import { type Key, type KubeObject, keyOf } from 'kube-control-loop'
import { absent, type CelScope, celScope, ofNetworks } from './cel.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { ownerOfNetworkObject } from './network-owner.ts'
import type { Schema } from './openapi.ts'
import { type CompiledObject, compileObject } from './render.ts'
import { type ReportSource, reportedWhen, standingReport, translateReport } from './report.ts'
import { familiesWithoutSubnet } from './scope.ts'
import { unknownFields } from './served-fields.ts'
import { compileTemplate, type FieldRead, type Template, TemplateError } from './template.ts'
import type { CompiledPlane, KindRef, PlaneReport } from './types.ts'

/** What a DataPlane's spec alone decides; compiled once for each spec. */
export type CompiledSpec = {
  readonly attachment: CompiledObject
  readonly network: CompiledObject | undefined
  readonly vpc: Template
  readonly podNetwork: Template
  readonly preparedCondition: string
  readonly programmedCondition: string | undefined
  readonly errors: readonly TemplateError[]
  /** What all expressions read. */
  readonly reads: readonly FieldRead[]
  /** Kinds that NSO refuses to make for anyone. */
  readonly refusedKinds: readonly string[]
}

/** Total: an object that an older or newer schema let in gives errors, like a template that is wrong. */
export function compileSpec(spec: DataPlane['spec']): CompiledSpec {
  const { attachment: source, network: networkSource, report } = (spec ?? {}) as Partial<DataPlane['spec']>
  const attachment = compileObject(source ?? {}, 'spec.attachment')
  const network = networkSource && compileObject(networkSource, 'spec.network', ofNetworks)
  const vpc = compileTemplate(report?.vpc, 'spec.report.vpc')
  const podNetwork = compileTemplate(report?.podNetwork, 'spec.report.podNetwork')
  return {
    attachment,
    network,
    vpc: vpc.template,
    podNetwork: podNetwork.template,
    preparedCondition: report?.prepared?.condition ?? '',
    programmedCondition: report?.programmed?.condition,
    errors: [
      ...(source ? [] : [new TemplateError('spec.attachment', undefined, 'is missing')]),
      ...(report?.prepared?.condition ? [] : [new TemplateError('spec.report.prepared.condition', undefined, 'is missing')]),
      ...[attachment, network, vpc, podNetwork].flatMap((part) => part?.errors ?? []),
    ],
    reads: [attachment, network, vpc, podNetwork].flatMap((part) => part?.reads ?? []),
    refusedKinds: [source && attachment, network].flatMap((part) =>
      part && !isAllowed(part) ? [`${part.kind} (${part.apiVersion})`] : [],
    ),
  }
}

/**
 * NSO writes these objects with its own rights, so kinds that would lend them out are refused here too: the CRD's rule
 * may be older than the object. Kinds of Kubernetes itself have groups without a dot or under k8s.io.
 */
export function isAllowed({ apiVersion }: Pick<KindRef, 'apiVersion'>): boolean {
  const group = groupOf(apiVersion)
  return (
    group.includes('.') &&
    group !== 'networking.datumapis.com' &&
    group !== 'k8s.io' &&
    !group.endsWith('.k8s.io') &&
    group !== 'k8s.cni.cncf.io'
  )
}

export const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '')

export type PlaneParts = {
  readonly object: DataPlane
  readonly compiled: CompiledSpec
  readonly kinds: DynamicKinds
  /** What the last review of permissions found missing, for people; undefined when nothing is known to be missing. */
  readonly denied: () => string | undefined
  /** Why the API server refuses the attachment of this key, for people; undefined when it does not. */
  readonly refused?: (key: Key) => string | undefined
}

export function createPlane(parts: PlaneParts): CompiledPlane {
  const { object, compiled, kinds } = parts
  const usable = (part: CompiledObject): CompiledObject => {
    const [first] = compiled.errors
    if (first) throw first
    if (compiled.refusedKinds.length > 0)
      throw new TemplateError(`spec`, undefined, `kind ${compiled.refusedKinds[0]} is not allowed`)
    return part
  }
  const followed = (part: CompiledObject | undefined) => (part && isAllowed(part) ? kinds.follow(part) : undefined)
  const checked = createFieldCheck(object, compiled)
  const plane: CompiledPlane = {
    ref: { name: object.metadata.name, uid: object.metadata.uid ?? '' },
    object,
    attachmentKind: kindRef(compiled.attachment),
    networkKind: compiled.network && kindRef(compiled.network),
    readsNetwork: compiled.network?.reads.some(({ names }) => names[0] === 'network') ?? false,
    get unknownFields() {
      return checked(followed(compiled.attachment)?.schema, followed(compiled.network)?.schema)
    },
    get standingRefusal() {
      return [followed(compiled.attachment), followed(compiled.network)].some(isUnread) ? saidOfFields(object) : undefined
    },
    get hindrance() {
      const served = hindranceOf(compiled, [followed(compiled.attachment), followed(compiled.network)])
      return served ?? refusalOf(plane) ?? parts.denied()
    },
    get attachments() {
      return followed(compiled.attachment)?.cache
    },
    get networks() {
      return followed(compiled.network)?.cache
    },
    renderAttachment: (scope) => plane.attachmentRendering(scope).body,
    attachmentRendering: (scope) => usable(compiled.attachment).render(scope.interface, celScope(scope)),
    renderNetwork: (scope) => compiled.network && usable(compiled.network).render(scope.context, celScope(scope)).body,
    translate: (given) => translate(parts, plane, followed(compiled.attachment), given),
  }
  return plane
}

/** Checks once for each pair of schemas. */
function createFieldCheck({ spec }: DataPlane, { attachment, network, reads, errors }: CompiledSpec) {
  let last: { of: readonly unknown[]; found: readonly TemplateError[] } | undefined
  return (ofAttachment: Schema | undefined, ofNetwork: Schema | undefined): readonly TemplateError[] => {
    if (errors.length > 0) return []
    if (last?.of[0] === ofAttachment && last?.of[1] === ofNetwork && last) return last.found
    const found = unknownFields(spec, reads, {
      attachment: { ref: kindRef(attachment), schema: ofAttachment },
      network: network && { ref: kindRef(network), schema: ofNetwork },
    })
    last = { of: [ofAttachment, ofNetwork], found }
    return found
  }
}

const kindRef = ({ apiVersion, kind }: KindRef): KindRef => ({ apiVersion, kind })

/** Its schema has not come, and may. */
const isUnread = (kind: FollowedKind | undefined): boolean =>
  kind !== undefined && kind.schema === undefined && kind.state !== 'unserved' && kind.state !== 'not-namespaced'

/** What the status says of unknown fields in the spec as it stands. */
function saidOfFields({ metadata, status }: DataPlane): string | undefined {
  const said = status?.conditions?.find(({ type }) => type === 'Accepted')
  const isRefused = said?.status === 'False' && said.reason === 'UnknownField' && said.observedGeneration === metadata.generation
  return isRefused ? said.message : undefined
}

/** Before attachments are followed a refusal of old hinders nothing: it would make their absence look known. */
const refusalOf = ({ attachments, standingRefusal, unknownFields }: CompiledPlane): string | undefined =>
  (attachments && standingRefusal) ?? unknownFields[0]?.message

function hindranceOf({ errors, refusedKinds }: CompiledSpec, kinds: readonly (FollowedKind | undefined)[]): string | undefined {
  if (errors[0]) return errors[0].message
  if (refusedKinds.length > 0) return `kind ${refusedKinds.join(', ')} is not allowed`
  for (const followed of kinds) {
    if (followed?.state === 'unserved') return `kind ${followed.ref.kind} (${followed.ref.apiVersion}) is not served`
    if (followed?.state === 'not-namespaced') return `kind ${followed.ref.kind} (${followed.ref.apiVersion}) is not namespaced`
  }
  return undefined
}

type Given = Parameters<CompiledPlane['translate']>[0]

function translate(parts: PlaneParts, plane: CompiledPlane, kind: FollowedKind | undefined, given: Given): PlaneReport {
  const { compiled } = parts
  const standing = isUndecided(plane, compiled, kind, given) && standingReport(given.interface, given.speaker)
  if (standing) return standing
  const unlisted = isUnlisted(plane, given.scope)
  const refused = parts.refused?.(keyOf(given.interface))
  const attachment = isOwn(given) ? given.attachment : undefined
  const scope = celScope({ ...given.scope, interface: given.interface, attachment })
  return translateReport({
    source: sourceOf(plane, compiled),
    interface: given.interface,
    attachment: given.attachment,
    served: kind && isAnswered(kind) ? kind.state === 'served' : undefined,
    reporterOf: (condition) => given.attachment && kind?.reporterOf(given.attachment, condition),
    hindrance: given.attachment
      ? undefined
      : (plane.hindrance ?? renderingProblem(plane, given) ?? goingNetworkObject(given.scope)),
    refused,
    foreignNetworkObject: foreignNetworkObject(given.scope),
    refusedBefore: given.attachment ? undefined : standingReport(given.interface, given.speaker)?.prepared,
    note: given.attachment && (refused ?? (unlisted ? undefined : unmadeNetworkObject(plane, given.scope))),
    vpc: attachment && vpcOf({ plane, compiled, unlisted }, given.interface, scope),
    podNetwork: attachment && reportedValue(compiled.podNetwork, scope),
  })
}

/** Whether what the status of the interface says is repeated, since it would only be taken back and said again. */
function isUndecided(plane: CompiledPlane, compiled: CompiledSpec, kind: FollowedKind | undefined, given: Given): boolean {
  if (!isKnown(plane, kind)) return true
  const { standingRefusal, hindrance } = plane
  if (!given.attachment) return standingRefusal !== undefined || (hindrance === undefined && isUnlisted(plane, given.scope))
  return isOwn(given) && losesConditions(plane, compiled, given.attachment)
}

/** Whether the absence of an object means something. Just after a start it does not. */
function isKnown({ hindrance }: CompiledPlane, kind: FollowedKind | undefined): boolean {
  if (kind?.state === 'asking') return false
  if (kind?.state === 'served' && kind.cache) return kind.cache.state !== 'starting'
  return hindrance !== undefined
}

/** The same of network objects. */
export const areNetworksUnlisted = ({ networkKind, networks }: CompiledPlane): boolean =>
  networkKind !== undefined && (networks === undefined || networks.state === 'starting')

const isUnlisted = (plane: CompiledPlane, { networkObject }: Given['scope']): boolean =>
  networkObject === undefined && areNetworksUnlisted(plane)

/** What a schema has lost, or may have, is no word of the data plane: what was reported before it did still stands. */
function losesConditions(
  { unknownFields, standingRefusal }: CompiledPlane,
  { preparedCondition, programmedCondition = preparedCondition }: CompiledSpec,
  attachment: KubeObject,
): boolean {
  const paths = ['spec.report.prepared.condition', 'spec.report.programmed.condition']
  if (unknownFields.some(({ path }) => paths.includes(path))) return true
  const isMissing = (condition: string) => reportedWhen(attachment, condition) === 'never'
  return standingRefusal !== undefined && [preparedCondition, programmedCondition].some(isMissing)
}

type VpcSource = { plane: CompiledPlane; compiled: CompiledSpec; unlisted: boolean }

/** What was read before it could not be read any more, or cannot be yet, stands. */
function vpcOf({ plane, compiled, unlisted }: VpcSource, { status }: NetworkInterface, scope: CelScope): unknown {
  const path = 'spec.report.vpc'
  const waits = unlisted && compiled.reads.some((read) => read.path === path && read.names[0] === 'networkObject')
  if (waits || plane.unknownFields.some((each) => each.path === path) || isBroken(compiled, path)) return status?.vpc
  return reportedValue(compiled.vpc, scope) ?? (plane.standingRefusal === undefined ? undefined : status?.vpc)
}

/** While someone else's object has the network's name, nothing is attached to it, and the data plane may never report. */
function foreignNetworkObject(scope: Given['scope']): string | undefined {
  const owner = networkOwner(scope)
  return owner?.is === 'foreign' ? owner.message : undefined
}

function goingNetworkObject(scope: Given['scope']): string | undefined {
  const owner = networkOwner(scope)
  return owner?.is === 'going' ? `${owner.says} must be gone first` : undefined
}

/** What the data plane waits for, and cannot know: that NSO has not made its network object, and what for. */
function unmadeNetworkObject({ networkKind }: CompiledPlane, scope: Given['scope']): string | undefined {
  const { context, networkObject } = scope
  if (!networkKind || !context || networkObject) return undefined
  const lacking = familiesWithoutSubnet(context, scope.subnets)
  if (lacking.length === 0) return undefined
  return `NSO makes ${networkKind.kind} ${context.metadata.name} when network context ${context.metadata.name} has a Subnet of ${lacking.join(' and of ')}`
}

const networkOwner = ({ context, networkObject }: Given['scope']) =>
  context && networkObject && ownerOfNetworkObject(networkObject, context)

/** What was read before a template was broken stands until it is mended. */
const isBroken = ({ errors }: CompiledSpec, path: string): boolean => errors.some((error) => error.path === path)

const isAnswered = ({ state }: FollowedKind): boolean => state !== 'asking' && state !== 'unknown'

/** Values of another incarnation's attachment are nobody's to publish. */
function isOwn({ attachment, interface: nic }: Given): boolean {
  return attachment?.metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === nic.metadata.uid) === true
}

function sourceOf({ ref, attachmentKind: { apiVersion, kind } }: CompiledPlane, compiled: CompiledSpec): ReportSource {
  const { preparedCondition, programmedCondition } = compiled
  return { plane: ref.name, apiGroup: groupOf(apiVersion), apiVersion, kind, preparedCondition, programmedCondition }
}

/** A report template that fails on what this attachment holds reports nothing: the conditions still stand. */
function reportedValue(template: Template, scope: CelScope): unknown {
  try {
    const value = template(scope)
    return value === absent ? undefined : value
  } catch (error) {
    if (error instanceof TemplateError) return undefined
    throw error
  }
}

/** Why this interface's attachment cannot be made though the plane is sound: its own values do not fit the template. */
function renderingProblem(plane: CompiledPlane, { scope, interface: nic }: Given): string | undefined {
  try {
    plane.attachmentRendering({ ...scope, interface: nic })
    return undefined
  } catch (error) {
    if (error instanceof TemplateError) return error.message
    throw error
  }
}

/** Whether an object is controlled by this one incarnation of its owner. */
export function isControlledBy(object: KubeObject, owner: { metadata: { uid?: string } }): boolean {
  const controller = object.metadata.ownerReferences?.find((reference) => reference.controller)
  return controller !== undefined && controller.uid === owner.metadata.uid
}
