/** Reads everything a pass over an interface decides on into one plain value. Caches only. */
import {
  contextName,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  type Subnet,
} from '@nso/api'
import { keyFor } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import { currentLocation, subnetsOf } from '../claim/observe.ts'
import { isServing } from '../dataplane/serving.ts'
import type { CompiledPlane, DataPlanes } from '../dataplane/types.ts'
import { holderKeyOf, holdOf } from './holder.ts'
import { planeOf } from './report.ts'
import { editedAway } from './told.ts'

export type Seen = {
  nic: NetworkInterface
  /** Somebody else changed the addresses, and the claim controller is about to put them back. */
  edited: boolean
  /** The very claim that holds the interface, while it exists. */
  claim: NetworkInterfaceClaim | undefined
  location: string | undefined
  context: NetworkContext | undefined
  subnets: readonly Subnet[]
  /** The plane that the interface was given. */
  plane: CompiledPlane | undefined
  /** Whether that plane has, had, or may have an attachment of it. */
  served: boolean
  /** The plane that it would be given now. */
  offer: CompiledPlane | undefined
}

export type Sources = {
  caches: Caches
  planes: DataPlanes
  allocator: Pick<AddressAllocator, 'holds'>
  location: string | undefined
}

export function observe(sources: Sources, nic: NetworkInterface): Seen {
  const { caches, planes, allocator } = sources
  const location = locationOf(sources, nic)
  const context = location
    ? caches.contexts.get(keyFor(contextName(nic.spec.network.name, location), nic.metadata.namespace))
    : undefined
  const holder = holderKeyOf(nic)
  const found = holder ? caches.claims.get(holder) : undefined
  const claim = found && holdOf(nic, found) === 'ours' ? found : undefined
  const plane = planeOf(nic, planes)
  return {
    nic,
    claim,
    edited: claim !== undefined && editedAway(allocator, claim, nic) !== undefined,
    location,
    context,
    subnets: context ? subnetsOf(caches, context) : [],
    plane,
    served: plane !== undefined && isServing(plane, nic),
    offer: location ? planes.choose(location) : undefined,
  }
}

/** An interface stays where it was made: its label wins. The original system wrote no label; its interfaces are here. */
function locationOf(sources: Sources, nic: NetworkInterface): string | undefined {
  const labelled = nic.metadata.labels?.[labels.location]
  if (labelled) return labelled
  const here = currentLocation(sources)
  return here.kind === 'known' ? here.name : undefined
}
