/** Which claims a change elsewhere concerns. Every mapping goes through an index: no change wakes a whole namespace. */
import { isDeepStrictEqual } from 'node:util'
import type { NetworkContext, NetworkInterface, NetworkInterfaceClaim, ServingLocation, Subnet } from '@nso/api'
import { type Change, type Key, keyFor, keyOf, type Watch, watch } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import type { DataPlanes, PlaneNews } from '../dataplane/types.ts'
import { allocationKeyOf, holderKeyOf } from '../interface/holder.ts'
import { concernedBy } from '../interface/wake.ts'
import { currentLocation, type Places, placedIn } from './observe.ts'
import { familiesOf } from './wants.ts'

export function claimWatches(sources: Places & { planes: DataPlanes; allocator: Pick<AddressAllocator, 'onChange'> }): Watch[] {
  const { caches, planes, allocator } = sources
  return [
    watch(caches.claims, (change) => [change.key]),
    watch(caches.interfaces, (change) => byInterface(caches, change)),
    { subscribe: (enqueue) => planes.onAttachment((key) => each(byAttachment(caches, key), urgently(enqueue))) },
    { subscribe: (enqueue) => allocator.onChange(({ claims }) => each(claims, enqueue)) },
    watch(caches.contexts, (change) => byContext(sources, change)),
    watch(caches.subnets, (change) => bySubnet(sources, change)),
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
function byInterface(caches: Caches, { key, before, after }: Change<NetworkInterface>): Set<Key> {
  const keys = new Set(caches.claims.by('interface', key).map(keyOf))
  for (const nic of [before, after]) {
    const holder = nic && holderKeyOf(nic)
    if (holder) keys.add(holder)
  }
  if (before && before.metadata.uid !== after?.metadata.uid) keys.add(allocationKeyOf(before))
  return keys
}

/**
 * Who holds the interface of an attachment. While nobody does, whoever asks for it: a retained interface that is free may be seen
 * before the end of its attachment is, since the two are watched apart.
 */
export function byAttachment(caches: Caches, interfaceKey: Key): Key[] {
  const nic = caches.interfaces.get(interfaceKey)
  if (!nic) return []
  const holder = holderKeyOf(nic)
  return holder ? [holder] : caches.claims.by('interface', interfaceKey).map(keyOf)
}

/** Claims that are placed in this context, or were until it changed. */
export function byContext(sources: Places, { key, before, after }: Change<NetworkContext>): Key[] {
  const networks = new Set([before, after].flatMap((one) => (one ? [keyFor(one.spec.network.name, one.metadata.namespace)] : [])))
  const claims = [...networks].flatMap((network) => sources.caches.claims.by('network', network))
  return placedIn(sources, key, claims).map(keyOf)
}

/**
 * Claims that are placed in the subnet's context and ask for its family or its class, or have an address of its family, whose
 * gateway it tells. One that goes or changes may have made Subnets of other locations unusable: so whoever in its network was
 * turned away for that, too.
 */
export function bySubnet(sources: Places, { before, after }: Change<Subnet>): Set<Key> {
  const asking = [before, after].flatMap((subnet) => (subnet ? askingFor(sources, subnet) : []))
  return new Set([...asking, ...(before && isMoved(before, after) ? turnedAway(sources, before) : [])])
}

/** A status that is written again changes nothing for anybody else. */
const isMoved = (before: Subnet, after: Subnet | undefined): boolean =>
  after === undefined || before.metadata.uid !== after.metadata.uid || !isDeepStrictEqual(before.spec, after.spec)

function turnedAway({ caches }: Places, { spec, metadata }: Subnet): Key[] {
  const context = caches.contexts.get(keyFor(spec.networkContext.name, metadata.namespace))
  if (!context) return []
  const claims = caches.claims.by('network', keyFor(context.spec.network.name, metadata.namespace))
  return claims.filter((claim) => reasonOf(claim) === 'AddressAllocationRejected').map(keyOf)
}

const reasonOf = ({ status }: NetworkInterfaceClaim): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.reason

function askingFor(sources: Places, { spec, metadata }: Subnet): Key[] {
  const key = keyFor(spec.networkContext.name, metadata.namespace)
  const context = sources.caches.contexts.get(key)
  if (!context) return []
  const asks = (claim: NetworkInterfaceClaim) =>
    familiesOf(claim).includes(spec.ipFamily) ||
    (claim.spec.addresses ?? []).some((one) => one.class === spec.subnetClass) ||
    (claim.status?.addresses ?? []).some((one) => one.family === spec.ipFamily)
  const claims = sources.caches.claims.by('network', keyFor(context.spec.network.name, metadata.namespace))
  return placedIn(sources, key, claims.filter(asks)).map(keyOf)
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
function locationWatch(sources: Places): Watch {
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
