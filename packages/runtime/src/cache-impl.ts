/** The cache: a reflector feeds its content, own writes are absorbed into it, subscribers hear what changed. */
import type { Jitter } from './backoff.ts'
import { createBroadcast } from './broadcast.ts'
import type { Cache, CacheOptions, CacheState, Change } from './cache.ts'
import { createCacheContent } from './cache-content.ts'
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import type { Kind, KubeObject, ManagedFieldsEntry } from './kind.ts'
import type { Logger } from './log.ts'
import { createReflector, type ReflectorMetrics, type ReflectorOptions } from './reflector.ts'

export type CacheMetrics = ReflectorMetrics & {
  /** A callback of a subscriber threw. */
  handlerFailed(resource: string): void
}

export type CacheParts = { clock: Clock; jitter: Jitter; log: Logger; metrics?: CacheMetrics; reflector?: ReflectorOptions }

export type FollowedCache<S = unknown, T = unknown> = Cache<S, T> & {
  /** Tries at once instead of after the present delay, e.g. because the kind's definition has just appeared. */
  poke(): void
  /** How many objects, indexed values and remembered deletions are held: flat when the world is. */
  readonly held: { objects: number; indexedValues: number; graves: number }
}

type Owned<S, T> = { object: KubeObject<S, T>; entries: readonly ManagedFieldsEntry[] }

export const noCacheMetrics: CacheMetrics = { listed() {}, streamEnded() {}, handlerFailed() {} }

/**
 * A cache of one kind. It does nothing until `run`. Becoming `unserved` empties it: each object is told as gone.
 * Callbacks that throw are logged and counted; the others still hear, and the cache goes on.
 */
export function createCache<S, T>(
  client: Client,
  kind: Kind<S, T>,
  options: CacheOptions<S, T>,
  parts: CacheParts,
): FollowedCache<S, T> {
  const log = parts.log.child({ resource: kind.plural })
  const metrics = parts.metrics ?? noCacheMetrics
  const callbackFailed = (what: string) => (error: unknown) => {
    metrics.handlerFailed(kind.plural)
    log.error({ err: error, what }, 'a cache callback failed')
  }
  const owners = createBroadcast<Owned<S, T>>(callbackFailed('managedFields'))
  const onManagedFields: CacheOptions<S, T>['onManagedFields'] = (object, entries) => {
    owners.tell([{ object, entries }])
    options.onManagedFields?.(object, entries)
  }
  const content = createCacheContent(kind, { ...options, onManagedFields }, (what, call) => {
    try {
      call()
    } catch (error) {
      callbackFailed(what)(error)
    }
  })
  const changes = createBroadcast<Change<KubeObject<S, T>>>(callbackFailed('change'))
  const states = createBroadcast<CacheState>(callbackFailed('state'))
  const { store } = content
  let state: CacheState = 'starting'
  let running = false
  let ownersAreAsked = options.onManagedFields !== undefined

  /**
   * A list of many large objects must fit into memory before any of it is stored: each is cut down as it comes. What this drops
   * is not missed later, since the stored one is cut down again; a throw is reported then.
   */
  const arrived = (object: KubeObject<S, T>): KubeObject<S, T> => {
    if (!options.prune) return object
    const { managedFields, ...metadata } = object.metadata
    try {
      const pruned = options.prune({ ...object, metadata })
      return ownersAreAsked && managedFields ? { ...pruned, metadata: { ...pruned.metadata, managedFields } } : pruned
    } catch {
      return object
    }
  }

  const move = (next: CacheState) => {
    if (state === next) return
    state = next
    states.tell([next])
  }

  const reflector = createReflector<S, T>(
    {
      client,
      kind,
      selection: selectionOf(options),
      feed: {
        arrived,
        replaced(items, version) {
          changes.tell(content.replaced(items, version))
          move('synced')
        },
        changed: (object) => changes.tell(content.changed(object)),
        deleted: (object) => changes.tell(content.deleted(object)),
        reached: content.reached,
        following: () => move('synced'),
        failing() {
          if (state === 'synced') move('stale')
        },
        unserved() {
          changes.tell(content.emptied())
          move('unserved')
        },
      },
      clock: parts.clock,
      jitter: parts.jitter,
      log,
      metrics,
    },
    parts.reflector,
  )

  return {
    kind,
    get state() {
      return state
    },
    get size() {
      return store.size
    },
    get held() {
      return { objects: store.size, indexedValues: store.indexedValues, graves: content.graves }
    },
    get: store.get,
    values: store.values,
    by: store.by,
    subscribe: changes.subscribe,
    onManagedFields(handler) {
      ownersAreAsked = true
      return owners.subscribe(({ object, entries }) => handler(object, entries))
    },
    onState: states.subscribe,
    absorb: (object) => changes.tell(content.absorbed(object)),
    absorbGone: (object) => changes.tell(content.gone(object)),
    writing: content.writing,
    ready(signal, { orUnserved = false } = {}) {
      const isReady = () => state === 'synced' || state === 'stale' || (orUnserved && state === 'unserved')
      return whenTrue(isReady, states.subscribe, signal)
    },
    async run(signal) {
      if (running) throw new Error(`the cache of ${kind.plural} runs already`)
      running = true
      try {
        await reflector.run(signal)
      } finally {
        running = false
      }
    },
    poke: reflector.poke,
  }
}

function selectionOf<S, T>({ namespace, labelSelector, fieldSelector }: CacheOptions<S, T>) {
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  }
}

/** Resolves when `isTrue`, looked at now and after each message; rejects with the signal's reason. */
function whenTrue(isTrue: () => boolean, subscribe: (handler: () => void) => () => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    if (isTrue()) return resolve()
    const finish = (end: () => void) => {
      unsubscribe()
      signal.removeEventListener('abort', stop)
      end()
    }
    const unsubscribe = subscribe(() => {
      if (isTrue()) finish(resolve)
    })
    const stop = () => finish(() => reject(signal.reason))
    signal.addEventListener('abort', stop, { once: true })
  })
}
