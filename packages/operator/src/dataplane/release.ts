/**
 * The end of a DataPlane: it keeps NSO's finalizer until it serves no interface, none of its attachments stands, and its
 * network objects, which nobody else needs, are deleted and gone. Caches tell what to wait for; only live reads let go.
 * Crash at any line: the finalizer stands and the next pass begins again.
 */
import { finalizers, labels, managers, type NetworkContext, NetworkInterface } from '@nso/api'
import {
  ApiError,
  backoff,
  type ChildWriter,
  type Clock,
  createWriter,
  type Jitter,
  type Kind,
  type KubeObject,
  keyFor,
  keyOf,
  type WriterEnvironment,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { planeOf } from '../interface/report.ts'
import type { Definitions } from './definitions.ts'
import type { GrantedRole } from './granted-role.ts'
import { leftAttachments, type NetworkObjects, networkObjectsOf, type Standing, servedBy, waitsFor } from './holding.ts'
import type { DynamicKinds } from './kinds.ts'
import { KindUnreachable, locate } from './locate.ts'
import { isAllowed } from './plane.ts'
import type { DataPlaneRegistry, KnownPlane } from './registry.ts'
import { isGoing, isSameKind } from './serving.ts'
import type { CompiledPlane, KindRef, PlaneRef } from './types.ts'

export type ReleaseParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'dataPlanes' | 'interfaces' | 'contexts'>
  readonly planes: DataPlaneRegistry
  readonly definitions: Pick<Definitions, 'stands'>
  readonly kinds: DynamicKinds
  readonly role: Pick<GrantedRole, 'onChange'>
  readonly clock: Clock
  readonly jitter: Jitter
}

export type Release =
  | { is: 'done' }
  /** What it waits for, for people. `againMs`: when to look again, where no watch tells all. `fault`: to be thrown once that is said. */
  | { is: 'waiting'; message: string; againMs?: number; fault?: unknown }

/** At most so many network objects are deleted at once. */
const atOnce = 50

/** Lists of everything come in pages of so many objects. */
const pageSize = 500

/** A request in hand ends by itself. */
const writesMs = 200

export type Releaser = (known: KnownPlane, signal: AbortSignal) => Promise<Release>

export function createReleaser(parts: ReleaseParts): Releaser {
  const { caches, planes } = parts
  const removerOf = createRemovers(parts)
  const refusals = createRefusals(parts)

  /** Interfaces and attachments that keep it, as far as these tell. */
  const users = (plane: CompiledPlane, standing: Standing): string | undefined => {
    const served = servedBy(plane, standing)
    if (served.length > 0) return waitsFor(served, [], none)
    // Whose an attachment without an interface is, nobody can tell while another plane makes such ones.
    const isShared = others(planes, plane).some(
      (other) => !isGoing(other) && isSameKind(other.attachmentKind, plane.attachmentKind),
    )
    return isShared
      ? undefined
      : waitsFor(
          [],
          leftAttachments(standing, (ref) => isAnswering(plane, planes.find(ref))),
          none,
        )
  }

  const cached = ({ ref, attachments }: CompiledPlane): Standing => ({
    nics: caches.interfaces.by('plane', ref.name),
    nicAt: (key) => caches.interfaces.get(key),
    attachments: attachments ?? new Map(),
  })

  const live = async ({ attachmentKind }: CompiledPlane, signal: AbortSignal): Promise<Standing> => {
    const { items } = await parts.environment.client.list(NetworkInterface, { pageSize }, signal)
    const byKey = new Map(items.map((nic) => [keyOf(nic), nic]))
    const attachments = new Map((await listed(parts, attachmentKind, signal)).map((each) => [keyOf(each), each]))
    return { nics: items, nicAt: (key) => byKey.get(key), attachments }
  }

  const networks = (plane: CompiledPlane, objects: Iterable<KubeObject>): NetworkObjects =>
    networkObjectsOf(objects, (key) => caches.contexts.get(key), {
      isNeeded: (context) => isNeeded(parts, plane, context),
      isShared: others(planes, plane).some((other) => !isGoing(other) && isSame(other.networkKind, plane.networkKind)),
    })

  /** While all that is left of it is on its way out, the watch tells when that is gone. */
  const leaving = (plane: CompiledPlane): string | undefined => {
    const cache = plane.networks
    if (cache?.state !== 'synced') return undefined
    const found = networks(plane, cache.values())
    return found.unneeded.length > 0 ? undefined : waitsFor([], [], found)
  }

  const clear = async (plane: CompiledPlane, signal: AbortSignal): Promise<string | undefined> => {
    const found = networks(plane, await listed(parts, plane.networkKind, signal))
    if (found.unneeded.length === 0) return waitsFor([], [], found)
    const remover = plane.networkKind && removerOf(plane.networkKind)
    for (let at = 0; at < found.unneeded.length; at += atOnce) {
      const some = found.unneeded.slice(at, at + atOnce)
      await Promise.all(some.map((object) => remover?.remove(object, signal).catch(failedRemoval)))
    }
    return waitsFor([], [], networks(plane, await listed(parts, plane.networkKind, signal)))
  }

  return async ({ plane }, signal) => {
    const seen = users(plane, cached(plane)) ?? leaving(plane)
    if (seen !== undefined) return { is: 'waiting', message: seen }
    if (planes.isMaking(plane.ref)) return { is: 'waiting', message: 'Waits for an object that is being made', againMs: writesMs }
    const unreadable = refusals.standing(plane.ref)
    if (unreadable) return { is: 'waiting', ...unreadable }
    try {
      const message = users(plane, await live(plane, signal)) ?? (await clear(plane, signal))
      refusals.over(plane.ref)
      return message === undefined ? { is: 'done' } : { is: 'waiting', message }
    } catch (error) {
      const fault = error instanceof RemovalFailed ? error.cause : error
      if (!(fault instanceof ApiError) && !(fault instanceof KindUnreachable)) throw fault
      const message = unseen(fault, plane)
      // Lists of everything cost much; a removal is tried again as any failed write is.
      if (fault === error) refusals.add(plane.ref, message)
      return { is: 'waiting', message, fault }
    }
  }
}

