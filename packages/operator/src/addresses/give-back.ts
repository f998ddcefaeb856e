/**
 * Gives addresses back. Callers make sure that no attachment uses them any more. Each delete carries the lease's uid, so a
 * lease that someone else has taken meanwhile stands.
 */
import type { AddressLease, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { AddressLease as leaseKind } from '@nso/api'
import { splitKey, together } from 'kube-control-loop'
import { sameBlock } from './cidr.ts'
import { addressIndexKey, blockOf, contextKeyOf, holderIndexKey, holdersOf, keyOfLeaseContext, listedAddresses } from './lease.ts'
import type { AllocatorParts, LeaseWriter } from './parts.ts'

/** All that the interface lists, whichever claim it was first allocated for, and all that its present claim holds. */
export async function releaseInterface(parts: AllocatorParts, nic: NetworkInterface, signal: AbortSignal): Promise<void> {
  const { uid } = holdersOf(nic)
  const holder = uid === undefined ? undefined : holderIndexKey(nic.metadata.namespace, uid)
  const own = holder === undefined ? [] : parts.leases.by('holder', holder)
  await removeAll(parts.interfaceWriter, new Set([...own, ...listedLeases(parts, nic)]), signal)
  if (holder !== undefined) await removeUnanswered(parts, parts.interfaceWriter, holder, signal)
}

/** Leases at the listed addresses, in the interface's context if it is known, that stand in the name of one of its claims. */
function listedLeases({ leases }: AllocatorParts, nic: NetworkInterface): readonly AddressLease[] {
  const { names } = holdersOf(nic)
  const context = contextKeyOf(nic)
  return listedAddresses(nic)
    .flatMap(({ block }) => (block ? leases.by('address', addressIndexKey(nic.metadata.namespace, block)) : []))
    .filter((lease) => names.has(lease.spec.holder.claimName))
    .filter((lease) => context === undefined || keyOfLeaseContext(lease) === context)
}

export async function releaseClaim(
  parts: AllocatorParts,
  claim: { namespace: string; uid: string },
  signal: AbortSignal,
): Promise<void> {
  const holder = holderIndexKey(claim.namespace, claim.uid)
  await removeAll(parts.claimWriter, parts.leases.by('holder', holder), signal)
  await removeUnanswered(parts, parts.claimWriter, holder, signal)
}

export async function releaseSurplus(
  parts: AllocatorParts,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
  signal: AbortSignal,
): Promise<void> {
  const listed = listedAddresses(nic).flatMap(({ block }) => block ?? [])
  const isListed = (lease: AddressLease) => {
    const block = blockOf(lease)
    return block !== undefined && listed.some((each) => sameBlock(each, block))
  }
  const own = parts.leases.by('holder', holderIndexKey(claim.metadata.namespace, claim.metadata.uid ?? ''))
  await removeAll(
    parts.claimWriter,
    own.filter((lease) => !isListed(lease)),
    signal,
  )
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
