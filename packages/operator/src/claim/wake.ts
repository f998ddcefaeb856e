/** Which claims a change elsewhere concerns. Every mapping goes through an index: no change wakes a whole namespace. */
import type { NetworkContext, NetworkInterface, NetworkInterfaceClaim, ServingLocation, Subnet } from '@nso/api'
import { type Change, type Key, keyFor, keyOf, type Watch, watch } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import type { DataPlanes, PlaneNews } from '../dataplane/types.ts'
import { allocationKeyOf, holderKeyOf } from '../interface/holder.ts'
import { concernedBy } from '../interface/wake.ts'
import { currentLocation } from './observe.ts'
import { familiesOf } from './wants.ts'

export function claimWatches(sources: {
  caches: Caches
  planes: DataPlanes
  allocator: Pick<AddressAllocator, 'onChange'>
  location: string | undefined
}): Watch[] {
  const { caches, planes, allocator } = sources
  return [
    watch(caches.claims, (change) => [change.key]),
    watch(caches.interfaces, (change) => byInterface(caches, change)),
    { subscribe: (enqueue) => planes.onAttachment((key) => each(holdersOf(caches, key), urgently(enqueue))) },
    { subscribe: (enqueue) => allocator.onChange(({ claims }) => each(claims, enqueue)) },
    watch(caches.contexts, (change) => byContext(caches, change)),
    watch(caches.subnets, (change) => bySubnet(caches, change)),
    locationWatch(sources),
    {
      subscribe: (enqueue) =>
        planes.onPlane((news) => {
          each(unsupported(caches), urgently(enqueue))
          each(byPlane(caches, planes, news), enqueue)
        }),
    },
  ]
}

/** A report is what users wait for. */
const urgently = (enqueue: (key: Key, options: { urgent: boolean }) => void) => (key: Key) => enqueue(key, { urgent: true })

const each = (keys: Iterable<Key>, enqueue: (key: Key) => void) => {
  for (const key of keys) enqueue(key)
}

/**
 * Who holds the interface, who held it before, and who asks for an interface of that name. When it is gone, also the claim in
 * whose name its addresses were held: a retained interface that another claim took leaves leases that nobody else looks for.
 */
export function byInterface(caches: Caches, { key, before, after }: Change<NetworkInterface>): Set<Key> {
  const keys = new Set(caches.claims.by('interface', key).map(keyOf))
  for (const nic of [before, after]) {
    const holder = nic && holderKeyOf(nic)
    if (holder) keys.add(holder)
  }
  if (before && before.metadata.uid !== after?.metadata.uid) keys.add(allocationKeyOf(before))
  return keys
}

function holdersOf(caches: Caches, interfaceKey: Key): Key[] {
  const nic = caches.interfaces.get(interfaceKey)
  const holder = nic && holderKeyOf(nic)
  return holder ? [holder] : []
}

export function byContext(caches: Caches, { before, after }: Change<NetworkContext>): Key[] {
  const context = after ?? before
  return context ? caches.claims.by('network', keyFor(context.spec.network.name, context.metadata.namespace)).map(keyOf) : []
}

/** Claims of the subnet's network that ask for its family, or for a class. */
export function bySubnet(caches: Caches, { before, after }: Change<Subnet>): Key[] {
  const subnet = after ?? before
  const context = subnet && caches.contexts.get(keyFor(subnet.spec.networkContext.name, subnet.metadata.namespace))
  if (!context) return []
  const concerned = (claim: NetworkInterfaceClaim) =>
    familiesOf(claim).includes(subnet.spec.ipFamily) || (claim.spec.addresses ?? []).length > 0
  return caches.claims.by('network', keyFor(context.spec.network.name, context.metadata.namespace)).filter(concerned).map(keyOf)
}

/** Holders of the interfaces that a plane concerns. */
export function byPlane(caches: Caches, planes: Pick<DataPlanes, 'find'>, news: PlaneNews): Set<Key> {
  return new Set(concernedBy(caches, planes, news).flatMap((nic) => holderKeyOf(nic) ?? []))
}

/** Claims that were rejected for what a plane does not offer. */
export function unsupported(caches: Caches): Key[] {
  return caches.claims.by('unsupported', '').map(keyOf)
}

/** The identity of the location concerns every claim, and moves only with the set of ServingLocations. */
function locationWatch(sources: { caches: Caches; location: string | undefined }): Watch {
  return {
    subscribe(enqueue) {
      let last = JSON.stringify(currentLocation(sources))
      return sources.caches.servingLocations.subscribe((_: Change<ServingLocation>) => {
        const now = JSON.stringify(currentLocation(sources))
        if (now === last) return
        last = now
        for (const claim of sources.caches.claims.values()) enqueue(keyOf(claim))
      })
    },
  }
}
