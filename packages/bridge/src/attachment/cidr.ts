/** Addresses and ranges as text, checked and in one form. */
import { BlockList, isIP, SocketAddress } from 'node:net'

export type Family = 'IPv4' | 'IPv6'

export type Cidr = {
  readonly family: Family
  /** As written, host bits kept, in canonical form (RFC 5952). */
  readonly address: string
  /** The first address of the range, in canonical form. */
  readonly network: string
  readonly length: number
}

const word = { IPv4: 'ipv4', IPv6: 'ipv6' } as const
const bits = { IPv4: 32, IPv6: 128 } as const

export function familyOf(address: string): Family | undefined {
  const is = isIP(address)
  return is === 4 ? 'IPv4' : is === 6 ? 'IPv6' : undefined
}

/** One form for each address, so that texts of two origins can be compared; undefined for what is no address. Zones are none. */
export function canonicalAddress(text: string): string | undefined {
  const family = familyOf(text)
  if (!family || text.includes('%')) return undefined
  return new SocketAddress({ address: text, family: word[family] }).address
}

/** Reads `address/length`; undefined where it is not of that form. */
export function parseCidr(text: string): Cidr | undefined {
  const [, written = '', digits = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? []
  const family = familyOf(written)
  const address = canonicalAddress(written)
  const length = Number(digits)
  if (!family || address === undefined || length > bits[family]) return undefined
  return { family, address, network: networkOf(family, address, length), length }
}

/** Whether an address lies in a range; one of another family does not. */
export function contains({ family, network, length }: Cidr, address: string): boolean {
  if (familyOf(address) !== family) return false
  const range = new BlockList()
  range.addSubnet(network, length, word[family])
  return range.check(address, word[family])
}

function networkOf(family: Family, address: string, length: number): string {
  const host = BigInt(bits[family] - length)
  const value = (numberOf(family, address) >> host) << host
  const text = family === 'IPv4' ? dotted(value) : grouped(value)
  return canonicalAddress(text) ?? text
}

function numberOf(family: Family, address: string): bigint {
  if (family === 'IPv4') return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
  return expanded(address).reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

/** The eight groups of a canonical IPv6 address; its last 32 bits may be written as IPv4 (RFC 5952, section 5). */
function expanded(address: string): string[] {
  const plain = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const pair = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16)
    return `${pair(a, b)}:${pair(c, d)}`
  })
  const [before = '', after] = plain.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  if (after === undefined) return groups(before)
  const [head, tail] = [groups(before), groups(after)]
  return [...head, ...new Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
}

const dotted = (value: bigint) => [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
const grouped = (value: bigint) =>
  Array.from({ length: 8 }, (_, group) => ((value >> BigInt(16 * (7 - group))) & 0xffffn).toString(16)).join(':')
