/** Creates leases: each at most once at a time, and remembering those whose answer never came. */
import type { AddressLease } from '@nso/api'
import { ApiError, type Key, KindUnserved, keyOf, LeadershipLost, WriteGone, WriteRaced } from 'kube-control-loop'
import { holderIndexKey } from './lease.ts'
import type { LeaseWriter } from './parts.ts'

export type Posting = {
  /**
   * POST. A taken name throws WriteRaced: what stands under it was read and absorbed, and the next pass judges it.
   * Two controllers that find the same lease missing share one request.
   */
  post(lease: AddressLease, signal: AbortSignal): Promise<AddressLease>
  /** Keys of leases that this process tried to create for a holder and that may stand, unseen, for lack of an answer. */
  unanswered(holder: string): readonly Key[]
  /** The holder has given everything back. */
  forget(holder: string): void
}

export function createPosting(writer: Pick<LeaseWriter, 'create'>): Posting {
  const inFlight = new Map<Key, Promise<AddressLease>>()
  const unanswered = new Map<string, Set<Key>>()

  async function create(lease: AddressLease, signal: AbortSignal): Promise<AddressLease> {
    const key = keyOf(lease)
    const holder = holderIndexKey(lease.metadata.namespace, lease.spec.holder.claimUID)
    try {
      const stands = await writer.create(lease, signal)
      answered(holder, key)
      return stands
    } catch (error) {
      if (wasAnswered(error)) answered(holder, key)
      else unanswered.set(holder, (unanswered.get(holder) ?? new Set()).add(key))
      throw error
    }
  }

  function answered(holder: string, key: Key) {
    const keys = unanswered.get(holder)
    keys?.delete(key)
    if (keys?.size === 0) unanswered.delete(holder)
  }

  return {
    post(lease, signal) {
      const key = keyOf(lease)
      const running = inFlight.get(key)
      if (running !== undefined) return running
      const posted = create(lease, signal).finally(() => inFlight.delete(key))
      inFlight.set(key, posted)
      return posted
    },
    unanswered: (holder) => [...(unanswered.get(holder) ?? [])],
    forget: (holder) => void unanswered.delete(holder),
  }
}

/** Signals that end a pass without being a fault. */
export function isSignal(error: unknown): boolean {
  return [WriteRaced, WriteGone, KindUnserved, LeadershipLost].some((signal) => error instanceof signal)
}

/** Whether the server certainly did not store the object, or certainly has it. A 5xx or a torn answer may come after the write. */
function wasAnswered(error: unknown): boolean {
  return isSignal(error) || (error instanceof ApiError && error.status >= 400 && error.status < 500)
}
