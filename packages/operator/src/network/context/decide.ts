/** Which Subnets a context needs, and out of which range each is carved. Pure. */
import { type AddressFamily, finalizers, type Network, type NetworkContext, type Subnet } from '@nso/api'
import { keyOf } from 'kube-control-loop'
import { type Block, overlaps } from '../../addresses/cidr.ts'
import { rangeOf } from '../../addresses/subnet-range.ts'
import { advice } from '../../messages.ts'
import { isDeleting, isOwnedBy } from '../objects.ts'
import type { RangeRequest } from '../range-claim.ts'
import { familiesOf, heldPrefix, ipv4RangeOf, pickSubnet, type Range, statedIpv6Range } from '../ranges.ts'
import { decideAsking } from './ask.ts'
import type { Seen } from './observe.ts'
import {
  clash,
  hindranceTo,
  notCarried,
  type Refused,
  refused,
  type Standing,
  serves,
  subnetFor,
  subnetName,
} from './standing.ts'

export type Carved = { readonly subnet: Subnet; readonly range: Block }

export type Decision =
  /** Interfaces still stand; whoever holds that finalizer lets go of it. */
  | { do: 'wait'; on: string }
  | { do: 'release'; remove: readonly Subnet[] }
  | {
      do: 'serve'
      create: readonly Carved[]
      /** What an address service is to be asked for; the standing is what holds beside it. */
      request?: RangeRequest | undefined
      standing: Standing
      holds: boolean
    }

export function decide(seen: Seen): Decision {
  const { context } = seen
  if (isDeleting(context)) return decideRelease(seen)
  const made = seen.subnets.some((subnet) => isOwnedBy(subnet, context))
  if (seen.service) {
    const asking = decideAsking(seen, seen.service)
    return { do: 'serve', create: [], ...asking, holds: made || asking.request !== undefined }
  }
  const outcomes = lackingFamilies(seen).map((family) => carve(seen, family))
  const create = outcomes.filter((outcome): outcome is Carved => 'subnet' in outcome)
  const problem =
    outcomes.find((outcome): outcome is Refused => 'state' in outcome && outcome.state === 'refused') ??
    clash(seen) ??
    outcomes.find((outcome): outcome is Standing => 'state' in outcome && outcome.state === 'waiting')
  const any = create.length > 0 || seen.subnets.some((subnet) => !isDeleting(subnet))
  return { do: 'serve', create, standing: problem ?? { state: 'held', any }, holds: made || create.length > 0 }
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

function carve(seen: Seen, family: AddressFamily): Carved | Standing {
  const { context, network, taken } = seen
  const source = sourceOf(context, network, family)
  if (source.kind !== 'range') return source.standing
  const name = subnetName(context, family)
  const hindrance = hindranceTo(seen, family)
  if (hindrance) return hindrance
  const range = pickSubnet(source.range, keyOf(context), [...taken.map((each) => each.range), ...rangesOf(seen.subnets)])
  if (range) return { subnet: subnetFor(context, network, { name, family, range }), range }
  return refused(
    'AddressPoolExhausted',
    advice(
      `The ${family} range of network ${context.spec.network.name} has no free block for a Subnet`,
      'widen the range of the network, or delete Subnets that are not used',
    ),
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
    return none(notCarried(name, family))
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

function rangesOf(subnets: readonly Subnet[]): Block[] {
  return subnets.flatMap((subnet) => rangeOf(subnet) ?? [])
}
