/**
 * Controllers of one process take turns at the finalizers of one object. Each patch tests the list that was read, so that no
 * other process's addition is lost; two controllers that patch at once would lose races against each other.
 */
import type { Cache } from './cache.ts'
import { type Key, type KubeObject, keyOf } from './kind.ts'

type Reader<S, T> = Pick<Cache<S, T>, 'get'>

/** By cache, which the controllers of a process share: the end of the last write under way. */
const underWay = new WeakMap<object, Map<Key, Promise<void>>>()

/**
 * Writes at once where nobody else is at it, else when that has ended, well or not, with the object as it stands then. Without
 * a cache there is nobody to take turns with.
 */
export async function inTurn<S, T, R>(
  cache: Reader<S, T> | undefined,
  object: KubeObject<S, T>,
  write: (standing: KubeObject<S, T>) => Promise<R>,
): Promise<R> {
  if (!cache) return write(object)
  const key = keyOf(object)
  const writes = underWay.get(cache) ?? new Map<Key, Promise<void>>()
  underWay.set(cache, writes)
  const before = writes.get(key)
  const own = before ? before.then(() => write(asItStands(cache, object))) : write(object)
  const end = own.then(nothing, nothing)
  writes.set(key, end)
  try {
    return await own
  } finally {
    if (writes.get(key) === end) writes.delete(key)
  }
}

function nothing(): void {}

/** Another object under the name is not the one that was decided on. */
function asItStands<S, T>(cache: Reader<S, T>, object: KubeObject<S, T>): KubeObject<S, T> {
  const known = cache.get(keyOf(object))
  return known && known.metadata.uid === object.metadata.uid ? known : object
}
