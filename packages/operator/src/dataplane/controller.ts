/**
 * Controller `dataplane` (key: DataPlane): says whether a DataPlane is accepted, its kinds installed, and NSO permitted.
 * It makes nothing. Permissions have no watch: they are reviewed when the spec or the kinds change, when a write or watch was
 * refused, and, only while something is missing, again with growing delays (2 s to 60 s). A plane in order is never polled.
 */
import { DataPlane, statusOwners } from '@nso/api'
import {
  again,
  backoff,
  type Client,
  type Clock,
  type Controller,
  createStatusWriter,
  type Jitter,
  type Key,
  type Outcome,
  type RecordWarning,
  type SpecOf,
  type StatusOf,
  type StatusWriter,
  settled,
  type WriterEnvironment,
  waiting,
  watch,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { lostTies } from './choose.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { attachmentVerbs, explain, type Needed, networkVerbs, review } from './permissions.ts'
import { isAllowed } from './plane.ts'
import type { DataPlaneRegistry, KnownPlane } from './registry.ts'
import { intentFor, type Reviewed, type SeenPlane } from './verdict.ts'

export type DataPlaneControllerParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'dataPlanes'>
  readonly planes: DataPlaneRegistry
  readonly kinds: DynamicKinds
  readonly clock: Clock
  readonly jitter: Jitter
  readonly recordEvent?: RecordWarning
}

/** First and longest delay in ms until permissions that were missing are reviewed again. */
const reviewAgainMs = [2_000, 60_000] as const

/** The last review of one plane, and what it was a review of. */
type Review = { of: string; reviewed: Reviewed; failures: number; dueAt: number }

export function createDataPlaneController(parts: DataPlaneControllerParts): Controller {
  const { caches, planes, clock, environment, recordEvent } = parts
  const reviews = createReviews(parts)
  const status = createStatusWriter({
    ...environment,
    kind: DataPlane,
    cache: caches.dataPlanes,
    controller: 'dataplane',
    owner: statusOwners.dataPlane,
    clock,
    ...(recordEvent ? { recordEvent } : {}),
  }) satisfies StatusWriter<SpecOf<typeof DataPlane>, StatusOf<typeof DataPlane>, typeof statusOwners.dataPlane>
  return {
    name: 'dataplane',
    needs: [{ cache: caches.dataPlanes }],
    watches: [
      watch(caches.dataPlanes, ({ key }) => [key]),
      // Ties depend on all planes, and a plane's kinds come and go for all that name them.
      {
        subscribe: (enqueue) =>
          planes.onPlane(() => {
            for (const object of caches.dataPlanes.values()) enqueue(object.metadata.name)
          }),
      },
      {
        subscribe: (enqueue) =>
          planes.onSuspicion((name) => {
            reviews.forget(name)
            enqueue(name)
          }),
      },
    ],
    async reconcile({ key, signal }) {
      const known = planes.get(key)
      if (!known || known.object.metadata.deletionTimestamp) return settled
      const kinds = followedKinds(parts, known)
      // Just after a start: what was said before is not taken back only to be said again.
      if (kinds.some(({ state }) => state === 'asking')) return waiting('discovery')
      const { reviewed, inMs, fault } = await reviews.current(known, kinds, signal)
      const seen: SeenPlane = { ...known, lost: ties(planes, known), kinds, reviewed }
      planes.setDenied(key, reviewed.is === 'done' && reviewed.missing.length > 0 ? explain(reviewed.missing) : undefined)
      await status.status(known.object, intentFor(seen), signal)
      if (fault !== undefined) throw fault
      return outcomeOf(seen, inMs)
    },
    forget(key) {
      reviews.forget(key)
      status.forget(key)
    },
  }
}

function outcomeOf({ kinds, compiled }: SeenPlane, inMs: number | undefined): Outcome {
  if (inMs !== undefined) return again(inMs, 'permissions have no watch')
  const absent = kinds.find(({ state }) => state !== 'served')
  return absent && compiled.refusedKinds.length === 0 ? waiting(`kind ${absent.ref.kind} being served`) : settled
}

const ties = (planes: DataPlaneRegistry, known: KnownPlane) =>
  lostTies(
    known.object,
    planes.sound().map(({ object }) => object),
  )

function followedKinds({ kinds }: DataPlaneControllerParts, { plane }: KnownPlane): readonly FollowedKind[] {
  return [plane.attachmentKind, plane.networkKind].flatMap((ref) => (ref && isAllowed(ref) ? [kinds.follow(ref)] : []))
}

function needed([attachment, network]: readonly FollowedKind[]): readonly Needed[] {
  return [
    ...(attachment?.kind ? [{ kind: attachment.kind, verbs: attachmentVerbs }] : []),
    ...(network?.kind ? [{ kind: network.kind, verbs: networkVerbs }] : []),
  ]
}

type Current = {
  reviewed: Reviewed
  /** When to look again; undefined: not by time. */
  inMs?: number
  /** The server could not be asked: surfaces after the status was written. */
  fault?: unknown
}

/** Remembers reviews, so that a pass woken by its own status write asks nothing. */
function createReviews({ environment: { client }, clock, jitter }: DataPlaneControllerParts) {
  const delay = backoff(...reviewAgainMs, jitter)
  const known = new Map<Key, Review>()

  const ask = async (name: string, of: string, what: readonly Needed[], signal: AbortSignal): Promise<Current> => {
    const before = known.get(name)
    const failures = before?.of === of ? before.failures : 0
    const reviewed = await answered(client, what, signal)
    if ('fault' in reviewed) {
      // What an earlier review found still stands while nobody can be asked.
      return {
        reviewed: before?.of === of ? before.reviewed : { is: 'failed', message: messageOf(reviewed.fault) },
        fault: reviewed.fault,
      }
    }
    const denied = reviewed.missing.length > 0
    const inMs = denied ? delay(failures + 1) : undefined
    known.set(name, {
      of,
      reviewed,
      failures: denied ? failures + 1 : 0,
      dueAt: clock.monotonic() + (inMs ?? Number.POSITIVE_INFINITY),
    })
    return { reviewed, ...(inMs === undefined ? {} : { inMs }) }
  }

  return {
    forget: (name: Key) => void known.delete(name),
    async current({ object }: KnownPlane, kinds: readonly FollowedKind[], signal: AbortSignal): Promise<Current> {
      if (kinds.length === 0 || kinds.some(({ state }) => state !== 'served')) return { reviewed: { is: 'not asked' } }
      const what = needed(kinds)
      const of = JSON.stringify([object.metadata.uid, what])
      const last = known.get(object.metadata.name)
      const leftMs = last?.of === of ? last.dueAt - clock.monotonic() : 0
      if (!last || leftMs <= 0) return ask(object.metadata.name, of, what, signal)
      return { reviewed: last.reviewed, ...(Number.isFinite(leftMs) ? { inMs: leftMs } : {}) }
    },
  }
}

type Answered = Extract<Reviewed, { is: 'done' }> | { fault: unknown }

async function answered(client: Client, what: readonly Needed[], signal: AbortSignal): Promise<Answered> {
  try {
    return { is: 'done', missing: await review(client, what, signal) }
  } catch (fault) {
    signal.throwIfAborted()
    return { fault }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