/** Tells a refused removal from a refused list. */
class RemovalFailed extends Error {
  override readonly name = 'RemovalFailed'
}

function failedRemoval(cause: unknown): never {
  throw new RemovalFailed('a network object could not be removed', { cause })
}

/** First and longest delay in ms between two lists of everything that end in a refusal, whatever else wakes the plane. */
const refusedMs = [2_000, 60_000] as const

/** What was refused is not asked for again at once, unless NSO's role has changed since. */
function createRefusals({ clock, jitter, role }: Pick<ReleaseParts, 'clock' | 'jitter' | 'role'>) {
  const delay = backoff(...refusedMs, jitter)
  const known = new Map<string, { message: string; times: number; dueAt: number }>()
  role.onChange(() => known.clear())
  return {
    standing({ uid }: PlaneRef): { message: string; againMs: number } | undefined {
      const { message, dueAt } = known.get(uid) ?? { message: '', dueAt: 0 }
      const againMs = dueAt - clock.monotonic()
      return againMs > 0 ? { message, againMs } : undefined
    },
    add({ uid }: PlaneRef, message: string): void {
      const times = (known.get(uid)?.times ?? 0) + 1
      known.set(uid, { message, times, dueAt: clock.monotonic() + delay(times) })
    },
    over: ({ uid }: PlaneRef) => void known.delete(uid),
  }
}

const none: NetworkObjects = { unneeded: [], going: [] }

/** Whether interfaces that were given `other` may have attachments of the kind of `plane`. */
const isAnswering = ({ attachmentKind }: CompiledPlane, other: CompiledPlane | undefined): boolean =>
  other !== undefined && isSameKind(other.attachmentKind, attachmentKind)

const isSame = (a: KindRef | undefined, b: KindRef | undefined): boolean => a !== undefined && b !== undefined && isSameKind(a, b)

const others = (planes: DataPlaneRegistry, { ref }: CompiledPlane): readonly CompiledPlane[] =>
  planes.all().flatMap(({ plane }) => (plane.ref.uid === ref.uid ? [] : [plane]))

/** By the plane that serves the location from now on, or by one that still serves an interface there. */
function isNeeded({ caches, planes }: ReleaseParts, going: CompiledPlane, { metadata, spec }: NetworkContext): boolean {
  const next = planes.prospect(spec.location.name)
  if (isSame(next?.networkKind, going.networkKind)) return true
  return caches.interfaces.by('network', keyFor(spec.network.name, metadata.namespace)).some((nic) => {
    const plane = planeOf(nic, planes)
    return plane !== undefined && plane.ref.uid !== going.ref.uid && isSame(plane.networkKind, going.networkKind)
  })
}

/** All objects of a kind, read live in whatever version; none when no server has the kind. Throws when it cannot be asked. */
async function listed(parts: ReleaseParts, ref: KindRef | undefined, signal: AbortSignal): Promise<KubeObject[]> {
  if (!ref || !isAllowed(ref)) return []
  const { client } = parts.environment
  const where = { client, definitions: parts.definitions }
  const kind = await locate(where, ref, signal)
  if (!kind) return []
  try {
    return (await client.list(kind, { pageSize }, signal)).items
  } catch (error) {
    const isUnserved = error instanceof ApiError && error.status === 404
    if (isUnserved && !(await locate(where, ref, signal))) return []
    throw error
  }
}

/** One for each kind, made when it is first needed. */
function createRemovers({ environment, kinds }: ReleaseParts) {
  const writers = new Map<Kind, Pick<ChildWriter<unknown, unknown>, 'remove'>>()
  return (ref: KindRef): Pick<ChildWriter<unknown, unknown>, 'remove'> | undefined => {
    const { kind, cache } = kinds.follow(ref)
    if (!kind) return undefined
    const known = writers.get(kind)
    if (known) return known
    const writes = ['remove'] as const
    const manager = managers.dataPlane
    const writer = createWriter({ ...environment, kind, cache, controller: 'dataplane', manager, mayBeUnserved: true, writes })
    writers.set(kind, writer)
    return writer
  }
}

const isForbidden = (error: Error): boolean => error instanceof ApiError && error.status === 403

/** Nobody can tell, or do away with, what is left. */
function unseen(error: Error, { attachmentKind, networkKind }: CompiledPlane): string {
  const names = [attachmentKind, networkKind].flatMap((ref) => (ref ? [`${ref.kind} (${ref.apiVersion})`] : []))
  const why = error instanceof ApiError && error.text ? error.text : error.message
  const remedy = isForbidden(error) ? `: grant it in a ClusterRole with the label ${labels.aggregateToNso}: "true"` : ''
  return `Cannot see to it that no ${names.join(' or ')} is left: ${why}${remedy}`
}

/** Others whose finalizers keep it once NSO's is gone. */
export const otherFinalizers = ({ metadata }: KubeObject): readonly string[] =>
  (metadata.finalizers ?? []).filter((one) => one !== finalizers.dataPlane)
