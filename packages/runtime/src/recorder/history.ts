/**
 * Every version of every object, in order, each with the requests that made it: put together from what a watch delivered and
 * from what an audit log says was answered. Either alone has gaps (a list after a lost stream; deletes of whole collections).
 */
import { type Kind, type KubeObject, keyOf } from '../kind.ts'
import { orderOfVersions } from '../resource-version.ts'

/** A request as an audit log tells it at level RequestResponse. Times in RFC 3339 with microseconds. */
export type AuditedWrite = {
  stage: string
  verb: string
  user: string
  group: string
  resource: string
  subresource: string
  namespace: string
  name: string
  /** HTTP status of the answer. */
  code: number
  fieldManager: string
  dryRun: boolean
  requestReceived: string
  stageTimestamp: string
  responseObject?: unknown
}

export type Version = {
  object: KubeObject
  /**
   * Requests of which one made this version: more than one when they overlapped and a later one changed nothing. Where no
   * answer carries the version, the writes on the object that got no clear answer.
   */
  makers: readonly AuditedWrite[]
  /** Not stored any more: the answer to the write that let a deleted object go. */
  last: boolean
}

export type History = {
  kind: Kind
  uid: string
  key: string
  /** The first version is that of its creation. */
  fromBirth: boolean
  versions: readonly Version[]
}

const created = 201

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' && value !== null && 'metadata' in value && typeof value.metadata === 'object'

/** The object in the answer, when this is a completed write on one object of the kind. */
function answered(write: AuditedWrite, kind: Kind): KubeObject | undefined {
  const { stage, code, dryRun, group, resource, responseObject } = write
  if (stage !== 'ResponseComplete' || code < 200 || code > 299 || dryRun) return undefined
  if (group !== kind.group || resource !== kind.plural) return undefined
  return isObject(responseObject) && responseObject.kind === kind.kind && responseObject.metadata.uid ? responseObject : undefined
}

const isLast = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0

/** An answer that carries a version may be of a write that found nothing to change: it came after the maker was answered. */
function makersAmong(writes: readonly AuditedWrite[]): AuditedWrite[] {
  const firstAnswer = writes.map(({ stageTimestamp }) => stageTimestamp).sort()[0] ?? ''
  return writes.filter(({ requestReceived }) => requestReceived <= firstAnswer)
}

const byVersion = (a: Version, b: Version) => {
  if (a.last !== b.last) return a.last ? 1 : -1
  return orderOfVersions(a.object.metadata.resourceVersion, b.object.metadata.resourceVersion) === 'older' ? -1 : 1
}

type Draft = { object: KubeObject; writes: AuditedWrite[]; last: boolean }

/** Whether such an answer leaves open what was stored: the client or the server gave up while the write was on its way. */
const isUnclear = ({ stage, code, dryRun }: AuditedWrite) => stage !== 'ResponseStarted' && !dryRun && (code === 0 || code >= 499)

const isAbout = ({ group, resource, namespace, name }: AuditedWrite, kind: Kind, { metadata }: KubeObject) =>
  group === kind.group && resource === kind.plural && name === metadata.name && namespace === (metadata.namespace ?? '')

/** `seen`: objects as the watch delivered them, managedFields included, without those of its delete events. */
export function historiesOf(kind: Kind, seen: Iterable<KubeObject>, writes: Iterable<AuditedWrite>): History[] {
  const drafts = new Map<string, Map<string, Draft>>()
  const draftOf = (object: KubeObject): Draft => {
    const { uid = '', resourceVersion = '' } = object.metadata
    const last = isLast(object)
    const ofObject = drafts.get(uid) ?? new Map<string, Draft>()
    drafts.set(uid, ofObject)
    // The last answer repeats the version before it.
    const id = last ? 'last' : resourceVersion
    const draft = ofObject.get(id) ?? { object, writes: [], last }
    ofObject.set(id, draft)
    return draft
  }
  for (const object of seen) if (!isLast(object)) draftOf(object)
  const unclear: AuditedWrite[] = []
  for (const write of writes) {
    const object = answered(write, kind)
    if (object) draftOf(object).writes.push(write)
    else if (isUnclear(write)) unclear.push(write)
  }
  for (const { object, writes: makers } of [...drafts.values()].flatMap((ofObject) => [...ofObject.values()]))
    if (makers.length === 0) makers.push(...unclear.filter((write) => isAbout(write, kind, object)))
  return [...drafts].map(([uid, ofObject]) => historyOf(kind, uid, [...ofObject.values()]))
}

function historyOf(kind: Kind, uid: string, drafts: readonly Draft[]): History {
  const versions = drafts.map(({ object, writes, last }) => ({ object, makers: makersAmong(writes), last })).sort(byVersion)
  const [first] = versions
  return {
    kind,
    uid,
    key: first ? keyOf(first.object) : '',
    fromBirth: first?.makers.some(({ code }) => code === created) ?? false,
    versions,
  }
}
