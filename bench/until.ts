/** Waiting for something to be seen in caches. */
import type { Cache } from 'kube-control-loop'

/** Resolves with the time (performance.now()) of the change after which `holds`; rejects after the limit, saying what was not seen. */
export function seen(
  caches: readonly Pick<Cache, 'subscribe'>[],
  holds: () => boolean,
  what: string,
  signal: AbortSignal,
  limitMs = 120_000,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const ends: (() => void)[] = []
    const finish = (end: () => void) => {
      for (const each of ends) each()
      end()
    }
    const look = () => {
      if (!holds()) return
      const now = performance.now()
      finish(() => resolve(now))
    }
    const stop = () => finish(() => reject(signal.reason))
    const timer = setTimeout(() => finish(() => reject(new Error(`${what}: not seen within ${limitMs / 1000} s`))), limitMs)
    signal.addEventListener('abort', stop, { once: true })
    ends.push(
      () => clearTimeout(timer),
      () => signal.removeEventListener('abort', stop),
      ...caches.map((cache) => cache.subscribe(look)),
    )
    look()
  })
}
