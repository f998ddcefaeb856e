/**
 * What is held in each network, as the caches know it, and what this process is about to hold.
 * An interface holds what it lists even when its lease was taken away: handing that address out again would put it on two
 * workloads. A reservation covers the time between choosing an address and the answer to its POST, so that it does not
 * matter whether the lease's events come before that answer.
 */
import type { AddressFamily, AddressLease, NetworkInterface } from '@nso/api'
import { type Change, type Key, type KubeObject, keyOf } from 'kube-control-loop'
import type { Block } from './cidr.ts'
import { blockOf, keyOfLeaseNetwork, listedAddresses, networkKeyOf } from './lease.ts'
import { createOccupancy, type Occupancy } from './occupancy.ts'

export type HeldAddresses = {
  /** What is held in a network (namespace/name), whichever of its contexts it is held in. */
  in(network: Key): Pick<Occupancy, 'firstFree' | 'isTaken'>
  /** Holds a unit until the returned function is called; `isNews`: whether that is told where nothing else holds it. */
  reserve(network: Key, unit: Block): (isNews: boolean) => void
  /** Tells of each address that nothing holds any more, until the returned function is called. */
  onFreed(listener: (network: Key, family: AddressFamily) => void): () => void
  /** Reservations that stand now. */
  readonly reserved: number
}

type Source = { network: Key; blocks: readonly Block[] }

/** Follows both caches for as long as the process lives. */
export function createHeldAddresses(caches: {
  leases: Followed<AddressLease>
  interfaces: Followed<NetworkInterface>
}): HeldAddresses {
  const networks = new Map<Key, Occupancy>()
  const listeners = new Set<(network: Key, family: AddressFamily) => void>()
  let reservations = 0
  let reserved = 0

  const occupancyOf = (network: Key) => {
    const occupancy = networks.get(network) ?? createOccupancy()
    networks.set(network, occupancy)
    return occupancy
  }
  const drop = (network: Key, source: string): readonly Block[] => {
    const occupancy = networks.get(network)
    const freed = occupancy?.remove(source) ?? []
    if (occupancy?.size === 0) networks.delete(network)
    return freed
  }
  const tell = (network: Key, freed: readonly Block[]) => {
    for (const family of new Set(freed.map((block) => block.family))) {
      for (const listener of listeners) listener(network, family)
    }
  }
  follow(caches.leases, 'lease', leaseSource)
  follow(caches.interfaces, 'interface', interfaceSource)

  function follow<O extends KubeObject>(cache: Followed<O>, prefix: string, read: (object: O) => Source | undefined) {
    const take = ({ key, before, after }: Pick<Change<O>, 'key' | 'before' | 'after'>) => {
      const source = `${prefix} ${key}`
      const was = before && read(before)
      const is = after && read(after)
      if (was && was.network !== is?.network) tell(was.network, drop(was.network, source))
      if (!is) return
      const freed = is.blocks.length > 0 ? occupancyOf(is.network).add(source, is.blocks) : drop(is.network, source)
      tell(is.network, freed)
    }
    cache.subscribe(take)
    for (const after of cache.values()) take({ key: keyOf(after), after })
  }

  return {
    in: (network) => networks.get(network) ?? createOccupancy(),
    reserve(network, unit) {
      reservations += 1
      reserved += 1
      const source = `reservation ${reservations}`
      occupancyOf(network).add(source, [unit])
      let stands = true
      return (isNews) => {
        if (!stands) return
        stands = false
        reserved -= 1
        const freed = drop(network, source)
        if (isNews) tell(network, freed)
      }
    },
    onFreed(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    get reserved() {
      return reserved
    },
  }
}

/** The part of a cache that is followed here. */
type Followed<O> = { values(): Iterable<O>; subscribe(handler: (change: Change<O>) => void): unknown }

function leaseSource(lease: AddressLease): Source | undefined {
  const block = blockOf(lease)
  return block && { network: keyOfLeaseNetwork(lease), blocks: [block] }
}

function interfaceSource(nic: NetworkInterface): Source {
  return { network: networkKeyOf(nic), blocks: listedAddresses(nic).flatMap(({ block }) => block ?? []) }
}
