/**
 * What NSO may do with the kinds of each plane, remembered, so that a pass woken by its own status write asks nothing. Reviewed
 * again by time only while something is missing: what else may grant a permission than NSO's gathered role has no watch of ours.
 */
import { backoff, type Client, type Clock, type Jitter, type Key, type KubeObject } from 'kube-control-loop'
import type { GrantedRole } from './granted-role.ts'
import type { FollowedKind } from './kinds.ts'
import { attachmentVerbs, type Needed, networkVerbs, review } from './permissions.ts'
import type { Reviewed } from './verdict.ts'

/** First and longest delay in ms until missing permissions are reviewed again while the role cannot be followed. */
const unfollowedMs = [2_000, 60_000] as const
/** The delay in ms while it is followed: what else may grant has no watch of ours. */
const otherGrantsMs = 60_000
/** The server's own view of roles may trail the watch: after a change, the second review comes so many ms later. */
const trailingMs = 1_000

/** The last review of one plane, and what it was a review of. */
type Review = { of: string; reviewed: Reviewed; failures: number; dueAt: number }

export type ReviewsParts = {
  readonly client: Client
  readonly clock: Clock
  readonly jitter: Jitter
  readonly role: Pick<GrantedRole, 'isFollowed'>
}

export type Current = {
  reviewed: Reviewed
  /** When to look again; undefined: not by time. */
  inMs?: number
  /** The server could not be asked: surfaces after the status was written. */
  fault?: unknown
}

type ReviewedKind = Pick<FollowedKind, 'kind' | 'state'>

function needed([attachment, network]: readonly ReviewedKind[]): readonly Needed[] {
  return [
    ...(attachment?.kind ? [{ kind: attachment.kind, verbs: attachmentVerbs }] : []),
    ...(network?.kind ? [{ kind: network.kind, verbs: networkVerbs }] : []),
  ]
}

/** Keys are names of DataPlanes. */
export function createReviews({ client, clock, jitter, role }: ReviewsParts) {
  const delay = backoff(...unfollowedMs, jitter)
  const known = new Map<Key, Review>()
  /** Planes whose next review is the first after a change of the role. */
  const afresh = new Set<Key>()

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
    const regular = role.isFollowed ? otherGrantsMs : delay(failures + 1)
    const inMs = afresh.delete(name) ? trailingMs : denied ? regular : undefined
    known.set(name, {
      of,
      reviewed,
      failures: denied ? failures + 1 : 0,
      dueAt: clock.monotonic() + (inMs ?? Number.POSITIVE_INFINITY),
    })
    return { reviewed, ...(inMs === undefined ? {} : { inMs }) }
  }

  return {
    forget(name: Key): void {
      known.delete(name)
      afresh.delete(name)
    },
    roleChanged(name: Key): void {
      known.delete(name)
      afresh.add(name)
    },
    /** `kinds`: of attachments, then of network objects. */
    async current(object: Pick<KubeObject, 'metadata'>, kinds: readonly ReviewedKind[], signal: AbortSignal): Promise<Current> {
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
