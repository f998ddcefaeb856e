/**
 * What a refusal of the API server means for the request that got it: the one place that tells a lost race from a deleted
 * object, a second writer, a starting server and a fault. Pure; messages and shapes are those of kube-apiserver 1.36.
 */
import type { Refusal, StatusCause } from './api-error.ts'

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'patch' | 'apply' | 'delete' | 'other'

/** What a request addressed; `name` absent: a collection, or no object at all. */
export type Addressed = {
  readonly plural: string
  readonly kind: string
  readonly name?: string | undefined
  readonly namespace?: string | undefined
}

/** A field that someone else owns, as the server names it. */
export type FieldConflict = { readonly manager: string; readonly field: string }

export type Verdict =
  /** The server is starting, stopping or busy: try again within the call. `afterMs` is the server's wish. */
  | { is: 'busy'; afterMs?: number; starting: boolean }
  /** A create met an object of that name. */
  | { is: 'exists' }
  /** An apply without force met fields of others. */
  | { is: 'second-writer'; conflicts: readonly FieldConflict[] }
  /** What was read no longer stands; a live GET tells whether the object moved on or is another one. */
  | { is: 'ask' }
  /** Lost a race for certain; nothing to ask. */
  | { is: 'raced' }
  | { is: 'gone'; why: 'not-found' | 'deleting' | 'namespace' }
  /** No such kind at this server, now. On a create it may also be on its way (`pending`). */
  | { is: 'not-served'; pending: boolean }
  | { is: 'fault' }

const fault: Verdict = { is: 'fault' }
const ask: Verdict = { is: 'ask' }

const managerInMessage = /conflict with ("(?:[^"\\]|\\.)*")/

/** The server quotes the name, with backslashes before quotes and backslashes in it, and nothing unprintable can be in it. */
function managerIn(message = ''): string {
  const quoted = managerInMessage.exec(message)?.[1]
  return quoted === undefined ? 'unknown' : quoted.slice(1, -1).replace(/\\(.)/g, '$1')
}

function conflictsOf(causes: readonly StatusCause[]): FieldConflict[] {
  return causes
    .filter((cause) => cause.reason === 'FieldManagerConflict')
    .map((cause) => ({ manager: managerIn(cause.message), field: cause.field ?? '' }))
}

function conflict(refusal: Refusal, verb: RequestVerb): Verdict {
  if (verb === 'create') return refusal.reason === 'AlreadyExists' ? { is: 'exists' } : { is: 'raced' }
  const conflicts = conflictsOf(refusal.causes)
  if (verb === 'apply' && conflicts.length > 0) return { is: 'second-writer', conflicts }
  return verb === 'patch' || verb === 'apply' || verb === 'delete' ? ask : fault
}

function namesItself(refusal: Refusal, at: Addressed): boolean {
  const { name, kind } = refusal.details
  return at.name !== undefined && name === at.name && (kind === at.plural || kind === at.kind)
}

function notFound(refusal: Refusal, verb: RequestVerb, at: Addressed): Verdict {
  if (!refusal.isStatus) return { is: 'not-served', pending: verb === 'create' }
  if (namesItself(refusal, at)) return { is: 'gone', why: 'not-found' }
  const { kind, name } = refusal.details
  if (kind === 'namespaces' && name !== undefined && name === at.namespace) return { is: 'gone', why: 'namespace' }
  return fault
}

function forbidden(refusal: Refusal): Verdict {
  if (refusal.causes.some((cause) => cause.reason === 'NamespaceTerminating')) return { is: 'gone', why: 'namespace' }
  if (refusal.text.includes('not allowed while custom resource definition is terminating'))
    return { is: 'not-served', pending: false }
  return fault
}

function isRecreated(cause: StatusCause): boolean {
  return cause.field === 'metadata.uid' && cause.message?.includes('immutable') === true
}

function invalid(refusal: Refusal, verb: RequestVerb): Verdict {
  const { causes, details } = refusal
  if (causes.some((cause) => cause.message?.includes('no new finalizers can be added if the object is being deleted'))) {
    return { is: 'gone', why: 'deleting' }
  }
  if (causes.some(isRecreated) && (verb === 'patch' || verb === 'apply')) return ask
  const bare = refusal.reason === 'Invalid' && causes.length === 0 && details.name === undefined
  return verb === 'patch' && bare ? ask : fault
}

function tooMany(refusal: Refusal): Verdict {
  if (refusal.text.includes('storage is (re)initializing')) return { is: 'busy', starting: true }
  const wait = refusal.retryAfterMs
  return wait === undefined ? { is: 'busy', starting: false } : { is: 'busy', starting: false, afterMs: wait }
}

function unavailable(refusal: Refusal): Verdict {
  const starting = refusal.text.includes('apiserver is shutting down') || /Resource kind .* not found/.test(refusal.text)
  return { is: 'busy', starting }
}

/** The meaning of a refusal (any answer that is no 2xx). Total: an answer nobody knows is a fault. */
export function classify(refusal: Refusal, verb: RequestVerb, at: Addressed): Verdict {
  switch (refusal.status) {
    case 403:
      return forbidden(refusal)
    case 404:
      return notFound(refusal, verb, at)
    case 409:
      return conflict(refusal, verb)
    case 422:
      return invalid(refusal, verb)
    case 429:
      return tooMany(refusal)
    case 503:
      return unavailable(refusal)
    case 502:
    case 504:
      return { is: 'busy', starting: false }
    default:
      return fault
  }
}

/** How a process tells what refusals mean; `controller` is the label of whoever wrote. */
export type Classify = (refusal: Refusal, verb: RequestVerb, at: Addressed, controller: string) => Verdict

/** What the live object says about a write that was refused because something moved: `is: 'ask'` resolved. */
export function decideByLive(
  uid: string | undefined,
  live: { metadata: { uid?: string } } | undefined,
): 'raced' | 'not-found' | 'recreated' {
  if (!live) return 'not-found'
  return live.metadata.uid === uid ? 'raced' : 'recreated'
}
