/**
 * What a status writer remembers per object: what its last applies wanted and left standing. Bounded: the oldest memory goes
 * first, at worst a theft is not told.
 */
import type { Key, KubeObject } from './kind.ts'
import { orderOfVersions } from './resource-version.ts'
import { differingPaths, type OwnForm } from './status-intent.ts'

type Last = { uid: string | undefined; resourceVersion: string | undefined; form: OwnForm; wanted: OwnForm | undefined }

export type StatusMemory = {
  /** Keeps what stands after an own apply of `wanted`. */
  remember(key: Key, object: KubeObject, form: OwnForm, wanted: OwnForm): void
  /**
   * Whether the same intent was applied before to what stands: it differs only in what an apply cannot change (a seed that
   * nobody owns, a value that the server normalises), and applying it again would write for ever.
   */
  isApplied(key: Key, object: KubeObject, form: OwnForm, wanted: OwnForm): boolean
  /** Paths that changed since, though not by us: the object is newer than our last apply and its own part differs. */
  takenSince(key: Key, object: KubeObject, form: OwnForm): string[]
  /** An apply of `wanted` got no certain answer: it may have landed, and then what it left is ours. Until the next that did. */
  unanswered(key: Key, object: KubeObject, wanted: OwnForm): void
  /** What the last of these applies wanted. */
  lastUnanswered(key: Key, object: KubeObject): OwnForm | undefined
  /** What stands is known now, though it is not of our making: it is not told again. */
  accept(key: Key, object: KubeObject, form: OwnForm): void
  forget(key: Key): void
  clear(): void
}

function setBounded<V>(map: Map<Key, V>, key: Key, value: V, limit: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= limit) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    break
  }
}

/** So many applies in a row without an answer are remembered for one object. */
const mostLost = 8

export function createStatusMemory(limit = 20_000): StatusMemory {
  const last = new Map<Key, Last>()
  const lost = new Map<Key, { uid: string | undefined; forms: readonly OwnForm[] }>()
  const remember = (key: Key, object: KubeObject, form: OwnForm, wanted: OwnForm | undefined) => {
    const { uid, resourceVersion } = object.metadata
    lost.delete(key)
    setBounded(last, key, { uid, resourceVersion, form, wanted }, limit)
  }
  const lostFormsOf = (key: Key, { metadata: { uid } }: KubeObject): readonly OwnForm[] => {
    const known = lost.get(key)
    return known !== undefined && known.uid === uid ? known.forms : []
  }
  return {
    remember,
    isApplied(key, object, form, wanted) {
      const known = last.get(key)
      if (!known?.wanted || known.uid !== object.metadata.uid) return false
      return differingPaths(known.form, form).length === 0 && differingPaths(known.wanted, wanted).length === 0
    },
    takenSince(key, object, form) {
      const known = last.get(key)
      if (!known || known.uid !== object.metadata.uid) return []
      if (orderOfVersions(object.metadata.resourceVersion, known.resourceVersion) !== 'newer') return []
      const forms = lostFormsOf(key, object)
      return differingPaths(known.form, form).filter((path) => !forms.some((each) => each.get(path) === form.get(path)))
    },
    unanswered(key, object, wanted) {
      const forms = [...lostFormsOf(key, object), wanted].slice(-mostLost)
      setBounded(lost, key, { uid: object.metadata.uid, forms }, limit)
    },
    lastUnanswered: (key, object) => lostFormsOf(key, object).at(-1),
    accept: (key, object, form) => remember(key, object, form, undefined),
    forget(key) {
      last.delete(key)
      lost.delete(key)
    },
    clear() {
      last.clear()
      lost.clear()
    },
  }
}
