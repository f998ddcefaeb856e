/** Objects by key, with indexes that shrink as they grow. */
import { type Key, type KubeObject, keyOf } from './kind.ts'

export type IndexFunctions<O> = Readonly<Record<string, (object: O) => readonly string[]>>

export type Store<O> = {
  get(key: Key): O | undefined
  keys(): IterableIterator<Key>
  values(): IterableIterator<O>
  readonly size: number
  /** Objects found under `value`; an index that was not declared throws. */
  by(index: string, value: string): readonly O[]
  put(object: O): void
  delete(key: Key): void
  /** Values held by all indexes together: 0 when the store is empty. */
  readonly indexedValues: number
}

type Index<O> = {
  valuesOf: (object: O) => readonly string[]
  byValue: Map<string, Map<Key, O>>
  ofKey: Map<Key, readonly string[]>
}

function unlink<O>(index: Index<O>, key: Key): void {
  for (const value of index.ofKey.get(key) ?? []) {
    const found = index.byValue.get(value)
    found?.delete(key)
    if (found?.size === 0) index.byValue.delete(value)
  }
  index.ofKey.delete(key)
}

function link<O>(index: Index<O>, key: Key, object: O): void {
  const values = index.valuesOf(object)
  if (values.length === 0) return
  index.ofKey.set(key, values)
  for (const value of values) {
    const found = index.byValue.get(value)
    if (found) found.set(key, object)
    else index.byValue.set(value, new Map([[key, object]]))
  }
}

/** `onIndexError` hears of an index function that threw; the object is stored all the same, not found under that index. */
export function createStore<O extends KubeObject>(
  functions: IndexFunctions<O>,
  onIndexError: (index: string, key: Key, error: unknown) => void,
): Store<O> {
  const objects = new Map<Key, O>()
  const indexes = new Map<string, Index<O>>()
  for (const [name, valuesOf] of Object.entries(functions)) indexes.set(name, { valuesOf, byValue: new Map(), ofKey: new Map() })
  return {
    get: (key) => objects.get(key),
    keys: () => objects.keys(),
    values: () => objects.values(),
    get size() {
      return objects.size
    },
    by(name, value) {
      const index = indexes.get(name)
      if (!index) throw new Error(`no index ${name}`)
      const found = index.byValue.get(value)
      return found ? [...found.values()] : []
    },
    put(object) {
      const key = keyOf(object)
      objects.set(key, object)
      for (const [name, index] of indexes) {
        unlink(index, key)
        try {
          link(index, key, object)
        } catch (error) {
          onIndexError(name, key, error)
        }
      }
    },
    delete(key) {
      objects.delete(key)
      for (const index of indexes.values()) unlink(index, key)
    },
    get indexedValues() {
      return [...indexes.values()].reduce((sum, index) => sum + index.byValue.size, 0)
    },
  }
}
