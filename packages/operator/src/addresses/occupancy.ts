/**
 * Which addresses of one network are taken, and by how many. Fed by leases, interfaces and reservations, each under its
 * own source name; an address is free only when its last source has gone.
 */
import { type Block, lastOf } from './cidr.ts'
import { createIntervals, type Intervals } from './intervals.ts'
import { type Layout, unitAround, unitAt } from './layout.ts'

export type Occupancy = {
  /** `source` names one record; adding it again replaces what it held. Answers the blocks that no record holds any more. */
  add(source: string, blocks: readonly Block[]): readonly Block[]
  remove(source: string): readonly Block[]
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

/** The blocks of one family and length, which are equal or disjoint, each with how many records hold it. */
type Layer = { readonly records: Map<bigint, number>; readonly taken: Intervals }

/** `intervals`: how the numbers of one layer are kept. */
export function createOccupancy(intervals: () => Intervals = createIntervals): Occupancy {
  const bySource = new Map<string, readonly Block[]>()
  const layers = { IPv4: new Map<number, Layer>(), IPv6: new Map<number, Layer>() }

  const hold = (block: Block) => {
    const lengths = layers[block.family]
    const layer = lengths.get(block.prefixLength) ?? { records: new Map<bigint, number>(), taken: intervals() }
    lengths.set(block.prefixLength, layer)
    const records = layer.records.get(block.start) ?? 0
    layer.records.set(block.start, records + 1)
    if (records === 0) layer.taken.add(block.start, lastOf(block))
  }

  /** Answers whether that was the last record of it. */
  const release = (block: Block): boolean => {
    const lengths = layers[block.family]
    const layer = lengths.get(block.prefixLength)
    if (!layer) return false
    const left = (layer.records.get(block.start) ?? 1) - 1
    if (left > 0) layer.records.set(block.start, left)
    else {
      layer.records.delete(block.start)
      layer.taken.remove(block.start, lastOf(block))
    }
    if (layer.records.size === 0) lengths.delete(block.prefixLength)
    return left <= 0
  }

  const remove = (source: string): readonly Block[] => {
    const freed = (bySource.get(source) ?? []).filter(release)
    bySource.delete(source)
    return freed
  }

  /** The furthest number up to which everything from `block` on is known to be taken; undefined: all of the block is free. */
  const takenUpTo = (block: Block): bigint | undefined => {
    let furthest: bigint | undefined
    for (const { taken } of layers[block.family].values()) {
      const last = taken.meets(block.start, lastOf(block))
      if (last !== undefined && (furthest === undefined || last > furthest)) furthest = last
    }
    return furthest
  }

  return {
    add(source, blocks) {
      const before = remove(source)
      if (blocks.length === 0) return before
      bySource.set(source, blocks)
      for (const block of blocks) hold(block)
      return before.filter((block) => !layers[block.family].get(block.prefixLength)?.records.has(block.start))
    },
    remove,
    get size() {
      return bySource.size
    },
    isTaken: (block) => takenUpTo(block) !== undefined,
    firstFree(layout, from) {
      if (layout.last < layout.first) return undefined
      const start = from < layout.first || from > layout.last ? layout.first : from
      return (
        freeBetween(layout, takenUpTo, { first: start, last: layout.last }) ??
        freeBetween(layout, takenUpTo, { first: layout.first, last: start - 1n })
      )
    },
  }
}

type TakenUpTo = (block: Block) => bigint | undefined

function freeBetween(layout: Layout, taken: TakenUpTo, units: { first: bigint; last: bigint }): Block | undefined {
  let n = units.first
  while (n <= units.last) {
    const unit = unitAt(layout, n)
    const last = taken(unit)
    if (last === undefined) {
      if (!layout.holes.includes(n)) return unit
      n += 1n
    } else {
      if (last >= lastOf(layout.range)) return undefined
      n += (unitAround(layout, last).start - unit.start) / (lastOf(unit) - unit.start + 1n) + 1n
    }
  }
  return undefined
}
