/** A controller: what wakes its keys, and one pass over a key. */
import type { Cache, Change } from './cache.ts'
import { type Key, type KubeObject, keyOf } from './kind.ts'
import type { Outcome } from './outcome.ts'

export type Pass = {
  readonly key: Key
  /** Aborted when the process stops, leadership is lost, or the pass takes longer than its limit. */
  readonly signal: AbortSignal
  /** Structured log bound to controller, key and a reconcile id. */
  readonly log: import('./log.ts').Logger
}

/** Which keys of the controller a change of another object wakes. `urgent` (default): user-visible, before resyncs. */
export type Watch = {
  subscribe(enqueue: (key: Key, options?: { urgent?: boolean; afterMs?: number }) => void): () => void
}

export type Controller = {
  /** Label value in metrics and logs, e.g. `vpc`. */
  readonly name: string
  /** Holds the object of each key, to know when one is gone for good (default: the first of `needs`). */
  readonly primary?: Cache
  /** Keys in work at the same time (default 32). */
  readonly workers?: number
  readonly watches: readonly Watch[]
  /** Caches that must be ready before the first pass. An optional one may also be unserved. */
  readonly needs: readonly { readonly cache: Cache; readonly optional?: boolean }[]
  /** Observe, decide, act, say. Writes only through writers. */
  reconcile(pass: Pass): Promise<Outcome>
  /** The key's object is gone for good: drop per-key state. */
  forget?(key: Key): void
}

/** Wakes keys by the changes of one cache; what it holds already at subscription counts as initial changes. */
export function watch<S, T>(
  cache: Cache<S, T>,
  keys: (change: Change<KubeObject<S, T>>) => Iterable<Key>,
  options: { urgent?: boolean } = {},
): Watch {
  return {
    subscribe(enqueue) {
      const wake = (change: Change<KubeObject<S, T>>) => {
        const urgent = options.urgent ?? !change.initial
        for (const key of keys(change)) enqueue(key, { urgent })
      }
      const end = cache.subscribe(wake)
      for (const object of cache.values()) wake({ key: keyOf(object), after: object, initial: true })
      return end
    },
  }
}
