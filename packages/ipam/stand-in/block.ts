/** Ranges of addresses as numbers, and the first free block of one. Text is canonical: RFC 5952 for IPv6, dotted decimal for IPv4. */
import { Address4, Address6 } from 'ip-address'

export type Family = 'IPv4' | 'IPv6'

/** `start` is the first address. */
export type Block = { readonly family: Family; readonly start: bigint; readonly prefixLength: number }

const bitsOf = (family: Family): number => (family === 'IPv4' ? 32 : 128)

export const sizeOf = ({ family, prefixLength }: Pick<Block, 'family' | 'prefixLength'>): bigint =>
  1n << BigInt(bitsOf(family) - prefixLength)

export const endOf = (block: Block): bigint => block.start + sizeOf(block)

export const contains = (outer: Block, inner: Block): boolean =>
  outer.family === inner.family && outer.start <= inner.start && endOf(inner) <= endOf(outer)

export const overlaps = (one: Block, other: Block): boolean => contains(one, other) || contains(other, one)

/** An address or CIDR as the block that it lies in; undefined where it is neither. */
export function readBlock(text: string): Block | undefined {
  const family = text.includes(':') ? 'IPv6' : 'IPv4'
  const Address = family === 'IPv6' ? Address6 : Address4
  if (text.includes('%') || !Address.isValid(text)) return undefined
  const read = new Address(text)
  const hostBits = BigInt(bitsOf(family) - read.subnetMask)
  return { family, start: (read.bigInt() >> hostBits) << hostBits, prefixLength: read.subnetMask }
}

/** Throws RangeError where there is none: for texts of a pool or an allocation, which somebody else may have written. */
export function requireBlock(text: string): Block {
  const block = readBlock(text)
  if (!block) throw new RangeError(`${text} is no range of addresses`)
  return block
}

export function formatBlock({ family, start, prefixLength }: Block): string {
  const address = family === 'IPv4' ? Address4.fromBigInt(start) : Address6.fromBigInt(start)
  return `${address.correctForm()}/${prefixLength}`
}

/** Blocks at the start of a range that are never given. */
export type Reserved = { leading: number; unitPrefixLength: number }

export type Room = { range: Block; taken: Iterable<Block>; reserved?: Reserved | undefined }

/** Where in the range the first address is that may be given. */
export function firstGiven({ range, reserved }: Pick<Room, 'range' | 'reserved'>): bigint {
  if (!reserved) return range.start
  return range.start + BigInt(reserved.leading) * sizeOf({ family: range.family, prefixLength: reserved.unitPrefixLength })
}

/** The lowest block of that length in which nothing is taken or reserved; undefined where the range is full or too small. */
export function firstFree(room: Room, prefixLength: number): Block | undefined {
  const { range, taken } = room
  if (prefixLength < range.prefixLength || prefixLength > bitsOf(range.family)) return undefined
  const size = sizeOf({ family: range.family, prefixLength })
  const aligned = (address: bigint) => ((address + size - 1n) / size) * size
  let start = aligned(firstGiven(room))
  const inOrder = [...taken].filter((block) => overlaps(block, range)).sort((a, b) => (a.start < b.start ? -1 : 1))
  for (const block of inOrder) {
    if (start + size <= block.start) break
    if (endOf(block) > start) start = aligned(endOf(block))
  }
  return start + size <= endOf(range) ? { family: range.family, start, prefixLength } : undefined
}
