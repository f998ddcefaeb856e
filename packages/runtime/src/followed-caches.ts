/** The caches of a process: followed while it runs, those added later too. */
import type { Cache } from './cache.ts'
import type { FollowedCache } from './cache-impl.ts'
import type { Clock } from './clock.ts'
import { linkedSignal } from './linked-signal.ts'
import type { Logger } from './log.ts'

export type FollowedCaches = {
  add<S, T>(cache: FollowedCache<S, T>): void
  /** Ends one; unknown ones are no fault. */
  drop(cache: Cache): void
  /** Follows all, and those added later, until the signal is aborted. */
  follow(signal: AbortSignal): void
  /** A cache that has been unable to follow for so many ms. */
  staleFor(ms: number): Cache | undefined
}

type Entry = { cache: FollowedCache; stop: () => void; staleSince: number | undefined }

export function createFollowedCaches(clock: Clock, log: Logger): FollowedCaches {
  const entries = new Set<Entry>()
  let following: AbortSignal | undefined

  const start = (entry: Entry, until: AbortSignal) => {
    const own = linkedSignal(until)
    entry.stop = () => own.abort(new Error('the cache was dropped'))
    entry.cache
      .run(own.signal)
      .catch((error) => {
        if (!own.signal.aborted) log.error({ err: error, resource: entry.cache.kind.plural }, 'a cache ended by itself')
      })
      .finally(own.release)
  }

  return {
    add(cache) {
      const entry: Entry = { cache: cache as unknown as FollowedCache, stop: () => {}, staleSince: undefined }
      cache.onState((state) => {
        entry.staleSince = state === 'stale' ? clock.monotonic() : undefined
      })
      entries.add(entry)
      if (following) start(entry, following)
    },
    drop(cache) {
      for (const entry of entries) {
        if (entry.cache !== cache) continue
        entries.delete(entry)
        entry.stop()
      }
    },
    follow(signal) {
      following = signal
      for (const entry of entries) start(entry, signal)
    },
    staleFor(ms) {
      for (const { cache, staleSince } of entries) {
        if (staleSince !== undefined && clock.monotonic() - staleSince >= ms) return cache
      }
      return undefined
    },
  }
}
