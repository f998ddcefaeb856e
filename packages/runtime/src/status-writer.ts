/**
 * Writes of status: the owner's complete intent by server-side apply, polite first, then firm and loud. See writer.ts.
 * Who else writes: the other owners of the same status, each its own paths; and, against the rules, anyone whom no admission
 * policy stops. Crash: an apply is repeated by the next pass; an episode left open is ended by the next apply.
 */
import { ApiError } from './api-error.ts'
import type { JsonPatchOperation } from './client.ts'
import type { Clock } from './clock.ts'
import { createConflictTeller, type RecordWarning, secondWrites, shownWrites } from './conflict-teller.ts'
import { type KubeObject, keyOf } from './kind.ts'
import { foreignOwners, withoutForeignOwners } from './managed-fields.ts'
import { requireUid } from './object-writer.ts'
import type { StatusOwner } from './ownership.ts'
import { type Addressed, type Classify, classify, type FieldConflict, type Verdict } from './races.ts'
import { checkIntent, completeStatus, differingPaths, type OwnStatus, ownForm, statusBody } from './status-intent.ts'
import { createStatusMemory } from './status-memory.ts'
import { count, judgeSafely, signalOf, targetOf, type WriterOptions } from './write-refusal.ts'
import type { StatusWriter } from './writer.ts'

export type StatusWriterOptions<S, T, Owner extends StatusOwner> = Omit<WriterOptions<S, T>, 'manager'> & {
  owner: Owner
  clock: Clock
  /** Tells people about a second writer. */
  recordEvent?: RecordWarning
}

