/** What the caches tell of who holds which lease. No request. */
import type { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Key, splitKey } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { readBlock } from './cidr.ts'
import {
  addressIndexKey,
  holderIndexKey,
  isHolder,
  keyOfLeaseNetwork,
  type ListedAddress,
  listedAddresses,
  networkKeyOf,
} from './lease.ts'

/** Uids, other than the live claim's, in whose name leases stand that no interface of this claim name lists and nobody has deleted yet. */
export function strayUids(
  caches: Pick<Caches, 'leases' | 'interfaces'>,
  key: Key,
  liveUid: string | undefined,
): readonly string[] {
  const foreign = caches.leases
    .by('claim', key)
    .filter(({ spec, metadata }) => spec.holder.claimUID !== liveUid && metadata.deletionTimestamp === undefined)
  if (foreign.length === 0) return []
  const nics = [...caches.interfaces.by('claim', key), ...caches.interfaces.by('allocation', key)]
  const isListed = lists(nics, splitKey(key).namespace)
  const kept = new Set(foreign.filter((lease) => isListed(lease.spec.address)).map((lease) => lease.spec.holder.claimUID))
  return [...new Set(foreign.map((lease) => lease.spec.holder.claimUID))].filter((uid) => !kept.has(uid))
}

/** Whether a claim holds a lease that its interface does not list. */
export function hasSurplus(
  { leases }: Pick<Caches, 'leases'>,
  { metadata: { namespace, uid } }: NetworkInterfaceClaim,
  nic: NetworkInterface,
): boolean {
  if (uid === undefined) return false
  const isListed = lists([nic], namespace)
  return leases.by('holder', holderIndexKey(namespace, uid)).some((lease) => !isListed(lease.spec.address))
}

/** Whether each of these addresses is held, in the interface's network, in the name of one of its claims. */
export function holdsAll(
  { leases }: Pick<Caches, 'leases'>,
  nic: NetworkInterface,
  addresses: readonly ListedAddress[],
): boolean {
  const network = networkKeyOf(nic)
  return addresses.every(
    ({ block }) =>
      block !== undefined &&
      leases
        .by('address', addressIndexKey(nic.metadata.namespace, block))
        .some((lease) => keyOfLeaseNetwork(lease) === network && isHolder(nic, lease.spec.holder)),
  )
}

/** Whether one of these interfaces lists an address, in whatever spelling. */
function lists(nics: readonly NetworkInterface[], namespace: string | undefined): (address: string) => boolean {
  const listed = new Set(nics.flatMap(listedAddresses).flatMap(({ block }) => (block ? [addressIndexKey(namespace, block)] : [])))
  return (address) => {
    const block = readBlock(address)
    return block !== undefined && listed.has(addressIndexKey(namespace, block))
  }
}
