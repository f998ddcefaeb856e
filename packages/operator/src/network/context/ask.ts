/**
 * What a context needs where an address service gives the ranges: one of IPv6, by a claim on the range of the network in the
 * location, and the Subnet that says so. IPv4 Subnets are made by hand there. Pure.
 */
import type { Subnet } from '@nso/api'
import { formatCidr, overlaps } from '../../addresses/cidr.ts'
import { rangeOf } from '../../addresses/subnet-range.ts'
import { advice } from '../../messages.ts'
import { isDeleting, isOwnedBy } from '../objects.ts'
import { contextClaimName, type HeldRange, type RangeRef, type RangeRequest, rangeRequest } from '../range-claim.ts'
import { familiesOf } from '../ranges.ts'
import type { Seen, ServiceSeen } from './observe.ts'
import { clash, hindranceTo, notCarried, refused, type Standing, serves, subnetFor, subnetName } from './standing.ts'

const family = 'IPv6'

export type Asking = { request: RangeRequest | undefined; standing: Standing }

/** What to ask the service for, if anything, and how the context stands before its answer. */
export function decideAsking(seen: Seen, service: ServiceSeen): Asking {
  const { context, subnets } = seen
  const { uid } = context.metadata
  const own = ownSubnet(seen)
  const families = context.spec.ipFamilies ?? []
  const isServed = families.length > 0 && families.every((each) => subnets.some((subnet) => serves(subnet, each)))
  const unasked = (hindrance?: Standing): Asking => ({
    request: undefined,
    standing: (hindrance?.state === 'refused' ? hindrance : (clash(seen) ?? hindrance)) ?? { state: 'held', any: isServed },
  })
  if (!service.className || !uid || !isAskedFor(seen)) return unasked()
  const hindrance = own ? undefined : (hindranceOfNetwork(seen, service) ?? hindranceTo(seen, family))
  if (hindrance) return unasked(hindrance)
  if (service.project.kind === 'refused') {
    return unasked({ ...refused(service.project.reason, service.project.message), retry: true })
  }
  const place = { network: context.spec.network.name, location: context.spec.location.name }
  const wanted = { name: contextClaimName(uid), className: service.className, project: service.project.project, place }
  return { request: rangeRequest(wanted), standing: clash(seen) ?? { state: 'held', any: true } }
}

/** The Subnet that was made for the context's range. */
function ownSubnet({ context, subnets }: Seen): Subnet | undefined {
  return subnets.find((subnet) => serves(subnet, family) && isOwnedBy(subnet, context))
}

/** A Subnet made by hand is the context's range, and no other is asked for. */
function isAskedFor(seen: Seen): boolean {
  const { context, network, subnets } = seen
  if (!context.spec.ipFamilies?.includes(family) || (network && network.spec.ipam.mode !== 'Auto')) return false
  return ownSubnet(seen) !== undefined || !subnets.some((subnet) => serves(subnet, family))
}

/** Without a Network beside it, as where contexts are written by hand or propagated, a context has what the service has for it. */
function hindranceOfNetwork({ network }: Seen, { isNetworkAsked }: ServiceSeen): Standing | undefined {
  if (!network) return undefined
  const { name } = network.metadata
  if (isDeleting(network)) return { state: 'waiting', on: `deletion of Network ${name}` }
  if (!familiesOf(network).includes(family)) return notCarried(name, family)
  if (isNetworkAsked && !network.status?.ipam?.ipv6PrefixRef)
    return { state: 'waiting', on: `the IPv6 prefix of Network ${name}` }
  return undefined
}

export type Answered = { create: readonly Subnet[]; standing: Standing; ref?: RangeRef }

/** What follows from the service's answer. A Subnet that stands is never changed: addresses may lie in it. */
export function settle(seen: Seen, standing: Standing, answer: Exclude<HeldRange, { kind: 'away' }>): Answered {
  const { context, network, taken } = seen
  if (answer.kind === 'refused') {
    const standing = { ...refused(answer.reason, answer.message), retry: true, againMs: answer.againMs }
    return { create: [], standing }
  }
  const { range, ref } = answer
  const own = ownSubnet(seen)
  if (own) {
    const stood = rangeOf(own)
    const isSame = stood !== undefined && formatCidr(stood) === formatCidr(range)
    return { create: [], standing: isSame ? standing : otherRange(own, formatCidr(range), ref), ref }
  }
  const other = taken.find((each) => !each.maybe && overlaps(each.range, range))
  if (other) {
    const what = `${formatCidr(range)}, the range of the context at the address service, overlaps ${other.by} of the same network`
    return { create: [], standing: refused('RangeOccupied', advice(what, 'delete or change the latter')), ref }
  }
  return { create: [subnetFor(context, network, { name: subnetName(context, family), family, range })], standing, ref }
}

function otherRange({ metadata, spec }: Subnet, range: string, { namespace, claimName }: RangeRef): Standing {
  const what = `Subnet ${metadata.name} is ${spec.startAddress}/${spec.prefixLength}, but IPClaim ${namespace}/${claimName} holds ${range}`
  return refused('AllocationFailed', advice(what, 'delete the Subnet when no interface uses it, it is made again'))
}
