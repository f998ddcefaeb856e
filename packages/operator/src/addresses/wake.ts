/** Whom a change of a lease concerns, each through an index. */
import type { AddressLease, NetworkInterface } from '@nso/api'
import { type Change, keyFor, keyOf } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { holderKeyOf, interfaceNameOf } from '../interface/holder.ts'
import { addressIndexKey, blockOf } from './lease.ts'
import type { AllocationNews } from './port.ts'

const nobody: AllocationNews = { claims: [], interfaces: [] }

/**
 * A lease that changes or goes may be missed by its holder, and by whoever lists the address. One that appears is the answer
 * to a claim's own write, unless no such claim stands, or the claim has an interface that does not list it.
 */
export function leaseNews(
  caches: Pick<Caches, 'claims' | 'interfaces'>,
  { before, after }: Change<AddressLease>,
): AllocationNews {
  const lease = before ?? after
  if (!lease) return nobody
  const key = keyFor(lease.spec.holder.claimName, lease.metadata.namespace)
  const listing = listingInterfaces(caches, lease)
  if (before) {
    return { claims: new Set([key, ...listing.flatMap((nic) => holderKeyOf(nic) ?? [])]), interfaces: listing.map(keyOf) }
  }
  const claim = caches.claims.get(key)
  const expected =
    claim?.metadata.uid === lease.spec.holder.claimUID &&
    (listing.length > 0 || !caches.interfaces.get(keyFor(interfaceNameOf(claim), claim.metadata.namespace)))
  return expected ? nobody : { claims: [key], interfaces: [] }
}

/** Interfaces that list the address of a lease, whoever holds it. */
function listingInterfaces(caches: Pick<Caches, 'interfaces'>, lease: AddressLease): readonly NetworkInterface[] {
  const block = blockOf(lease)
  return block ? caches.interfaces.by('address', addressIndexKey(lease.metadata.namespace, block)) : []
}
