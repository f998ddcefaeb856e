/** What the follower of a kind waits for, between its questions. */
import type { Clock, FollowedCache } from 'kube-control-loop'
import type { Definitions } from './definitions.ts'

export type Waker = {
  readonly cache: FollowedCache | undefined
  /** There is reason to ask now; kept until the next pause when nothing waits. */
  wake: () => void
  woken: boolean
}

/**
 * Resolves when the cache finds the kind gone, or is woken while it has not found it back, or while the definition is another's:
 * one that is removed and made anew at once may leave the cache nothing to notice.
 */
export function untilUnserved(entry: Waker, definitions: Pick<Definitions, 'fits'>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const { cache } = entry
    const missed = entry.woken && cache?.state === 'unserved'
    if (!cache || missed || signal.aborted) return resolve()
    // A kind that has just come back: its cache says so only later.
    let fresh = cache.state === 'unserved'
    const finish = () => {
      undo()
      entry.wake = later(entry)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const undo = cache.onState((state) => {
      if (state === 'unserved' && !fresh) finish()
      fresh = false
    })
    entry.woken = false
    entry.wake = () => {
      if (cache.state !== 'unserved' && definitions.fits(cache.kind)) return
      finish()
      entry.woken = true
    }
    signal.addEventListener('abort', finish, { once: true })
  })
}

/** Nothing waits now: the next pause is cut short. */
export const later = (entry: Waker) => () => {
  entry.woken = true
}

/** Ends early when the entry is woken, or was since it last waited, or the signal is aborted. */
export function pause(clock: Clock, ms: number | undefined, entry: Waker, signal: AbortSignal): Promise<'woken' | 'due'> {
  return new Promise((resolve) => {
    const finish = (why: 'woken' | 'due') => {
      cancel?.()
      entry.woken = false
      entry.wake = later(entry)
      signal.removeEventListener('abort', wake)
      resolve(why)
    }
    const wake = () => finish('woken')
    const cancel = ms === undefined ? undefined : clock.after(ms, () => finish('due'))
    entry.wake = wake
    signal.addEventListener('abort', wake, { once: true })
    if (signal.aborted || entry.woken) wake()
  })
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
