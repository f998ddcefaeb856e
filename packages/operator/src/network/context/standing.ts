/** How it stands with the Subnets of a context, and the Subnet that is made for it. Pure. */
import { type AddressFamily, type Network, NetworkContext, Subnet } from '@nso/api'
import { apiVersionOf } from 'kube-control-loop'
import { type Block, formatAddress, overlaps } from '../../addresses/cidr.ts'
import type { RefusalReason } from '../../addresses/port.ts'
import { privateClass, rangeOf } from '../../addresses/subnet-range.ts'
import { advice } from '../../messages.ts'
import { controllerReference, isDeleting, isTooLong, placeLabels } from '../objects.ts'
import type { Seen } from './observe.ts'

export type Refused = {
  state: 'refused'
  reason: 'RangeUnsupported' | 'RangeOccupied' | RefusalReason
  message: string
  /** Nothing that is watched tells when it would be otherwise. */
  retry?: boolean
  /** When, where the address service refused; else after the whole time of a refusal. */
  againMs?: number
}

export type Standing =
  | { state: 'held'; any: boolean }
  /** A watch of this controller brings what is missing. */
  | { state: 'waiting'; on: string }
  | Refused

/** Whether new interfaces may have addresses of the family out of it. */
export function serves(subnet: Subnet, family: AddressFamily): boolean {
  return subnet.spec.ipFamily === family && subnet.spec.subnetClass === privateClass && !isDeleting(subnet)
}

/** Name of the Subnet that NSO makes for a family of a context; it may be too long for an object. */
export function subnetName(context: NetworkContext, family: AddressFamily): string {
  return `${context.metadata.name}-${family.toLowerCase()}`
}

/** Of which context a Subnet has the name that NSO gives; undefined: of none. */
export function contextNameIn(subnetName: string): string | undefined {
  return /^(.+)-ipv[46]$/.exec(subnetName)?.[1]
}

/** Why no Subnet of the family can be made under its name; undefined: one can. */
export function hindranceTo({ context, named }: Pick<Seen, 'context' | 'named'>, family: AddressFamily): Standing | undefined {
  const name = subnetName(context, family)
  if (isTooLong(name))
    return refused(
      'AllocationFailed',
      advice(`No Subnet can be named ${name}, longer than 253 characters`, `make an ${family} Subnet by hand`),
    )
  const namesake = named(name)
  if (namesake && isDeleting(namesake)) return { state: 'waiting', on: `deletion of Subnet ${name}` }
  if (namesake)
    return refused(
      'AllocationFailed',
      advice(`Subnet ${name} stands, but is no private ${family} Subnet of this context`, 'delete it, or correct its spec'),
    )
  return undefined
}

/** The Subnet that is POSTed: owned by the context, so that what a crash leaves goes with it. */
export function subnetFor(
  context: NetworkContext,
  network: Network | undefined,
  { name, family, range }: { name: string; family: AddressFamily; range: Block },
): Subnet {
  const { namespace } = context.metadata
  const place = { network: context.spec.network.name, location: context.spec.location.name }
  return {
    apiVersion: apiVersionOf(Subnet),
    kind: Subnet.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: placeLabels({ ...place, networkUid: network?.metadata.uid }),
      ownerReferences: [controllerReference(NetworkContext, context)],
    },
    spec: {
      subnetClass: privateClass,
      networkContext: { name: context.metadata.name },
      location: { name: place.location },
      ipFamily: family,
      startAddress: formatAddress(family, range.start),
      prefixLength: range.prefixLength,
    },
  }
}

/** Two Subnets of a network in two locations must not share an address; one made by hand may. It is told, and nothing moves. */
export function clash({ subnets, taken }: Seen): Refused | undefined {
  for (const subnet of subnets) {
    const range = rangeOf(subnet)
    const others = taken.flatMap((each) => (!each.maybe && range && overlaps(each.range, range) ? [each.by] : []))
    // The same one each time, whatever order a cache has them in; one that stands before one that is about to.
    const other = others.sort().at(-1)
    if (other)
      return refused(
        'RangeOccupied',
        advice(`Subnet ${subnet.metadata.name} overlaps ${other} of the same network`, 'change the range of one of them'),
      )
  }
  return undefined
}

/** A refusal: the context asks for a family that its network does not have. */
export function notCarried(network: string, family: AddressFamily): Refused {
  const what = `Network ${network} does not carry ${family}, and no ${family} Subnet was made by hand`
  return refused('AllocationFailed', advice(what, 'add the family to the network, or make the Subnet'))
}

export function refused(reason: Refused['reason'], message: string): Refused {
  return { state: 'refused', reason, message }
}
