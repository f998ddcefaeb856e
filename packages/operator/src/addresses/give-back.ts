/**
 * Gives addresses back. Callers make sure that no attachment uses them any more. Each delete carries the lease's uid, so a
 * lease that someone else has taken meanwhile stands.
 */
import type { AddressLease, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { AddressLease as leaseKind } from '@nso/api'
import { keyFor, splitKey, together } from 'kube-control-loop'
import {
  addressIndexKey,
  holderIndexKey,
  holdersOf,
  keyOfLeaseNetwork,
  listedAddresses,
  networkKeyOf,
  unlistedBy,
} from './lease.ts'
import type { AllocatorParts, LeaseWriter } from './parts.ts'
import type { ReleasedClaim } from './port.ts'

/** All that the interface lists, whichever claim it was first allocated for, and all that its present claim holds. */
export async function releaseInterface(parts: AllocatorParts, nic: NetworkInterface, signal: AbortSignal): Promise<void> {
  const { uid } = holdersOf(nic)
  const holder = uid === undefined ? undefined : holderIndexKey(nic.metadata.namespace, uid)
  const own = holder === undefined ? [] : parts.leases.by('holder', holder)
  await removeAll(parts.interfaceWriter, new Set([...own, ...listedLeases(parts, nic)]), signal)
  if (holder !== undefined) await removeUnanswered(parts, parts.interfaceWriter, holder, signal)
}

/** Leases at the listed addresses, in the interface's network, that stand in the name of one of its claims. */
function listedLeases({ leases }: AllocatorParts, nic: NetworkInterface): readonly AddressLease[] {
  const { names } = holdersOf(nic)
  const network = networkKeyOf(nic)
  return listedAddresses(nic)
    .flatMap(({ block }) => (block ? leases.by('address', addressIndexKey(nic.metadata.namespace, block)) : []))
    .filter((lease) => names.has(lease.spec.holder.claimName))
    .filter((lease) => keyOfLeaseNetwork(lease) === network)
}

export async function releaseClaim(parts: AllocatorParts, claim: ReleasedClaim, signal: AbortSignal): Promise<void> {
  const holder = holderIndexKey(claim.namespace, claim.uid)
  parts.waiting.end(keyFor(claim.name, claim.namespace))
  await removeAll(parts.claimWriter, parts.leases.by('holder', holder), signal)
  await removeUnanswered(parts, parts.claimWriter, holder, signal)
}

export async function releaseSurplus(
  parts: AllocatorParts,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
  signal: AbortSignal,
): Promise<void> {
  const own = parts.leases.by('holder', holderIndexKey(claim.metadata.namespace, claim.metadata.uid ?? ''))
  await removeAll(parts.claimWriter, unlistedBy(nic, own), signal)
}

async function removeAll(
  writer: Pick<LeaseWriter, 'remove'>,
  leases: Iterable<AddressLease>,
  signal: AbortSignal,
): Promise<void> {
  await together([...leases].map((lease) => writer.remove(lease, signal)))
}

/** A POST whose answer was lost may have left a lease that no event has told of yet: only a live read knows. */
async function removeUnanswered(
  { client, posting, leases }: AllocatorParts,
  writer: Pick<LeaseWriter, 'remove'>,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  for (const key of posting.unanswered(holder)) {
    const live = await client.find(leaseKind, splitKey(key), signal)
    if (!live || holderIndexKey(live.metadata.namespace, live.spec.holder.claimUID) !== holder) continue
    leases.absorb(live)
    await writer.remove(live, signal)
  }
  posting.forget(holder)
}
