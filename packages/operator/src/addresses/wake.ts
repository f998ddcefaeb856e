/** Whom a change of a lease concerns, each through an index. */
import type { AddressLease, NetworkInterface } from '@nso/api'
import { type Change, keyFor, keyOf } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { holderKeyOf, interfaceNameOf } from '../interface/holder.ts'
import { addressIndexKey, blockOf } from './lease.ts'
import type { AllocationNews } from './port.ts'

const nobody: AllocationNews = { claims: [], interfaces: [] }

/**
 * Who lists the address of a lease may miss it, or have missed it. Its holder's own writes are no news: a lease that appears or
 * goes while the claim that holds it has no interface. Else it may be a stray or surplus.
 */
export function leaseNews(
  caches: Pick<Caches, 'claims' | 'interfaces'>,
  { before, after }: Change<AddressLease>,
): AllocationNews {
  const lease = before ?? after
  if (!lease) return nobody
  const key = keyFor(lease.spec.holder.claimName, lease.metadata.namespace)
  const listing = listingInterfaces(caches, lease)
  const claims = new Set(listing.flatMap((nic) => holderKeyOf(nic) ?? []))
  const claim = caches.claims.get(key)
  const isOwn =
    claim?.metadata.uid === lease.spec.holder.claimUID &&
    (listing.length > 0 || !caches.interfaces.get(keyFor(interfaceNameOf(claim), claim.metadata.namespace)))
  if (!isOwn || (before && after)) claims.add(key)
  return { claims, interfaces: listing.map(keyOf) }
}

/** Interfaces that list the address of a lease, whoever holds it. */
function listingInterfaces(caches: Pick<Caches, 'interfaces'>, lease: AddressLease): readonly NetworkInterface[] {
  const block = blockOf(lease)
  return block ? caches.interfaces.by('address', addressIndexKey(lease.metadata.namespace, block)) : []
}
