/**
 * Writes of status: the owner's complete intent by server-side apply, polite first, then firm and loud. See writer.ts.
 * Who else writes: the other owners of the same status, each its own paths; and, against the rules, anyone whom no admission
 * policy stops. Crash: an apply is repeated by the next pass; an episode left open is ended by the next apply.
 */
import { ApiError } from './api-error.ts'
import type { Clock } from './clock.ts'
import { type RecordWarning, type SecondWrite, secondWrites, shownWrites } from './conflict-teller.ts'
import { createContention } from './contention.ts'
import { createFights, type Fight } from './fight.ts'
import { type KubeObject, keyOf, type ManagedFieldsEntry } from './kind.ts'
import { foreignOwners, withoutForeignOwners } from './managed-fields.ts'
import { requireUid } from './object-writer.ts'
import type { StatusOwner } from './ownership.ts'
import { putOwnership } from './ownership-patch.ts'
import { createOwnershipWatch, followOwnership } from './ownership-watch.ts'
import { type Addressed, type Classify, classify, type FieldConflict, type Verdict } from './races.ts'
import { checkIntent, completeStatus, differingPaths, type OwnStatus, ownForm, statusBody } from './status-intent.ts'
import { createStatusMemory } from './status-memory.ts'
import { count, judgeSafely, signalOf, targetOf, type WriterOptions } from './write-refusal.ts'
import { WriteHeldBack } from './write-signals.ts'
import type { StatusWriter } from './writer.ts'

