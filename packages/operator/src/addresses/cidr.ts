/**
 * Addresses and ranges as numbers. Text is read in any spelling and written in one: RFC 5952 for IPv6, dotted decimal for
 * IPv4. An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) is the IPv4 address: it must not be a second identity of it.
 */
import type { AddressFamily } from '@nso/api'
import { Address4, Address6 } from 'ip-address'

/** A CIDR block: `start` is its first address. An address is a block of its family's full width. */
export type Block = { readonly family: AddressFamily; readonly start: bigint; readonly prefixLength: number }

/** An address as written, host bits kept, with the prefix length beside it (the full width where none was written). */
export type Written = { readonly family: AddressFamily; readonly address: bigint; readonly prefixLength: number }

const mappedPrefix = 0xffffn << 32n

export function bitsOf(family: AddressFamily): number {
  return family === 'IPv4' ? 32 : 128
}

/**
 * Remembers the last answers of a pure function: indexes and passes read the same few texts for each version of an object, and
 * reading one costs more than all else that is done with it.
 */
function remembering<R>(answer: (text: string) => R, most = 8_192): (text: string) => R {
  const known = new Map<string, R>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined || known.has(text)) return found as R
    if (known.size >= most) known.clear()
    const fresh = answer(text)
    known.set(text, fresh)
    return fresh
  }
}

/** Reads an address or CIDR; undefined when it is neither. Zones (`%eth0`) are refused: they mean nothing outside one host. */
export const readAddress: (text: string) => Written | undefined = remembering((text) => {
  const written = text.includes(':') ? read6(text) : read4(text)
  return written && unmapped(written)
})

function read4(text: string): Written | undefined {
  if (!Address4.isValid(text)) return undefined
  const read = new Address4(text)
  return { family: 'IPv4', address: read.bigInt(), prefixLength: read.subnetMask }
}

function read6(text: string): Written | undefined {
  if (text.includes('%') || !Address6.isValid(text)) return undefined
  const read = new Address6(text)
  return { family: 'IPv6', address: read.bigInt(), prefixLength: read.subnetMask }
}

function unmapped(written: Written): Written {
  const mapped = written.family === 'IPv6' && written.prefixLength >= 96 && written.address >> 32n === mappedPrefix >> 32n
  if (!mapped) return written
  return { family: 'IPv4', address: written.address - mappedPrefix, prefixLength: written.prefixLength - 96 }
}

/** Reads an address or CIDR as the block it lies in: host bits are dropped. */
export function readBlock(text: string): Block | undefined {
  const written = readAddress(text)
  return written && blockAt(written.family, written.address, written.prefixLength)
}

/** Reads the two fields in which a Subnet states its range. */
export function readRange(startAddress: string, prefixLength: number): Block | undefined {
  const written = readAddress(startAddress)
  if (!written || !Number.isInteger(prefixLength)) return undefined
  const mapped = startAddress.includes(':') && written.family === 'IPv4'
  const length = mapped && prefixLength >= 96 ? prefixLength - 96 : prefixLength
  if (length < 0 || length > bitsOf(written.family)) return undefined
  return blockAt(written.family, written.address, length)
}

/** The block of that length around an address. */
export function blockAt(family: AddressFamily, address: bigint, prefixLength: number): Block {
  const hostBits = BigInt(bitsOf(family) - prefixLength)
  return { family, start: (address >> hostBits) << hostBits, prefixLength }
}

/** How many addresses a block holds. */
export function sizeOf(block: { family: AddressFamily; prefixLength: number }): bigint {
  return 1n << BigInt(bitsOf(block.family) - block.prefixLength)
}

export function lastOf(block: Block): bigint {
  return block.start + sizeOf(block) - 1n
}

export function contains(outer: Block, inner: Block): boolean {
  return outer.family === inner.family && outer.start <= inner.start && lastOf(inner) <= lastOf(outer)
}

export function overlaps(one: Block, other: Block): boolean {
  return contains(one, other) || contains(other, one)
}

export function sameBlock(one: Block, other: Block): boolean {
  return one.family === other.family && one.start === other.start && one.prefixLength === other.prefixLength
}

/** How many blocks of a prefix length a range holds: 0 when it is smaller than one. */
export function countBlocks(range: Block, prefixLength: number): bigint {
  return prefixLength < range.prefixLength ? 0n : 1n << BigInt(prefixLength - range.prefixLength)
}

/** The n-th block (from 0) of a prefix length inside a range. Throws RangeError outside it. */
export function nthBlock(range: Block, prefixLength: number, n: bigint): Block {
  if (n < 0n || n >= countBlocks(range, prefixLength)) {
    throw new RangeError(`${formatCidr(range)} has no block number ${n} of length /${prefixLength}`)
  }
  const step = sizeOf({ family: range.family, prefixLength })
  return { family: range.family, start: range.start + n * step, prefixLength }
}

/** Canonical text of one address. */
export function formatAddress(family: AddressFamily, address: bigint): string {
  return family === 'IPv4' ? Address4.fromBigInt(address).correctForm() : format6(address.toString(16))
}

const format6 = remembering((hex) => Address6.fromBigInt(BigInt(`0x${hex}`)).correctForm())

/** Canonical CIDR text. */
export function formatCidr(block: Block): string {
  return `${formatAddress(block.family, block.start)}/${block.prefixLength}`
}

/** Canonical text for a field that holds a bare address where the block is one address, and a CIDR otherwise. */
export function formatBareOrCidr(block: Block): string {
  return block.prefixLength === bitsOf(block.family) ? formatAddress(block.family, block.start) : formatCidr(block)
}
