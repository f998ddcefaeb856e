/** Chooses an address for each request of a claim, or says why one of them cannot be served. Writes nothing. */
import type { AddressFamily, AddressLease, NetworkContext, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { advice, few } from '../messages.ts'
import { firstCandidate } from './candidates.ts'
import { type Block, formatCidr } from './cidr.ts'
import { blockOf, holderText, isFor, type LeaseHolder } from './lease.ts'
import type { Occupancy } from './occupancy.ts'
import type { AddressRequest, Allocation } from './port.ts'
import { offers, privateClass, rangeOf, subnetLayout, subnetsFor } from './subnet-range.ts'

export type Refusal = Extract<Allocation, { kind: 'refused' }>

export type Choice =
  /** A lease of this holder stands already: after a crash, or for an interface that is made again. */
  | { kind: 'held'; request: AddressRequest; lease: AddressLease; unit: Block }
  | { kind: 'free'; request: AddressRequest; holder: LeaseHolder; subnet: string; unit: Block }

export type Wish = {
  claim: NetworkInterfaceClaim & { metadata: { uid: string } }
  context: NetworkContext
  /** Of all contexts of the network that are known; those of `context` serve. */
  subnets: readonly Subnet[]
  request: AddressRequest
}

/** One request. `own`: the leases that this claim (uid) holds. */
export function choose(wish: Wish, own: readonly AddressLease[], held: Pick<Occupancy, 'firstFree'>): Choice | Refusal {
  return standing(wish, own) ?? fresh(wish, held)
}

/**
 * A lease of the holder in this context counts even outside the present ranges: an address that a workload may use does
 * not move because its Subnet shrank. Of several, always the same one; the others are surplus.
 */
function standing({ context, request }: Wish, own: readonly AddressLease[]): Choice | undefined {
  const fitting = own
    .filter((lease) => isFor(lease, request) && lease.spec.networkContext.name === context.metadata.name)
    .filter((lease) => lease.metadata.deletionTimestamp === undefined)
    .toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
  for (const lease of fitting) {
    const unit = blockOf(lease)
    if (unit) return { kind: 'held', request, lease, unit }
  }
  return undefined
}

function fresh(wish: Wish, held: Pick<Occupancy, 'firstFree'>): Choice | Refusal {
  const { claim, request } = wish
  const subnets = offering(wish)
  if (!Array.isArray(subnets)) return subnets
  const holder: LeaseHolder = { claimName: claim.metadata.name, claimUID: claim.metadata.uid, request }
  for (const subnet of subnets) {
    const layout = subnetLayout(subnet)
    const unit = layout && held.firstFree(layout, firstCandidate(layout, holderText(holder)))
    if (unit) return { kind: 'free', request, holder, subnet: subnet.metadata.name, unit }
  }
  const ranges = few(subnets.map((subnet) => `${subnet.metadata.name} (${rangeText(subnet)})`))
  return refused(
    'AddressPoolExhausted',
    advice(
      `Every address of ${what(request)} is held, with no room in Subnet ${ranges}`,
      'delete claims and retained interfaces that are not used, or add a Subnet',
    ),
  )
}

function offering({ claim, context, subnets, request }: Wish): Subnet[] | Refusal {
  const found = subnetsFor(context.metadata.name, request, subnets)
  const place = `NetworkContext ${context.metadata.name}`
  if (found.length === 0) {
    const unfit = subnets.find((subnet) => offers(subnet, context.metadata.name, request))
    if (unfit) return refused('AddressAllocationRejected', unfitAdvice(unfit))
    const kind =
      request.class === undefined ? `${request.family} Subnet of class ${privateClass}` : `Subnet of class ${request.class}`
    return refused('AddressAllocationRejected', advice(`${place} has no ${kind}`, 'make one, then the claim is served'))
  }
  if (request.class === undefined) return [...found]
  const carried = found.filter((subnet) => familiesOf(claim).includes(subnet.spec.ipFamily))
  if (carried.length > 0) return carried
  const offered = [...new Set(found.map((subnet) => subnet.spec.ipFamily))].join(', ')
  return refused(
    'AddressAllocationRejected',
    advice(
      `Class ${request.class} in ${place} offers ${offered}, which is none of the claim's families (${familiesOf(claim).join(', ')})`,
      'ask for another class or family with a new claim',
    ),
  )
}

function unfitAdvice({ metadata: { name } }: Subnet): string {
  return advice(
    `Subnet ${name} hands out no address, since its range cannot be read or an older Subnet of the network with units of another size overlaps it`,
    'make a Subnet with a range of its own',
  )
}

function familiesOf(claim: NetworkInterfaceClaim): readonly AddressFamily[] {
  return claim.spec.ipFamilies ?? ['IPv6']
}

function rangeText(subnet: Subnet): string {
  const range = rangeOf(subnet)
  return range ? formatCidr(range) : 'unreadable'
}

function what(request: AddressRequest): string {
  return request.class === undefined ? `family ${request.family}` : `class ${request.class}`
}

function refused(reason: Refusal['reason'], message: string): Refusal {
  return { kind: 'refused', reason, message }
}
