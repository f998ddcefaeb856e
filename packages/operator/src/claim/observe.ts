/** Reads everything a pass over a claim decides on into one plain value. Caches only: no request, no write. */
import {
  contextName,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  type Subnet,
} from '@nso/api'
import { type Key, keyFor, keyOf } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { isGoing, isServing } from '../dataplane/serving.ts'
import type { CompiledPlane, DataPlanes } from '../dataplane/types.ts'
import { holdOf, interfaceNameOf } from '../interface/holder.ts'
import { planeOf } from '../interface/report.ts'
import { type Location, locationOf } from './location.ts'

export type Seen = {
  claim: NetworkInterfaceClaim
  location: Location
  /** The network's presence in this location, by name; undefined while the location is not known. */
  context: NetworkContext | undefined
  /** Subnets of the context, by name. */
  subnets: readonly Subnet[]
  /** The interface of the claim's interface name, whoever holds it. */
  nic: NetworkInterface | undefined
  /** The plane that the interface was given, or the one it would be given now. */
  plane: CompiledPlane | undefined
  /** The plane that would begin to serve the interface, so that it must be able to; undefined when one does already. */
  candidate: CompiledPlane | undefined
  /** Some data plane still has an attachment of that name. */
  attached: boolean
}

/** What tells where interfaces are placed. */
export type Places = { caches: Caches; location: string | undefined }

export function observe(sources: Places & { planes: DataPlanes }, claim: NetworkInterfaceClaim): Seen {
  const { caches, planes } = sources
  const nic = caches.interfaces.get(keyFor(interfaceNameOf(claim), claim.metadata.namespace))
  const location = placeOf(nic, claim) ?? currentLocation(sources)
  const contextKey = contextKeyAt(location, claim)
  const context = contextKey === undefined ? undefined : caches.contexts.get(contextKey)
  const plane = nic ? planeOf(nic, planes) : undefined
  const place = location.kind === 'known' ? location.name : undefined
  return {
    claim,
    location,
    context,
    subnets: context ? subnetsOf(caches, context) : [],
    nic,
    plane: plane ?? (place && !nic ? planes.choose(place) : undefined),
    candidate: candidateFor(nic, plane, place === undefined ? undefined : planes.prospect(place)),
    attached: nic !== undefined && plane?.attachments?.get(keyOf(nic)) !== undefined,
  }
}

/** Who has an attachment keeps it; a free interface is asked about anew, since its next claim may ask for more than its last. */
function candidateFor(
  nic: NetworkInterface | undefined,
  plane: CompiledPlane | undefined,
  prospect: CompiledPlane | undefined,
): CompiledPlane | undefined {
  if (!nic) return prospect
  if (plane && isGoing(plane) && !isServing(plane, nic)) return prospect
  if (plane) return nic.spec.claimRef ? undefined : plane
  return nic.status?.attachmentRef ? undefined : prospect
}

/**
 * An interface stays where it was made, whatever locations are delivered later; so does one that nobody holds, whose addresses
 * are held in its own location's network context.
 */
function placeOf(nic: NetworkInterface | undefined, claim: NetworkInterfaceClaim): Location | undefined {
  const hold = nic && holdOf(nic, claim)
  const name = hold === 'ours' || hold === 'free' ? nic?.metadata.labels?.[labels.location] : undefined
  return name ? { kind: 'known', name } : undefined
}

function contextKeyAt(location: Location, { spec, metadata }: NetworkInterfaceClaim): Key | undefined {
  return location.kind === 'known' ? keyFor(contextName(spec.network.name, location.name), metadata.namespace) : undefined
}

/** Those of the claims that are placed in this network context. */
export function placedIn(
  sources: Places,
  contextKey: Key,
  claims: readonly NetworkInterfaceClaim[],
): readonly NetworkInterfaceClaim[] {
  const current = currentLocation(sources)
  return claims.filter((claim) => {
    const nic = sources.caches.interfaces.get(keyFor(interfaceNameOf(claim), claim.metadata.namespace))
    return contextKeyAt(placeOf(nic, claim) ?? current, claim) === contextKey
  })
}

/** Where claims are placed now, unless their interface tells. */
export function currentLocation(sources: Places): Location {
  const delivered = [...sources.caches.servingLocations.values()].map((one) => one.metadata.name)
  return locationOf(delivered, sources.location)
}

/** In a stable order, so that every reader meets the same first subnet of a family. */
export function subnetsOf(caches: Caches, context: NetworkContext): readonly Subnet[] {
  const found = caches.subnets.by('context', keyFor(context.metadata.name, context.metadata.namespace))
  return [...found].filter((one) => one.metadata.deletionTimestamp === undefined).sort(byName)
}

const byName = (a: Subnet, b: Subnet) => (a.metadata.name < b.metadata.name ? -1 : 1)
