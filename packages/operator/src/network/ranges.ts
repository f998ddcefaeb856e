/**
 * Which range a network has, and how it is carved: of fd20::/20 a /48 for each network, of that a /64 for each context; of
 * the IPv4 range a /20 for each context. Pure.
 */
import type { AddressFamily, Network } from '@nso/api'
import { firstCandidate } from '../addresses/candidates.ts'
import { type Block, formatCidr, readBlock } from '../addresses/cidr.ts'
import { blocksOf } from '../addresses/layout.ts'
import { createOccupancy, type Occupancy } from '../addresses/occupancy.ts'
import { advice } from '../messages.ts'

/** Out of which networks without a range of their own get an IPv6 prefix (RFC 4193 unique local addresses). */
const ipv6Space: Block = { family: 'IPv6', start: 0xfd20n << 112n, prefixLength: 20 }
const defaultIpv4Range: Block = { family: 'IPv4', start: 0x0a800000n, prefixLength: 9 }

const networkPrefixLength = 48
const ipv6SubnetLength = 64
const ipv4SubnetLength = 20
/** A small IPv4 range is carved into sixteen, down to this. */
const smallestIpv4Subnet = 28
const sixteenth = 4

export type Range = { kind: 'range'; range: Block } | { kind: 'unsupported'; message: string }

/** The families that a network carries, each once. */
export function familiesOf(network: Network): readonly AddressFamily[] {
  return [...new Set(network.spec.ipFamilies)]
}

/** The IPv6 range that a network states itself; undefined when it leaves the choice. */
export function statedIpv6Range(network: Network): Range | undefined {
  const text = network.spec.ipam.ipv6Range
  return text ? readable('ipv6Range', 'IPv6', text, ipv6SubnetLength) : undefined
}

export function ipv4RangeOf(network: Network): Range {
  const text = network.spec.ipam.ipv4Range
  return text ? readable('ipv4Range', 'IPv4', text, smallestIpv4Subnet) : { kind: 'range', range: defaultIpv4Range }
}

function readable(field: string, family: AddressFamily, text: string, longest: number): Range {
  const range = readBlock(text)
  const unsupported = (how: string, next: string): Range => ({
    kind: 'unsupported',
    message: advice(`spec.ipam.${field} ${text} ${how}`, next),
  })
  if (range?.family !== family) return unsupported(`is no ${family} range`, 'correct it')
  if (range.prefixLength <= longest) return { kind: 'range', range }
  return unsupported('is too small', `give a range with a prefix of at most /${longest}`)
}

/** The prefix that a network holds according to its status; undefined when it says none that can be read. */
export function heldPrefix(network: Network): Block | undefined {
  const block = readBlock(network.status?.ipam?.ipv6Prefix ?? '')
  return block?.family === 'IPv6' && block.prefixLength <= ipv6SubnetLength ? block : undefined
}

/** What of a space is held. */
export type HeldBlocks = Pick<Occupancy, 'firstFree'>

/** A free /48 for a network: the same one for the same uid, unless another network holds it. Undefined: all are held. */
export function pickPrefix(uid: string, held: HeldBlocks): Block | undefined {
  return pick(ipv6Space, networkPrefixLength, uid, held)
}

/** Length of the block that one context gets out of its network's range. */
export function subnetLength(range: Block): number {
  if (range.family === 'IPv6') return Math.max(ipv6SubnetLength, range.prefixLength)
  return Math.max(range.prefixLength, Math.min(smallestIpv4Subnet, Math.max(ipv4SubnetLength, range.prefixLength + sixteenth)))
}

/** A free block for a context: the same one for the same name, unless another Subnet of the network overlaps it. */
export function pickSubnet(range: Block, contextKey: string, held: readonly Block[]): Block | undefined {
  const occupancy = createOccupancy()
  for (const block of held) occupancy.add(formatCidr(block), [block])
  return pick(range, subnetLength(range), contextKey, occupancy)
}

function pick(range: Block, length: number, who: string, held: HeldBlocks): Block | undefined {
  const layout = blocksOf(range, length)
  return held.firstFree(layout, firstCandidate(layout, who))
}
