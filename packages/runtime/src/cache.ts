/** List+watch of one kind in memory, with read-your-writes. */
import type { Key, Kind, KubeObject, ManagedFieldsEntry } from './kind.ts'

/** What changed for one key. `before` absent: appeared; `after` absent: gone. `initial`: part of the first list. */
export type Change<O> = { key: Key; before?: O; after?: O; initial: boolean }

export type CacheState =
  /** Not listed yet. */
  | 'starting'
  /** Listed and followed. */
  | 'synced'
  /** The server does not serve this kind (now). The cache is empty and comes to life when it is served. */
  | 'unserved'
  /** Was synced, now failing to follow; `get` answers what was last known. */
  | 'stale'

/** Read side of a cache. Objects are shared and frozen in spirit: nobody changes what it reads. managedFields are dropped. */
export type Cache<S = unknown, T = unknown> = {
  readonly kind: Kind<S, T>
  readonly state: CacheState
  get(key: Key): KubeObject<S, T> | undefined
  values(): IterableIterator<KubeObject<S, T>>
  readonly size: number
  /** Objects whose index function answered `value`. Unknown index: throws. */
  by(index: string, value: string): readonly KubeObject<S, T>[]
  /** Calls back after each change, synchronously and in order; the returned function ends it. New subscribers get no replay. */
  subscribe(handler: (change: Change<KubeObject<S, T>>) => void): () => void
  /**
   * Calls back with the managedFields of each version before they are dropped, and before subscribers hear of that version.
   * New ones get no replay.
   */
  onManagedFields(handler: (object: KubeObject<S, T>, entries: readonly ManagedFieldsEntry[]) => void): () => void
  /** Calls back when `state` moves. */
  onState(handler: (state: CacheState) => void): () => void
  /**
   * Takes in the answer of an own write or a live read, if newer than what stands (decimal-string order of resourceVersion);
   * subscribers see it like a watch event. An answer with deletionTimestamp and no finalizers counts as gone. Objects whose
   * uid was seen deleted are dropped, and so is what the watch has gone past and does not have: it ended meanwhile.
   */
  absorb(object: KubeObject<S, T>): void
  /** Takes in that exactly this object (uid) is gone, known from an own call: it was read before the call that did not find it. */
  absorbGone(object: { metadata: { name: string; namespace?: string; uid?: string } }): void
  /** Marks a write in flight for the key until the returned function is called: deleted uids are remembered meanwhile. */
  writing(key: Key): () => void
  /** Resolves when first synced, or when first known to be unserved if `orUnserved`. */
  ready(signal: AbortSignal, options?: { orUnserved?: boolean }): Promise<void>
  /** Lists and follows until aborted. Never rejects except by abort. */
  run(signal: AbortSignal): Promise<void>
}

export type CacheOptions<S, T> = {
  namespace?: string
  labelSelector?: string
  /** E.g. `metadata.name=one`, which a permission restricted to that name covers. */
  fieldSelector?: string
  /** Index name → the values under which an object is found. */
  indexes?: Readonly<Record<string, (object: KubeObject<S, T>) => readonly string[]>>
  /** Sees managedFields of each version before they are dropped (fight detection). */
  onManagedFields?: (object: KubeObject<S, T>, entries: readonly ManagedFieldsEntry[]) => void
  /** Cuts an object down before storing (memory). Of a list each is cut down as it comes, and again before it is stored. */
  prune?: (object: KubeObject<S, T>) => KubeObject<S, T>
}
