/**
 * Leases that a claim left behind: a POST whose answer was lost may land after its claim was released. They are found by the
 * claim's name, and given back once a live read says that their uid is nobody's any more.
 */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Key, keyOf, splitKey } from 'kube-control-loop'
import { readBlock } from '../addresses/cidr.ts'
import { addressIndexKey, holderIndexKey, listedAddresses } from '../addresses/lease.ts'
import type { Caches } from '../caches.ts'
import type { ClaimParts } from './parts.ts'

/** Uids, other than the live claim's, in whose name leases stand that no interface of this claim name lists. */
export function strayUids(caches: Caches, key: Key, liveUid: string | undefined): string[] {
  const foreign = caches.leases.by('claim', key).filter((lease) => lease.spec.holder.claimUID !== liveUid)
  if (foreign.length === 0) return []
  const { namespace } = splitKey(key)
  const nics = [...caches.interfaces.by('claim', key), ...caches.interfaces.by('allocation', key)]
  const listed = new Set(nics.flatMap(listedAddresses).flatMap(({ block }) => (block ? [addressIndexKey(namespace, block)] : [])))
  const isListed = (address: string) => {
    const block = readBlock(address)
    return block !== undefined && listed.has(addressIndexKey(namespace, block))
  }
  const kept = new Set(foreign.filter((lease) => isListed(lease.spec.address)).map((lease) => lease.spec.holder.claimUID))
  return [...new Set(foreign.map((lease) => lease.spec.holder.claimUID))].filter((uid) => !kept.has(uid))
}

/** Whether one of these interfaces lists an address, in whatever spelling. */
function lists(nics: readonly NetworkInterface[], namespace: string | undefined): (address: string) => boolean {
  const listed = new Set(nics.flatMap(listedAddresses).flatMap(({ block }) => (block ? [addressIndexKey(namespace, block)] : [])))
  return (address) => {
    const block = readBlock(address)
    return block !== undefined && listed.has(addressIndexKey(namespace, block))
  }
}

/**
 * What a claim holds beside what its interface lists: a crash, or a subnet that came and went, between allocation and
 * interface. Both are read live first: an interface that is being made anew must not lose what it will list.
 */
export async function giveBackSurplus(
  parts: ClaimParts,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, uid } = claim.metadata
  if (uid === undefined) return
  const isListed = lists([nic], namespace)
  const held = parts.caches.leases.by('holder', holderIndexKey(namespace, uid))
  if (held.every((lease) => isListed(lease.spec.address))) return
  const liveNic = await parts.client.find(NetworkInterface, nic.metadata, signal)
  const liveClaim = await parts.client.find(NetworkInterfaceClaim, claim.metadata, signal)
  if (liveClaim?.metadata.uid !== uid || !liveNic || liveNic.metadata.uid !== nic.metadata.uid) return
  parts.caches.interfaces.absorb(liveNic)
  const stands = parts.caches.interfaces.get(keyOf(nic))
  if (stands) await parts.allocator.releaseSurplus(liveClaim, stands, signal)
}

/** Does nothing where there is nothing, which is always but after a crash or a lost answer. */
export async function giveBackStrays(
  parts: ClaimParts,
  key: Key,
  liveUid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const uids = strayUids(parts.caches, key, liveUid)
  const { name, namespace } = splitKey(key)
  if (uids.length === 0 || namespace === undefined) return
  const live = await parts.client.find(NetworkInterfaceClaim, { name, namespace }, signal)
  for (const uid of uids) {
    if (live?.metadata.uid !== uid) await parts.allocator.releaseClaim({ namespace, name, uid }, signal)
  }
}
