/** Which units of a Subnet may be handed out: what one holder gets, what is set aside, and where the gateway is. */
import { type Block, bitsOf, blockAt, contains, countBlocks, lastOf, nthBlock, sizeOf } from './cidr.ts'

/**
 * The assignable units of one range. A unit is what one holder gets: one IPv4 address; a /96 of an IPv6 range shorter than
 * /96; one address of a longer one. One range has one unit size, so two units of a range never overlap and a unit's first
 * address names it.
 */
export type Layout = {
  readonly range: Block
  readonly unitLength: number
  /** First and last assignable unit number; `last < first` when there is none. */
  readonly first: bigint
  readonly last: bigint
  /** Unit numbers between them that are not assignable (the gateway's). */
  readonly holes: readonly bigint[]
}

/** Prefix length of what one holder gets out of a range. */
export function unitLengthOf(range: Block): number {
  return range.family === 'IPv6' && range.prefixLength < 96 ? 96 : bitsOf(range.family)
}

/**
 * What is set aside: of a range of one address (/32, /128) or two (/31: RFC 3021, /127: RFC 6164) nothing; of any other,
 * in IPv4 the network and the broadcast address, in IPv6 the first unit (it holds the subnet-router anycast address of
 * RFC 4291, 2.6.1), and in both the unit that holds the gateway.
 */
export function layoutOf(range: Block, gateway?: bigint): Layout {
  const unitLength = unitLengthOf(range)
  const units = countBlocks(range, unitLength)
  const addresses = sizeOf(range)
  if (addresses <= 2n) return { range, unitLength, first: 0n, last: units - 1n, holes: [] }
  const first = 1n
  const last = range.family === 'IPv4' ? units - 2n : units - 1n
  const hole = gateway === undefined ? undefined : unitNumber({ range, unitLength }, gateway)
  return narrowed({ range, unitLength, first, last, holes: hole === undefined ? [] : [hole] })
}

/** Every block of one length in a range, none set aside: what larger ranges are carved into. */
export function blocksOf(range: Block, unitLength: number): Layout {
  return { range, unitLength, first: 0n, last: countBlocks(range, unitLength) - 1n, holes: [] }
}

function unitNumber(of: { range: Block; unitLength: number }, address: bigint): bigint | undefined {
  if (address < of.range.start || address > lastOf(of.range)) return undefined
  return (address - of.range.start) >> BigInt(bitsOf(of.range.family) - of.unitLength)
}

function narrowed(layout: Layout): Layout {
  let { first, last } = layout
  while (layout.holes.includes(first)) first += 1n
  while (last >= first && layout.holes.includes(last)) last -= 1n
  return { ...layout, first, last, holes: layout.holes.filter((hole) => hole > first && hole < last) }
}

/** How many units of the range may be handed out at all. */
export function assignable(layout: Layout): bigint {
  return layout.last < layout.first ? 0n : layout.last - layout.first + 1n - BigInt(layout.holes.length)
}

/** The n-th unit of the range, assignable or not. */
export function unitAt(layout: Layout, n: bigint): Block {
  return nthBlock(layout.range, layout.unitLength, n)
}

/** Whether a block is exactly one assignable unit of the range. */
export function isAssignable(layout: Layout, block: Block): boolean {
  if (block.prefixLength !== layout.unitLength || !contains(layout.range, block)) return false
  const n = unitNumber(layout, block.start)
  return n !== undefined && n >= layout.first && n <= layout.last && !layout.holes.includes(n)
}

/** The unit around an address of the range. */
export function unitAround(layout: Layout, address: bigint): Block {
  return blockAt(layout.range.family, address, layout.unitLength)
}
