/** From allocations and Subnets to the addresses that an interface lists. Pure. */
import type { AddressFamily, ExternalAddress, InterfaceAddress, NetworkInterface, Subnet } from '@nso/api'
import { contains, formatBareOrCidr, readBlock } from '../addresses/cidr.ts'
import type { AllocatedAddress } from '../addresses/port.ts'
import { gatewayOf, privateClass, rangeOf } from '../addresses/subnet-range.ts'
import { advice } from '../messages.ts'
import type { Seen } from './observe.ts'
import { familiesOf, type Rejection } from './wants.ts'

/**
 * A Subnet of a wanted family whose start gives no gateway: nothing is allocated beside it, and what was published stays. One of
 * a class that the claim does not ask for gives it no address, and so no gateway.
 */
export function unusableGateway({ claim, subnets }: Pick<Seen, 'claim' | 'subnets'>): Rejection | undefined {
  const families = familiesOf(claim)
  const classes = [privateClass, ...(claim.spec.addresses ?? []).map((one) => one.class)]
  for (const subnet of subnets) {
    const gateway = gatewayOf(subnet)
    if (gateway.kind !== 'unusable' || !families.includes(subnet.spec.ipFamily)) continue
    if (!classes.includes(subnet.spec.subnetClass)) continue
    const message = advice(
      `Subnet ${subnet.metadata.name} gives no ${subnet.spec.ipFamily} gateway, since there is no address after "${gateway.start}"`,
      'correct the start address of the Subnet',
    )
    return { reason: 'SubnetGatewayUnusable', message }
  }
  return undefined
}

/** Gateway for one address: of the subnet it lies in, else of the first private subnet of its family, else of the first. */
function gatewayFor(subnets: readonly Subnet[], family: AddressFamily, cidr: string): string | undefined {
  const block = readBlock(cidr)
  const candidates = subnets.filter((subnet) => subnet.spec.ipFamily === family)
  const around = candidates.find((subnet) => {
    const range = rangeOf(subnet)
    return block !== undefined && range !== undefined && contains(range, block)
  })
  const subnet = around ?? candidates.find((one) => one.spec.subnetClass === privateClass) ?? candidates[0]
  const gateway = subnet && gatewayOf(subnet)
  return gateway?.kind === 'address' ? gateway.address : undefined
}

/** What a new interface lists. The claim's first family is primary. */
export function publishedAddresses(
  seen: Pick<Seen, 'claim' | 'subnets'>,
  allocated: readonly AllocatedAddress[],
): { addresses: InterfaceAddress[]; externalAddresses: ExternalAddress[] } {
  const inner = allocated.filter((one) => !one.external)
  const addresses = inner.map((one) => {
    const gateway = gatewayFor(seen.subnets, one.family, one.cidr)
    return {
      family: one.family,
      address: one.cidr,
      ...(gateway === undefined ? {} : { gateway }),
      ...(one.family === familiesOf(seen.claim)[0] ? { primary: true } : {}),
      ...(one.request.class === undefined ? {} : { class: one.request.class }),
    }
  })
  const externalAddresses = allocated.filter((one) => one.external).map(externalAddress)
  return { addresses, externalAddresses }
}

/** External addresses are stored bare where the allocation is one address. */
function externalAddress(one: AllocatedAddress): ExternalAddress {
  const block = readBlock(one.cidr)
  return { family: one.family, address: block ? formatBareOrCidr(block) : one.cidr, class: one.request.class ?? '' }
}

/** The addresses of an existing interface with gateways and the primary flag as they should be; addresses never change. */
export function addressesInStep({ claim, subnets }: Seen, nic: NetworkInterface): InterfaceAddress[] | undefined {
  const primary = familiesOf(claim)[0]
  return nic.spec.addresses?.map((one) => {
    const { gateway: stored, primary: flag, ...rest } = one
    const gateway = gatewayFor(subnets, one.family, one.address) ?? stored
    return {
      ...rest,
      ...(gateway === undefined ? {} : { gateway }),
      ...(one.family === primary ? { primary: true } : flag === undefined ? {} : { primary: false }),
    }
  })
}