export type StatusWriterOptions<S, T, Owner extends StatusOwner> = Omit<WriterOptions<S, T>, 'manager'> & {
  owner: Owner
  clock: Clock
  /** Tells people about a second writer. */
  recordEvent?: RecordWarning
  /** Managers of earlier software; see `ResourceOwnership.legacy`. */
  legacy?: readonly string[]
  /**
   * Moves entries of those managers to the documented ones, and answers what stands then; called before an apply to an object
   * that has such entries. Where it is given, they alone are no second writers.
   */
  migrate?: (object: KubeObject<S, T>, signal: AbortSignal) => Promise<KubeObject<S, T>>
  /** Which of these objects have something to be moved; absent: all that have such entries. */
  isMigrationDue?: (object: KubeObject, entries: readonly ManagedFieldsEntry[]) => boolean
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
    async own(object: KubeObject<S, T>, entries: readonly ManagedFieldsEntry[], signal: AbortSignal) {
      return absorb(await putOwnership({ client, kind, fieldManager: owner.writer, signal }, object, entries))
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

/** So many times an object may move on while ownership on it is taken. */
const mostTakings = 3

/** Makes the writer of one owner's status on one kind; its field manager is the owner's. */
export function createStatusWriter<S, T, const Owner extends StatusOwner>(
  options: StatusWriterOptions<S, T, Owner>,
): StatusWriter<S, T, Owner> {
  const { client, kind, cache, owner, clock, controller, registry, migrate } = options
  const manager = owner.writer
  const means: Classify = options.classify ?? classify
  const memory = createStatusMemory()
  const contention = createContention({ clock })
  const fights = createFights({ ...options, resource: kind.plural, owner: manager, contention })
  const watch = createOwnershipWatch(owner, options)
  const earlier = new Set(options.legacy)
  if (cache) followOwnership(watch, cache)
  const { apply, own, addressed } = requestsOf<S, T>(options)
  registry.add({ controller, resource: `${kind.plural}/status`, verb: 'apply', manager }, () => {
    memory.clear()
    contention.clear()
  })

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
      const entries = object.metadata.managedFields ?? []
      const stands = await own(object, withoutForeignOwners(entries, owner, unwanted) ?? entries, signal)
      return unwanted.length === 0 ? stands : await apply(object, status, false, signal)
    } catch (error) {
      // The object moved on or went: the status is written, and what the cache hears of the object next comes here again.
      if (error instanceof ApiError && isOvertaken(means(error, 'patch', addressed(object), controller))) return object
      throw error
    }
  }

  /** Whether an apply was refused for something in the status that it leaves out: what others hold of it would stay behind. */
  function isForRest(error: unknown, status: OwnStatus): boolean {
    if (!(error instanceof ApiError) || error.status !== 422) return false
    const wanted = ownForm(owner, status)
    const unwanted = owner.owns.filter((path) => !wanted.has(path)).map((path) => path.split('/')[0])
    return error.causes.some(({ field = '' }) => unwanted.includes(/^status\.([^.[]+)/.exec(field)?.[1]))
  }

  /**
   * Makes parts of unwanted paths that others hold the owner's, so that an apply without them removes the whole: what is left
   * of a field may be invalid. False when there are none, or the object moved on each time.
   */
  async function takeParts(object: KubeObject<S, T>, status: OwnStatus, fight: Fight, signal: AbortSignal) {
    const wanted = ownForm(owner, status)
    for (let attempt = 0; attempt < mostTakings; attempt++) {
      const live = await client.find(kind, object.metadata, signal)
      if (!live || live.metadata.uid !== object.metadata.uid) return false
      const entries = live.metadata.managedFields ?? []
      const foreign = foreignOwners(entries, owner)
      const unwanted = [...foreign.keys()].filter((path) => !wanted.has(path))
      if (unwanted.length === 0) return false
      fight.answered(foreign)
      try {
        await own(live, withoutForeignOwners(entries, owner, unwanted) ?? entries, signal)
        return true
      } catch (error) {
        if (!(error instanceof ApiError && isOvertaken(means(error, 'patch', addressed(object), controller)))) throw error
      }
    }
    return false
  }

  async function send(object: KubeObject<S, T>, status: OwnStatus, fight: Fight, signal: AbortSignal) {
    let stands: KubeObject<S, T>
    try {
      stands = await apply(object, status, false, signal)
    } catch (error) {
      const conflicts = conflictsIn(error, object)
      if (conflicts.length > 0) fight.found(secondWrites(conflicts))
      else if (!isForRest(error, status) || !(await takeParts(object, status, fight, signal))) throw error
      stands = await apply(object, status, true, signal)
    }
    // The server ignores the uid on /status: this landed on a successor, whose next pass writes it anew.
    if (stands.metadata.uid !== object.metadata.uid) return stands
    const foreign = foreignOwners(stands.metadata.managedFields ?? [], owner)
    fight.answered(foreign)
    return foreign.size > 0 ? endEpisode(stands, status, foreign, signal) : stands
  }

  async function write(object: KubeObject<S, T>, status: OwnStatus, fight: Fight, signal: AbortSignal) {
    const ready = migrate && watch.hasLegacy(object) ? await migrate(object, signal) : object
    const done = cache?.writing(keyOf(object))
    const target = targetOf(options, 'apply', object)
    try {
      const stands = await send(ready, status, fight, signal)
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

  /** Second writes that stand on the object; entries of earlier software count only where a value changed. */
  function othersOn(object: KubeObject<S, T>, taken: readonly string[]): SecondWrite[] {
    const writes = shownWrites(watch.foreignOwners(object), [])
    return migrate ? writes.filter(({ path, manager }) => taken.includes(path) || !earlier.has(manager)) : writes
  }

  /** Once others have written again and again, they are left alone for a moment before each answer. */
  function leaveAlone(object: KubeObject<S, T>): void {
    const waitMs = contention.heldBackMs(object)
    if (waitMs > 0) throw new WriteHeldBack(targetOf(options, 'apply', object), waitMs)
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
      const others = othersOn(object, taken)
      const isSaid = differingPaths(standing, wanted).length === 0 || memory.isApplied(key, object, standing, wanted)
      if (!isSaid || others.length > 0) {
        if (taken.length > 0 || others.length > 0) leaveAlone(object)
        const fight = fights.begin(object, taken)
        fight.found(others)
        return write(object, status, fight, signal)
      }
      if (taken.length > 0) {
        fights.conceded(object, taken)
        memory.accept(key, object, standing)
      }
      return object
    },
    forget(key) {
      memory.forget(key)
      contention.forget(key)
    },
  }
}
