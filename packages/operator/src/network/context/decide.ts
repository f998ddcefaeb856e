/** Which Subnets a context needs, and out of which range each is carved. Pure. */
import { type AddressFamily, finalizers, type Network, NetworkContext, Subnet } from '@nso/api'
import { apiVersionOf, keyOf } from 'kube-control-loop'
import { type Block, formatAddress, overlaps } from '../../addresses/cidr.ts'
import { privateClass, rangeOf } from '../../addresses/subnet-range.ts'
import { controllerReference, isDeleting, isOwnedBy, isTooLong, placeLabels } from '../objects.ts'
import { familiesOf, heldPrefix, ipv4RangeOf, pickSubnet, type Range, statedIpv6Range } from '../ranges.ts'
import type { Seen } from './observe.ts'

type Refused = {
  state: 'refused'
  reason: 'RangeUnsupported' | 'RangeOccupied' | 'AddressPoolExhausted' | 'AllocationFailed'
  message: string
}

export type Standing =
  | { state: 'held'; any: boolean }
  /** A watch of this controller brings what is missing. */
  | { state: 'waiting'; on: string }
  | Refused

export type Carved = { readonly subnet: Subnet; readonly range: Block }

export type Decision =
  /** Interfaces still stand; whoever holds that finalizer lets go of it. */
  | { do: 'wait'; on: string }
  | { do: 'release'; remove: readonly Subnet[] }
  | { do: 'serve'; create: readonly Carved[]; standing: Standing; holds: boolean }

export function decide(seen: Seen): Decision {
  const { context } = seen
  if (isDeleting(context)) return decideRelease(seen)
  const outcomes = lackingFamilies(seen).map((family) => carve(seen, family))
  const create = outcomes.filter((outcome): outcome is Carved => 'subnet' in outcome)
  const problem =
    outcomes.find((outcome): outcome is Refused => 'state' in outcome && outcome.state === 'refused') ??
    clash(seen) ??
    outcomes.find((outcome): outcome is Standing => 'state' in outcome && outcome.state === 'waiting')
  const any = create.length > 0 || seen.subnets.some((subnet) => !isDeleting(subnet))
  const holds = create.length > 0 || seen.subnets.some((subnet) => isOwnedBy(subnet, context))
  return { do: 'serve', create, standing: problem ?? { state: 'held', any }, holds }
}

/** The range goes after its users: first the hold of the interfaces, then the Subnets. */
function decideRelease({ context, subnets }: Seen): Decision {
  if (context.metadata.finalizers?.includes(finalizers.contextInUse)) return { do: 'wait', on: 'interfaces of the context' }
  return { do: 'release', remove: subnets.filter((subnet) => isOwnedBy(subnet, context) && !isDeleting(subnet)) }
}

/** Families without a private Subnet, where NSO is to make one. Families not known: none, since readers must not guess. */
function lackingFamilies({ context, network, subnets }: Seen): readonly AddressFamily[] {
  if (network && network.spec.ipam.mode !== 'Auto') return []
  return [...new Set(context.spec.ipFamilies ?? [])].filter((family) => !subnets.some((subnet) => serves(subnet, family)))
}

export function serves(subnet: Subnet, family: AddressFamily): boolean {
  return subnet.spec.ipFamily === family && subnet.spec.subnetClass === privateClass && !isDeleting(subnet)
}

function carve(seen: Seen, family: AddressFamily): Carved | Standing {
  const { context, network, named, taken } = seen
  const source = sourceOf(context, network, family)
  if (source.kind !== 'range') return source.standing
  const name = `${context.metadata.name}-${family.toLowerCase()}`
  if (isTooLong(name)) return refused('AllocationFailed', `No Subnet can be named ${name}: longer than 253 characters.`)
  const namesake = named(name)
  if (namesake && isDeleting(namesake)) return { state: 'waiting', on: `deletion of Subnet ${name}` }
  if (namesake) return refused('AllocationFailed', `Subnet ${name} stands, but is no private ${family} Subnet of this context.`)
  const range = pickSubnet(source.range, keyOf(context), [...taken.map((each) => each.range), ...rangesOf(seen.subnets)])
  if (range) return { subnet: subnetFor(context, network, { name, family, range }), range }
  return refused(
    'AddressPoolExhausted',
    `The ${family} range of network ${context.spec.network.name} has no free block for a Subnet.`,
  )
}

type Source = { kind: 'range'; range: Block } | { kind: 'none'; standing: Standing }

/** The range of the network out of which a family's Subnets are carved. */
function sourceOf(context: NetworkContext, network: Network | undefined, family: AddressFamily): Source {
  const { name } = context.spec.network
  const none = (standing: Standing): Source => ({ kind: 'none', standing })
  if (!network || isDeleting(network))
    return none({ state: 'waiting', on: `Network ${name}, or a ${family} Subnet made by hand` })
  if (!familiesOf(network).includes(family)) {
    return none(
      refused('AllocationFailed', `Network ${name} does not carry ${family}, and no ${family} Subnet was made by hand.`),
    )
  }
  const range = family === 'IPv4' ? ipv4RangeOf(network) : ipv6RangeOf(network)
  if (!range) return none({ state: 'waiting', on: `the IPv6 prefix of Network ${name}` })
  return range.kind === 'range' ? range : none(refused('RangeUnsupported', `Network ${name}: ${range.message}`))
}

/** What the network's status has on record, once it agrees with what the network states itself. */
function ipv6RangeOf(network: Network): Range | undefined {
  const stated = statedIpv6Range(network)
  if (stated?.kind === 'unsupported') return stated
  const held = heldPrefix(network)
  if (!held || (stated && !overlaps(stated.range, held))) return undefined
  return { kind: 'range', range: held }
}

function subnetFor(
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
function clash({ subnets, taken }: Seen): Refused | undefined {
  for (const subnet of subnets) {
    const range = rangeOf(subnet)
    const other = range && taken.find((each) => overlaps(each.range, range))
    if (other) return refused('RangeOccupied', `Subnet ${subnet.metadata.name} overlaps ${other.by} of the same network.`)
  }
  return undefined
}

function rangesOf(subnets: readonly Subnet[]): Block[] {
  return subnets.flatMap((subnet) => rangeOf(subnet) ?? [])
}

function refused(reason: Refused['reason'], message: string): Refused {
  return { state: 'refused', reason, message }
}
