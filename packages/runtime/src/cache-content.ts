/**
 * What a cache holds, and how news of it are merged: from the watch, which is in order, and from own writes, whose answers
 * come before or after their events. Each method answers what changed. No I/O.
 */
import type { CacheOptions, Change } from './cache.ts'
import { createGraves } from './graves.ts'
import { apiVersionOf, type Key, type Kind, type KubeObject, keyFor, keyOf } from './kind.ts'
import { orderOfVersions } from './resource-version.ts'
import { createStore, type Store } from './store.ts'

type Named = { metadata: { name: string; namespace?: string; uid?: string } }

export type CacheContent<O> = {
  readonly store: Store<O>
  /** An ADDED or MODIFIED event. */
  changed(object: O): Change<O>[]
  /** A DELETED event. */
  deleted(object: O): Change<O>[]
  /** The answer of an own write or live read: only what is newer. */
  absorbed(object: O): Change<O>[]
  /** Known from an own call. */
  gone(object: Named): Change<O>[]
  /** A list: what it lacks is gone, unless it was written after the list. */
  replaced(items: readonly O[], version: string): Change<O>[]
  /** Nothing exists any more. */
  emptied(): Change<O>[]
  /** The server has told everything up to this version. */
  reached(version: string): void
  writing(key: Key): () => void
  readonly graves: number
}

/** `guarded` runs a callback that was handed in and survives its throwing. */
export function createCacheContent<S, T>(
  kind: Kind<S, T>,
  options: CacheOptions<S, T>,
  guarded: (what: string, call: () => void) => void,
): CacheContent<KubeObject<S, T>> {
  type O = KubeObject<S, T>
  const graves = createGraves()
  const store = createStore<O>(options.indexes ?? {}, (index, key, error) => {
    guarded(`index ${index} of ${key}`, () => {
      throw error
    })
  })
  let everListed = false
  /** Of the last list or bookmark. */
  let newest: string | undefined
  /** Up to here the watch has told everything, its last event included. */
  let told: string | undefined

  /** What is stored of an object: no managedFields, and the type fields even where an answer leaves them out. */
  const intake = (object: O): O => {
    const { managedFields, ...metadata } = object.metadata
    if (managedFields) guarded('managedFields', () => options.onManagedFields?.(object, managedFields))
    const named = { apiVersion: object.apiVersion ?? apiVersionOf(kind), kind: object.kind ?? kind.kind }
    let stored: O = { ...object, ...named, metadata }
    guarded('prune', () => {
      stored = options.prune?.(stored) ?? stored
    })
    return stored
  }

  const drop = (key: Key, watchKnows: boolean): Change<O>[] => {
    const before = store.get(key)
    if (!before) return []
    store.delete(key)
    if (before.metadata.uid) graves.bury(key, before.metadata.uid, watchKnows)
    return [{ key, before, initial: false }]
  }

  /** `inOrder`: from the watch, so that a version without an order is taken as newer. */
  const put = (object: O, inOrder: boolean, initial: boolean): Change<O>[] => {
    const key = keyOf(object)
    if (graves.has(key, object.metadata.uid)) return []
    const before = store.get(key)
    const order = orderOfVersions(object.metadata.resourceVersion, before?.metadata.resourceVersion)
    if (before && order !== 'newer' && !(inOrder && order === 'unknown')) return []
    const after = intake(object)
    // Another object under the name: the end of the one before is told on its own.
    const ended = before && before.metadata.uid !== after.metadata.uid ? drop(key, true) : []
    store.put(after)
    const isSame = before !== undefined && ended.length === 0
    return [...ended, { key, ...(isSame ? { before } : {}), after, initial }]
  }

  const gone = ({ metadata: { name, namespace, uid } }: Named): Change<O>[] => {
    const key = keyFor(name, namespace)
    const standing = store.get(key)
    if (standing && (uid === undefined || standing.metadata.uid === uid)) return drop(key, false)
    // Told twice, or before it was ever seen: what is remembered already stays as it is.
    if (uid && !graves.has(key, uid)) graves.bury(key, uid, true)
    return []
  }

  const emptied = () => [...store.keys()].flatMap((key) => drop(key, true))

  /** Told before: the list, or what the watch had reached, has it already. A server may repeat itself after a resume. */
  const isOldNews = ({ metadata }: O) => orderOfVersions(metadata.resourceVersion, newest) === 'older'

  const hear = ({ metadata: { resourceVersion } }: O) => {
    if (orderOfVersions(resourceVersion, told) === 'newer') told = resourceVersion
  }

  /**
   * The slow answer of a read: the watch has told of this version already, and that it ended. Ends during a write are remembered
   * by uid, so its answer needs no such guess: a server that was restored counts from an older version again for a while.
   */
  const isKnownToHaveEnded = (object: O) => {
    if (graves.isWriting(keyOf(object))) return false
    const order = orderOfVersions(object.metadata.resourceVersion, told)
    return (order === 'older' || order === 'same') && store.get(keyOf(object)) === undefined
  }

  return {
    store,
    changed(object) {
      if (isOldNews(object)) return []
      hear(object)
      return put(object, true, false)
    },
    deleted(object) {
      if (isOldNews(object)) return []
      hear(object)
      const key = keyOf(object)
      const { uid, resourceVersion } = object.metadata
      if (uid) graves.bury(key, uid, true)
      const standing = store.get(key)
      const isSuccessor =
        standing?.metadata.uid !== uid && orderOfVersions(standing?.metadata.resourceVersion, resourceVersion) === 'newer'
      return standing && !isSuccessor ? drop(key, true) : []
    },
    absorbed(object) {
      const { deletionTimestamp, finalizers } = object.metadata
      if (deletionTimestamp && !finalizers?.length) return gone(object)
      return isKnownToHaveEnded(object) ? [] : put(object, false, false)
    },
    gone,
    replaced(items, version) {
      // A restored server counts from an older version again: what stands here is then no news at all.
      const changes = orderOfVersions(version, newest) === 'older' ? emptied() : []
      newest = version
      told = version
      const present = new Set(items.map(keyOf))
      for (const key of [...store.keys()]) {
        const writtenSince = orderOfVersions(store.get(key)?.metadata.resourceVersion, version) === 'newer'
        if (!present.has(key) && !writtenSince) changes.push(...drop(key, true))
      }
      for (const item of items) changes.push(...put(item, true, !everListed))
      graves.listed(new Set(items.flatMap(({ metadata: { uid } }) => uid ?? [])))
      everListed = true
      return changes
    },
    emptied() {
      const changes = emptied()
      graves.listed(new Set())
      newest = undefined
      told = undefined
      return changes
    },
    reached(version) {
      newest = version
      told = version
    },
    writing: graves.writing,
    get graves() {
      return graves.size
    },
  }
}
