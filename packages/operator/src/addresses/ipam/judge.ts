/** Whether an IPClaim that stands under the wanted name is the one that the claim wants. Pure. */
import type { NetworkInterface } from '@nso/api'
import { type Key, keyOf } from 'kube-control-loop'
import type { IPClaim } from 'kube-ipam'
import { advice } from '../../messages.ts'
import { type Block, formatCidr } from '../cidr.ts'
import type { AddressRequest } from '../port.ts'
import { blockOf, isScoped, sourceOf, type Wish } from './ip-claim.ts'
import type { ServiceRefusal } from './refusals.ts'

export type Judgement =
  /** `isOwn`: made for this very claim, now or in an earlier attempt. Else an earlier one of its name had it. */
  | { readonly kind: 'ours'; readonly block: Block; readonly isOwn: boolean }
  /** Being taken away: the name is free soon. */
  | ({ readonly kind: 'going' } & ServiceRefusal)
  | ({ readonly kind: 'foreign' } & ServiceRefusal)
  /** An interface lists its address, whose IPClaim was lost: publishing it would put it on two workloads. */
  | ({ readonly kind: 'taken'; readonly by: Key } & ServiceRefusal)

/** Other interfaces. `holder`: its addresses bear this claim's name, and it has this one. `lister`: it lists such a block. */
export type Others = { readonly holder: NetworkInterface | undefined; lister(block: Block): NetworkInterface | undefined }

export function judge(
  stands: IPClaim,
  { wish, request, others: { holder, lister } }: { wish: Wish; request: AddressRequest; others: Others },
): Judgement {
  const named = `IPClaim ${keyOf(stands)} in project ${wish.project.name}`
  if (stands.metadata.deletionTimestamp !== undefined) {
    const message = advice(`${named} is being deleted`, 'wait until it is gone; the claim continues by itself')
    return { kind: 'going', reason: 'AllocationFailed', message }
  }
  const source = sourceOf(stands)
  const { name, namespace, uid } = wish.claim.metadata
  if (source && (source.claim !== name || source.namespace !== namespace)) {
    return conflict(`${named} was made for claim ${source.namespace}/${source.claim}`)
  }
  // Clusters that share the service may have namespaces and claims of the same names in one location.
  if (source?.namespaceUid && wish.namespaceUid && source.namespaceUid !== wish.namespaceUid) {
    return conflict(`${named} was made for claim ${source.namespace}/${source.claim} of another cluster or an earlier namespace`)
  }
  if (!isAskedAs(stands, request)) return conflict(`${named} was not made for ${textOf(request)}`)
  if (!isScoped(stands, wish.place)) {
    const { network, location } = wish.place
    return conflict(`${named} is not for network ${network.name} in location ${location.name}`)
  }
  if (holder) {
    const what = `${named} is held for network interface ${holder.metadata.name}`
    const next = `ask for that interface by spec.networkInterfaceName, or delete it`
    return { kind: 'foreign', reason: 'RetainedAddressConflict', message: advice(what, next) }
  }
  const block = blockOf(stands)
  const misfit = misfitOf(stands, block, request)
  if (!block || misfit) {
    const message = advice(`${named} ${misfit ?? 'holds no address'}`, 'see the conditions of the IPClaim, and delete it')
    return { kind: 'foreign', reason: 'AllocationFailed', message }
  }
  const listing = lister(block)
  if (listing) {
    const what = `The address service gave ${formatCidr(block)}, which network interface ${listing.metadata.name} lists and does not hold`
    const next = 'delete that interface; or delete this claim, and make the IPClaim of that interface again for the address'
    return { kind: 'taken', by: keyOf(listing), reason: 'AllocationFailed', message: advice(what, next) }
  }
  return { kind: 'ours', block, isOwn: source?.uid !== undefined && source.uid === uid }
}

function conflict(what: string): Judgement {
  const message = advice(what, 'delete it if nothing uses its address, or choose another name for this claim')
  return { kind: 'foreign', reason: 'RetainedAddressConflict', message }
}

function misfitOf({ status }: IPClaim, block: Block | undefined, request: AddressRequest): string | undefined {
  if (!block)
    return status?.allocatedCIDR
      ? `says that it holds ${status.allocatedCIDR.slice(0, 60)}, which is no block`
      : 'holds no address'
  if (request.family !== undefined && block.family !== request.family)
    return `holds ${formatCidr(block)}, which is no ${request.family} block`
  return undefined
}

/** The service may fill in what a claim left open, so only what was asked for is compared. */
export function isAskedAs({ spec }: Pick<IPClaim, 'spec'>, request: AddressRequest): boolean {
  if (spec.target !== undefined) return false
  return request.class === undefined ? spec.ipFamily === request.family : spec.className === request.class
}

export function textOf(request: AddressRequest): string {
  return request.class === undefined ? `the ${request.family} address` : `the address of class ${request.class}`
}