/** The two requests of a status writer, and what their answers teach the cache. */
function requestsOf<S, T>(options: StatusWriterOptions<S, T, StatusOwner>) {
  const { client, kind, cache, owner } = options
  const absorb = (object: KubeObject<S, T>) => {
    cache?.absorb(object)
    return object
  }
  return {
    async apply(object: KubeObject<S, T>, status: OwnStatus, force: boolean, signal: AbortSignal) {
      const { name, namespace } = object.metadata
      const at = { name, namespace, subresource: 'status' }
      return absorb(await client.apply(kind, at, statusBody(object, status), { fieldManager: owner.writer, force }, signal))
    },
    /** Puts `managedFields` as it is to be; the server takes this on the main resource only. */
    async own({ metadata }: KubeObject<S, T>, managedFields: unknown, signal: AbortSignal) {
      const operations: JsonPatchOperation[] = [
        { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
        { op: 'test', path: '/metadata/uid', value: metadata.uid },
        { op: 'replace', path: '/metadata/managedFields', value: managedFields },
      ]
      return absorb(await client.jsonPatch(kind, metadata, operations, { fieldManager: owner.writer }, signal))
    },
    addressed: ({ metadata: { name, namespace } }: KubeObject<S, T>): Addressed => ({
      plural: kind.plural,
      kind: kind.kind,
      name,
      namespace,
    }),
  }
}

/** The object moved on, or went. */
const isOvertaken = (verdict: Verdict) => verdict.is === 'ask' || verdict.is === 'gone'

/** Whether the server certainly stored nothing. A 5xx, a torn answer or none at all may come after the write. */
const isRefusal = (error: unknown) => error instanceof ApiError && error.status >= 400 && error.status < 500

/** Makes the writer of one owner's status on one kind; its field manager is the owner's. */
export function createStatusWriter<S, T, const Owner extends StatusOwner>(
  options: StatusWriterOptions<S, T, Owner>,
): StatusWriter<S, T, Owner> {
  const { kind, cache, owner, clock, controller, registry } = options
  const manager = owner.writer
  const means: Classify = options.classify ?? classify
  const memory = createStatusMemory()
  const tell = createConflictTeller({ ...options, resource: kind.plural, owner: manager, memory })
  const { apply, own, addressed } = requestsOf<S, T>(options)
  registry.add({ controller, resource: `${kind.plural}/status`, verb: 'apply', manager }, () => memory.clear())

  function conflictsIn(error: unknown, object: KubeObject<S, T>): readonly FieldConflict[] {
    if (!(error instanceof ApiError)) return []
    const verdict = means(error, 'apply', addressed(object), controller)
    return verdict.is === 'second-writer' ? verdict.conflicts : []
  }

  /**
   * Takes the documented paths out of the others' ownership: force alone leaves them leaves that conflict at the next flip,
   * and values that the intent does not want stay for ever unless they are the owner's to remove.
   */
  async function endEpisode(
    object: KubeObject<S, T>,
    status: OwnStatus,
    foreign: ReadonlyMap<string, unknown>,
    signal: AbortSignal,
  ) {
    const wanted = ownForm(owner, status)
    const unwanted = [...foreign.keys()].filter((path) => !wanted.has(path))
    try {
      const managedFields = withoutForeignOwners(object.metadata.managedFields ?? [], owner, unwanted)
      const stands = await own(object, managedFields, signal)
      memory.closeEpisodes(keyOf(object))
      return unwanted.length === 0 ? stands : await apply(object, status, false, signal)
    } catch (error) {
      // The object moved on or went: the status is written, the episode stays open and the next apply comes here again.
      if (error instanceof ApiError && isOvertaken(means(error, 'patch', addressed(object), controller))) return object
      throw error
    }
  }

  async function send(object: KubeObject<S, T>, status: OwnStatus, taken: readonly string[], signal: AbortSignal) {
    let stands: KubeObject<S, T>
    let told: ReadonlySet<string> = new Set()
    try {
      stands = await apply(object, status, false, signal)
    } catch (error) {
      const writes = secondWrites(conflictsIn(error, object))
      if (writes.length === 0) throw error
      tell(object, writes)
      told = new Set(writes.map(({ path }) => path))
      stands = await apply(object, status, true, signal)
    }
    // The server ignores the uid on /status: this landed on a successor, whose next pass writes it anew.
    if (stands.metadata.uid !== object.metadata.uid) return stands
    const foreign = foreignOwners(stands.metadata.managedFields ?? [], owner)
    tell(object, shownWrites(foreign, taken, told))
    if (foreign.size > 0) return endEpisode(stands, status, foreign, signal)
    memory.closeEpisodes(keyOf(object))
    return stands
  }

  async function write(object: KubeObject<S, T>, status: OwnStatus, taken: readonly string[], signal: AbortSignal) {
    const done = cache?.writing(keyOf(object))
    const target = targetOf(options, 'apply', object)
    try {
      const stands = await send(object, status, taken, signal)
      if (stands.metadata.uid !== object.metadata.uid) {
        count(options, target, { is: 'gone', why: 'recreated' })
        throw signalOf(target, { is: 'gone', why: 'recreated' }, undefined)
      }
      memory.remember(keyOf(object), stands, ownForm(owner, stands.status), ownForm(owner, status))
      return stands
    } catch (error) {
      if (!isRefusal(error)) memory.unanswered(keyOf(object), object, ownForm(owner, status))
      const judgement = await judgeSafely({ ...options, manager }, error, 'apply', object, signal)
      signal.throwIfAborted()
      count(options, target, judgement)
      throw signalOf(target, judgement, error)
    } finally {
      done?.()
    }
  }

  return {
    async status(object, intent, signal) {
      requireUid(object)
      checkIntent(owner, intent as OwnStatus)
      const key = keyOf(object)
      const status = completeStatus(intent as OwnStatus, object.status, clock.now(), memory.lastUnanswered(key, object))
      const standing = ownForm(owner, object.status)
      const wanted = ownForm(owner, status)
      const taken = memory.takenSince(key, object, standing)
      const isSaid = differingPaths(standing, wanted).length === 0 || memory.isApplied(key, object, standing, wanted)
      if (!isSaid) return write(object, status, taken, signal)
      if (taken.length > 0) {
        tell(object, shownWrites(new Map(), taken, new Set()))
        memory.closeEpisodes(key)
        memory.accept(key, object, standing)
      }
      return object
    },
    forget: (key) => memory.forget(key),
  }
}
