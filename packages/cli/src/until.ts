/** Waiting for what caches show: asked again after each of their changes, never by polling. */

import { type FollowedCache, systemClock } from 'kube-control-loop'
import { Explained } from './failure.ts'

export type UntilOptions = {
  /** Completes "still waiting after N s for …". */
  what: string | (() => string)
  signal: AbortSignal
  /** Two minutes unless said otherwise. */
  limitMs?: number
}

/** The limit was reached; the message says what is missing. */
export class StillWaiting extends Explained {
  override name = 'StillWaiting'
}

/** Resolves when `holds`; rejects with `StillWaiting` at the limit. */
export async function until(
  caches: readonly FollowedCache[],
  holds: () => boolean,
  { what, signal, limitMs = 120_000 }: UntilOptions,
): Promise<void> {
  signal.throwIfAborted()
  if (holds()) return
  const done = Promise.withResolvers<void>()
  const look = () => {
    if (holds()) done.resolve()
  }
  const ends = caches.map((cache) => cache.subscribe(look))
  const aborted = () => done.reject(signal.reason)
  signal.addEventListener('abort', aborted, { once: true })
  const cancel = systemClock.after(limitMs, () =>
    done.reject(new StillWaiting(`still waiting after ${limitMs / 1000} s for ${typeof what === 'string' ? what : what()}`)),
  )
  try {
    await done.promise
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
    for (const end of ends) end()
  }
}
