/**
 * Allocations that a claim left behind: a request whose answer was lost may land after its claim was released. They are found
 * by the claim's name, and given back once a live read says that their uid is nobody's any more.
 */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Key, keyOf, splitKey } from 'kube-control-loop'
import type { ClaimParts } from './parts.ts'

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
  const { uid } = claim.metadata
  if (uid === undefined || !parts.allocator.hasSurplus(claim, nic)) return
  const liveNic = await parts.client.find(NetworkInterface, nic.metadata, signal)
  const liveClaim = await parts.client.find(NetworkInterfaceClaim, claim.metadata, signal)
  if (liveClaim?.metadata.uid !== uid || !liveNic || liveNic.metadata.uid !== nic.metadata.uid) return
  parts.caches.interfaces.absorb(liveNic)
  const stands = parts.caches.interfaces.get(keyOf(nic))
  if (stands) await parts.allocator.releaseSurplus(liveClaim, stands, signal)
}

/**
 * Does nothing where there is nothing, which is always but after a crash or a lost answer. Interfaces are listed live first: one
 * that the cache does not show yet may list what looks like nobody's, and a retained one does so without any claim.
 */
export async function giveBackStrays(
  parts: ClaimParts,
  key: Key,
  liveUid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace } = splitKey(key)
  if (namespace === undefined || parts.allocator.strays(key, liveUid).length === 0) return
  const interfaces = await parts.client.list(NetworkInterface, { namespace }, signal)
  for (const nic of interfaces.items) parts.caches.interfaces.absorb(nic)
  const live = await parts.client.find(NetworkInterfaceClaim, { name, namespace }, signal)
  for (const uid of parts.allocator.strays(key, liveUid)) {
    if (live?.metadata.uid !== uid) await parts.allocator.releaseClaim({ namespace, name, uid }, signal)
  }
}
