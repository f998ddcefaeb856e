/** Which interfaces a change elsewhere concerns, each through an index. */
import { isDeepStrictEqual } from 'node:util'
import {
  annotations,
  contextName,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  parseDataPlaneChoice,
  type Subnet,
} from '@nso/api'
import { type Change, type Key, keyFor, keyOf, type Watch, watch } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import type { DataPlaneRegistry } from '../dataplane/registry.ts'
import { isGoing, isServing } from '../dataplane/serving.ts'
import type { DataPlanes, PlaneNews } from '../dataplane/types.ts'
import { holderKeyOf, isDeleting } from './holder.ts'

export function interfaceWatches({
  caches,
  planes,
  allocator,
}: {
  caches: Caches
  planes: DataPlaneRegistry
  allocator: Pick<AddressAllocator, 'onChange'>
}): Watch[] {
  return [
    watch(caches.interfaces, (change) => [change.key]),
    {
      subscribe: (enqueue) =>
        planes.onAttachment((key) => enqueue(key, { urgent: true, afterMs: hasClaimFirst(caches, key) ? claimFirstMs : 0 })),
    },
    watch(caches.claims, (change) => byClaim(caches, change)),
    watch(caches.networks, ({ key }) => caches.interfaces.by('network', key).map(keyOf)),
    watch(caches.contexts, (change) => byContext(caches, change)),
    { subscribe: (enqueue) => planes.onNetworkObject((key) => each(byContextKey(caches, key), enqueue)) },
    watch(caches.subnets, (change) => bySubnet(caches, change)),
    { subscribe: (enqueue) => allocator.onChange(({ interfaces }) => each(interfaces, enqueue)) },
    { subscribe: (enqueue) => planes.onPlane((news) => each(byPlane(caches, planes, news), enqueue)) },
  ]
}

const each = (keys: Iterable<Key>, enqueue: (key: Key) => void) => {
  for (const key of keys) enqueue(key)
}

/**
 * Workloads wait for the claim's status, so what the data plane reports goes there first, and its answer wakes the interface:
 * sent beside it, the interface's status would slow it down. This long it is waited for where no such answer comes.
 */
const claimFirstMs = 100

/** Whether a claim that stands will say what the attachment reports. */
function hasClaimFirst(caches: Caches, key: Key): boolean {
  const nic = caches.interfaces.get(key)
  const holder = nic && !isDeleting(nic) && holderKeyOf(nic)
  const claim = holder ? caches.claims.get(holder) : undefined
  return claim !== undefined && !isDeleting(claim)
}

/** Templates may read the claim; of its status, only the report that it has just passed on is news. */
function byClaim(caches: Caches, { key, before, after }: Change<NetworkInterfaceClaim>): Key[] {
  const read = (claim: NetworkInterfaceClaim | undefined) =>
    claim && [claim.metadata.uid, claim.metadata.labels, claim.metadata.annotations, reported(claim)]
  return isDeepStrictEqual(read(before), read(after)) ? [] : caches.interfaces.by('claim', key).map(keyOf)
}

function reported({ status }: NetworkInterfaceClaim) {
  const passedOn = (status?.conditions ?? []).filter(({ type }) => type === 'Prepared' || type === 'Programmed')
  return passedOn.map(({ type, status, reason, message }) => ({ type, status, reason, message }))
}

function byContextKey(caches: Caches, key: Key): Key[] {
  const context = caches.contexts.get(key)
  return context ? placedIn(caches, context) : []
}

/** Interfaces that are placed in this context, or were until it changed. */
export function byContext(caches: Caches, { before, after }: Change<NetworkContext>): Set<Key> {
  return new Set([before, after].flatMap((context) => (context ? placedIn(caches, context) : [])))
}

/** Templates read the subnets of a context, whatever their family. */
export function bySubnet(caches: Caches, { before, after }: Change<Subnet>): Set<Key> {
  const contexts = [before, after].flatMap((one) => (one ? [keyFor(one.spec.networkContext.name, one.metadata.namespace)] : []))
  return new Set(contexts.flatMap((key) => byContextKey(caches, key)))
}

/** By the label that says where an interface was made; the original system wrote none, and its interfaces may be anywhere. */
function placedIn(caches: Caches, { spec, metadata }: NetworkContext): Key[] {
  const network = spec.network.name
  const isPlaced = (nic: NetworkInterface) => {
    const location = nic.metadata.labels?.[labels.location]
    return location === undefined || contextName(network, location) === metadata.name
  }
  return caches.interfaces.by('network', keyFor(network, metadata.namespace)).filter(isPlaced).map(keyOf)
}

/** Interfaces that were given this plane, where that matters to them, and those that may be given one. */
export function byPlane(caches: Caches, planes: Pick<DataPlanes, 'find'>, news: PlaneNews): Key[] {
  return concernedBy(caches, planes, news).map(keyOf)
}

export function concernedBy(
  caches: Caches,
  planes: Pick<DataPlanes, 'find'>,
  { name, servedToo }: PlaneNews,
): NetworkInterface[] {
  return [...caches.interfaces.values()].filter((nic) => {
    const choice = parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])
    if (!choice || (servedToo && choice.name === name)) return true
    const plane = planes.find(choice)
    return !plane || (isGoing(plane) && !isServing(plane, nic))
  })
}
