/**
 * What is held in each network context, as the caches know it, and what this process is about to hold.
 * An interface holds what it lists even when its lease was taken away: handing that address out again would put it on two
 * workloads. A reservation covers the time between choosing an address and the answer to its POST, so that it does not
 * matter whether the lease's events come before that answer.
 */
import type { AddressLease, NetworkInterface } from '@nso/api'
import { type Change, type Key, type KubeObject, keyOf } from 'kube-control-loop'
import type { Block } from './cidr.ts'
import { blockOf, contextKeyOf, keyOfLeaseContext, listedAddresses } from './lease.ts'
import { createOccupancy, type Occupancy } from './occupancy.ts'

export type HeldAddresses = {
  /** What is held in a context (namespace/name). */
  in(context: Key): Pick<Occupancy, 'firstFree' | 'isTaken'>
  /** Holds a unit until the returned function is called. */
  reserve(context: Key, unit: Block): () => void
  /** Reservations that stand now. */
  readonly reserved: number
}

type Source = { context: Key; blocks: readonly Block[] }

/** Follows both caches for as long as the process lives. */
export function createHeldAddresses(caches: {
  leases: Followed<AddressLease>
  interfaces: Followed<NetworkInterface>
}): HeldAddresses {
  const contexts = new Map<Key, Occupancy>()
  let reservations = 0
  let reserved = 0

  const occupancyOf = (context: Key) => {
    const occupancy = contexts.get(context) ?? createOccupancy()
    contexts.set(context, occupancy)
    return occupancy
  }
  const drop = (context: Key, source: string) => {
    const occupancy = contexts.get(context)
    occupancy?.remove(source)
    if (occupancy?.size === 0) contexts.delete(context)
  }
  follow(caches.leases, 'lease', leaseSource)
  follow(caches.interfaces, 'interface', interfaceSource)

  function follow<O extends KubeObject>(cache: Followed<O>, prefix: string, read: (object: O) => Source | undefined) {
    const take = ({ key, before, after }: Pick<Change<O>, 'key' | 'before' | 'after'>) => {
      const source = `${prefix} ${key}`
      const was = before && read(before)
      const is = after && read(after)
      if (was && was.context !== is?.context) drop(was.context, source)
      if (!is) return
      if (is.blocks.length > 0) occupancyOf(is.context).add(source, is.blocks)
      else drop(is.context, source)
    }
    cache.subscribe(take)
    for (const after of cache.values()) take({ key: keyOf(after), after })
  }

  return {
    in: (context) => contexts.get(context) ?? createOccupancy(),
    reserve(context, unit) {
      reservations += 1
      reserved += 1
      const source = `reservation ${reservations}`
      occupancyOf(context).add(source, [unit])
      let stands = true
      return () => {
        if (!stands) return
        stands = false
        reserved -= 1
        drop(context, source)
      }
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
  return block && { context: keyOfLeaseContext(lease), blocks: [block] }
}

function interfaceSource(nic: NetworkInterface): Source | undefined {
  const context = contextKeyOf(nic)
  return context === undefined ? undefined : { context, blocks: listedAddresses(nic).flatMap(({ block }) => block ?? []) }
}
