/** What a Subnet offers: its range, what of it may be handed out, and for which requests. */
import type { Subnet } from '@nso/api'
import { type Block, bitsOf, formatAddress, overlaps, readAddress, readRange } from './cidr.ts'
import { type Layout, layoutOf, unitLengthOf } from './layout.ts'
import type { AddressRequest } from './port.ts'

/** Class of the Subnets out of which addresses of a family (not of a named class) come. */
export const privateClass = 'private'

/** The range as the status says, else as the spec says; undefined when it cannot be read. */
export function rangeOf(subnet: Subnet): Block | undefined {
  const { startAddress, prefixLength } = stated(subnet)
  return readRange(startAddress, prefixLength)
}

function stated(subnet: Subnet): { startAddress: string; prefixLength: number } {
  const { status, spec } = subnet
  return {
    startAddress: status?.startAddress || spec.startAddress,
    prefixLength: status?.prefixLength ?? spec.prefixLength,
  }
}

/**
 * The gateway of a Subnet is the address after its start. A range of two addresses or fewer has no room for one of its own,
 * and nothing is set aside in it.
 */
function gatewayNumber(subnet: Subnet): bigint | undefined {
  const range = rangeOf(subnet)
  const start = readAddress(stated(subnet).startAddress)
  if (!range || !start || range.prefixLength >= bitsOf(range.family) - 1) return undefined
  return start.address + 1n
}

/** `none`: a range of two addresses or fewer sets none aside. `unusable`: the start cannot be read, or is the last address there is. */
export type Gateway = { kind: 'address'; address: string } | { kind: 'none' } | { kind: 'unusable'; start: string }

/** The gateway as it is written into interfaces. */
export function gatewayOf(subnet: Subnet): Gateway {
  const range = rangeOf(subnet)
  const start = stated(subnet).startAddress
  if (!range) return { kind: 'unusable', start }
  const gateway = gatewayNumber(subnet)
  if (gateway === undefined) return { kind: 'none' }
  const exists = gateway >> BigInt(bitsOf(range.family)) === 0n
  return exists ? { kind: 'address', address: formatAddress(range.family, gateway) } : { kind: 'unusable', start }
}

/** The assignable units of a Subnet; undefined when its range cannot be read or is not of its family. */
export function subnetLayout(subnet: Subnet): Layout | undefined {
  const range = rangeOf(subnet)
  return range?.family === subnet.spec.ipFamily ? layoutOf(range, gatewayNumber(subnet)) : undefined
}

/**
 * The Subnets of one context that can serve a request, in an order that does not depend on the caller: older first, then by name.
 * `subnets`: all of the network, of other contexts too. One that overlaps an earlier one with another unit size is left out: the
 * names of two such units differ though they overlap.
 */
export function subnetsFor(contextName: string, request: AddressRequest, subnets: readonly Subnet[]): readonly Subnet[] {
  return usable(subnets).filter((subnet) => offers(subnet, contextName, request))
}

/** Whether a Subnet says that it is for such requests, whatever its range. */
export function offers({ spec, metadata }: Subnet, contextName: string, request: AddressRequest): boolean {
  if (spec.networkContext.name !== contextName || metadata.deletionTimestamp !== undefined) return false
  if (request.class !== undefined) return spec.subnetClass === request.class
  return spec.ipFamily === request.family && spec.subnetClass === privateClass
}

function usable(subnets: readonly Subnet[]): readonly Subnet[] {
  const accepted: { subnet: Subnet; range: Block }[] = []
  for (const subnet of subnets.filter(stands).toSorted(olderFirst)) {
    const range = rangeOf(subnet)
    if (range?.family !== subnet.spec.ipFamily) continue
    const clash = accepted.some((other) => overlaps(other.range, range) && unitLengthOf(other.range) !== unitLengthOf(range))
    if (!clash) accepted.push({ subnet, range })
  }
  return accepted.map(({ subnet }) => subnet)
}

function stands({ metadata }: Subnet): boolean {
  return metadata.deletionTimestamp === undefined
}

function olderFirst(one: Subnet, other: Subnet): number {
  const ages = (one.metadata.creationTimestamp ?? '').localeCompare(other.metadata.creationTimestamp ?? '')
  return ages || (one.metadata.name < other.metadata.name ? -1 : 1)
}
