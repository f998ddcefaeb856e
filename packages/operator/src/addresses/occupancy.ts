/**
 * Which addresses of one network context are taken, and by whom. Fed by leases, interfaces and reservations, each under its
 * own source name; an address is free only when its last source has gone.
 */
import { type Block, contains, formatCidr, lastOf, overlaps } from './cidr.ts'
import { createIntervals, type Intervals } from './intervals.ts'
import { type Layout, unitAround, unitAt } from './layout.ts'

export type Occupancy = {
  /** `source` names one record; adding it again replaces what it held. */
  add(source: string, blocks: readonly Block[]): void
  remove(source: string): void
  /** Number of records. */
  readonly size: number
  /** Whether any record holds any address of the block. */
  isTaken(block: Block): boolean
  /**
   * The first free assignable unit at or after number `from`, then from the first one on. Undefined: the range is exhausted.
   * Takes one step per run of taken units, never one per unit.
   */
  firstFree(layout: Layout, from: bigint): Block | undefined
}

type Taken = { readonly block: Block; readonly sources: Set<string> }

export function createOccupancy(): Occupancy {
  const bySource = new Map<string, readonly Block[]>()
  const byBlock = new Map<string, Taken>()
  const union = { IPv4: createIntervals(), IPv6: createIntervals() }
  const lengths = new Map<number, number>()

  const hold = (source: string, block: Block) => {
    const name = formatCidr(block)
    const taken = byBlock.get(name) ?? { block, sources: new Set<string>() }
    if (taken.sources.size === 0) {
      byBlock.set(name, taken)
      lengths.set(block.prefixLength, (lengths.get(block.prefixLength) ?? 0) + 1)
      union[block.family].add(block.start, lastOf(block))
    }
    taken.sources.add(source)
  }

  const release = (source: string, block: Block) => {
    const name = formatCidr(block)
    const taken = byBlock.get(name)
    if (!taken?.sources.delete(source) || taken.sources.size > 0) return
    byBlock.delete(name)
    const left = (lengths.get(block.prefixLength) ?? 1) - 1
    if (left > 0) lengths.set(block.prefixLength, left)
    else lengths.delete(block.prefixLength)
    union[block.family].remove(block.start, lastOf(block))
    restoreOverlapping(block)
  }

  /** Blocks of one length are equal or disjoint: only records of another length can still hold a part of what was freed. */
  const restoreOverlapping = (freed: Block) => {
    if (lengths.size === 0 || (lengths.size === 1 && lengths.has(freed.prefixLength))) return
    for (const { block } of byBlock.values()) {
      if (!overlaps(block, freed)) continue
      const still = contains(freed, block) ? block : freed
      union[freed.family].add(still.start, lastOf(still))
    }
  }

  const remove = (source: string) => {
    for (const block of bySource.get(source) ?? []) release(source, block)
    bySource.delete(source)
  }

  return {
    add(source, blocks) {
      remove(source)
      if (blocks.length === 0) return
      bySource.set(source, blocks)
      for (const block of blocks) hold(source, block)
    },
    remove,
    get size() {
      return bySource.size
    },
    isTaken: (block) => union[block.family].meets(block.start, lastOf(block)) !== undefined,
    firstFree(layout, from) {
      if (layout.last < layout.first) return undefined
      const start = from < layout.first || from > layout.last ? layout.first : from
      const taken = union[layout.range.family]
      return (
        freeBetween(layout, taken, { first: start, last: layout.last }) ??
        freeBetween(layout, taken, { first: layout.first, last: start - 1n })
      )
    },
  }
}

function freeBetween(layout: Layout, taken: Intervals, units: { first: bigint; last: bigint }): Block | undefined {
  let n = units.first
  while (n <= units.last) {
    const unit = unitAt(layout, n)
    const takenUpTo = taken.meets(unit.start, lastOf(unit))
    if (takenUpTo === undefined) {
      if (!layout.holes.includes(n)) return unit
      n += 1n
    } else {
      if (takenUpTo >= lastOf(layout.range)) return undefined
      n += (unitAround(layout, takenUpTo).start - unit.start) / (lastOf(unit) - unit.start + 1n) + 1n
    }
  }
  return undefined
}
