/**
 * Identifiers chosen but not yet seen in the cache. They close the gap between two passes of one process: the second one
 * must not choose what the first one is writing. A crash loses them, and with them only identifiers that were never stored.
 */

/** Reservations of identifiers by the uid of their holder. A holder keeps what it reserved, so a repeated write repeats the identifier. */
export type Reservations = {
  /** What this holder has reserved in this scope. */
  held(holderUid: string, scope: string): string | undefined
  isTaken(scope: string, id: string, exceptUid: string): boolean
  /** Takes the place of what the holder had reserved before. */
  reserve(holderUid: string, scope: string, id: string): void
  /** The identifier stands in the cache now, or the holder is gone. */
  release(holderUid: string): void
  readonly size: number
}

export function createReservations(): Reservations {
  const byHolder = new Map<string, { scope: string; id: string }>()
  const holders = new Map<string, string>()
  const slot = (scope: string, id: string) => `${scope}/${id}`
  const release = (holderUid: string) => {
    const held = byHolder.get(holderUid)
    if (!held) return
    byHolder.delete(holderUid)
    holders.delete(slot(held.scope, held.id))
  }
  return {
    held(holderUid, scope) {
      const held = byHolder.get(holderUid)
      return held?.scope === scope ? held.id : undefined
    },
    isTaken(scope, id, exceptUid) {
      const holder = holders.get(slot(scope, id))
      return holder !== undefined && holder !== exceptUid
    },
    reserve(holderUid, scope, id) {
      release(holderUid)
      byHolder.set(holderUid, { scope, id })
      holders.set(slot(scope, id), holderUid)
    },
    release,
    get size() {
      return byHolder.size
    },
  }
}
