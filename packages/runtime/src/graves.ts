/**
 * Deleted uids that may still be heard of: in the answer of a write that is in flight, or in watch events that lag behind an
 * own delete. Remembered no longer than that, so the memory ends with the writes.
 */
import type { Key } from './kind.ts'

export type Graves = {
  /** Marks a write in flight until the returned function is called (once; again does nothing). */
  writing(key: Key): () => void
  isWriting(key: Key): boolean
  /** The uid is gone. `watchKnows`: a DELETED event or a list told so, hence no older event can follow. */
  bury(key: Key, uid: string, watchKnows: boolean): void
  has(key: Key, uid: string | undefined): boolean
  /** A list showed these uids: everything else that was buried is known to the watch too. */
  listed(uids: ReadonlySet<string>): void
  /** Keys with anything remembered. */
  readonly size: number
}

export function createGraves(): Graves {
  const inFlight = new Map<Key, number>()
  /** Key → uid → whether the watch knows. */
  const graves = new Map<Key, Map<string, boolean>>()

  const tidy = (key: Key) => {
    const uids = graves.get(key)
    if (!uids || inFlight.has(key)) return
    for (const [uid, watchKnows] of uids) if (watchKnows) uids.delete(uid)
    if (uids.size === 0) graves.delete(key)
  }

  return {
    writing(key) {
      inFlight.set(key, (inFlight.get(key) ?? 0) + 1)
      let over = false
      return () => {
        if (over) return
        over = true
        const left = (inFlight.get(key) ?? 1) - 1
        if (left > 0) inFlight.set(key, left)
        else inFlight.delete(key)
        tidy(key)
      }
    },
    isWriting: (key) => inFlight.has(key),
    bury(key, uid, watchKnows) {
      const uids = graves.get(key) ?? new Map<string, boolean>()
      graves.set(key, uids)
      uids.set(uid, watchKnows)
      tidy(key)
    },
    has: (key, uid) => uid !== undefined && graves.get(key)?.has(uid) === true,
    listed(present) {
      for (const [key, uids] of graves) {
        for (const uid of uids.keys()) if (!present.has(uid)) uids.set(uid, true)
        tidy(key)
      }
    },
    get size() {
      return new Set([...graves.keys(), ...inFlight.keys()]).size
    },
  }
}
