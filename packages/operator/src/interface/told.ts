/**
 * What a claim was told, against what its interface lists. Addresses of an interface never move, so a difference was made by
 * somebody else; while all that was told is held for it, that is what stands. Caches only.
 */
import type { ExternalAddress, InterfaceAddress, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { formatCidr } from '../addresses/cidr.ts'
import { listedAddresses } from '../addresses/lease.ts'
import type { AddressAllocator } from '../addresses/port.ts'
import { holdOf } from './holder.ts'

export type Told = { addresses?: InterfaceAddress[]; externalAddresses?: ExternalAddress[] }

/** What the claim's status says of this very interface; undefined when it says nothing. */
export function toldOf({ status }: NetworkInterfaceClaim, nic: NetworkInterface): Told | undefined {
  const { addresses, externalAddresses } = status ?? {}
  if (status?.networkInterfaceRef?.name !== nic.metadata.name || !(addresses ?? externalAddresses)) return undefined
  return { ...(addresses ? { addresses } : {}), ...(externalAddresses ? { externalAddresses } : {}) }
}

/** What the interface is to list again; undefined when it lists what its claim was told, or when that is not held any more. */
export function editedAway(
  allocator: Pick<AddressAllocator, 'holds'>,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
): Told | undefined {
  const told = holdOf(nic, claim) === 'ours' ? toldOf(claim, nic) : undefined
  if (!told) return undefined
  const wanted = listedAs(nic, told)
  if (texts(wanted) === texts(listedAddresses(nic))) return undefined
  return allocator.holds(nic, wanted) ? told : undefined
}

/** Whether the interface lists other addresses than the claim was told of it. */
export function isOtherThanTold(claim: NetworkInterfaceClaim, nic: NetworkInterface): boolean {
  const told = toldOf(claim, nic)
  return told !== undefined && texts(listedAs(nic, told)) !== texts(listedAddresses(nic))
}

function listedAs(nic: NetworkInterface, told: Told) {
  return listedAddresses({ ...nic, spec: { ...nic.spec, addresses: [], externalAddresses: [], ...told } })
}

/** A list of addresses as one text, whatever their order and spelling. */
function texts(listed: ReturnType<typeof listedAddresses>): string {
  const each = listed.map(({ block, text, request }) => [request.family, request.class, block ? formatCidr(block) : text])
  return JSON.stringify(each.map((one) => JSON.stringify(one)).sort())
}
