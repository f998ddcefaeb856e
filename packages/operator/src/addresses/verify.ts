/** Whether each address of a live interface is held for it. A lease that is merely gone is made again under the same name. */
import type { NetworkContext, NetworkInterface, Subnet } from '@nso/api'
import { keyFor } from 'kube-control-loop'
import { advice } from '../messages.ts'
import { type Block, contains, sameBlock } from './cidr.ts'
import { blockOf, holderToBe, isHolder, type ListedAddress, leaseFor, listedAddresses } from './lease.ts'
import { leaseName } from './lease-name.ts'
import type { AllocatorParts } from './parts.ts'
import type { AddressAllocator, Verification } from './port.ts'
import { refusedByServer } from './refused.ts'
import { rangeOf } from './subnet-range.ts'

type Asked = { nic: NetworkInterface; context: NetworkContext | undefined; listed: ListedAddress }
type Problem = Exclude<Verification, { kind: 'standing' }>

export async function verify(
  parts: AllocatorParts,
  { interface: nic, context, subnets }: Parameters<AddressAllocator['verify']>[0],
  signal: AbortSignal,
): Promise<Verification> {
  const all = listedAddresses(nic)
  for (const listed of all) {
    const problem = await ensureHeld(parts, { nic, context, listed }, signal)
    if (problem) return problem
  }
  const outOfRange = context ? all.filter(({ block }) => !isInRange(block, subnets)).map(({ text }) => text) : []
  return outOfRange.length > 0 ? { kind: 'standing', outOfRange } : { kind: 'standing' }
}

/** Subnets shrink, are replaced and go; what is held stays held, and is given to nobody when the range grows back. */
function isInRange(block: Block | undefined, subnets: readonly Subnet[]): boolean {
  return subnets.some((subnet) => {
    const range = rangeOf(subnet)
    return block !== undefined && range !== undefined && contains(range, block)
  })
}

/** Answers what is wrong, or nothing. Never moves the interface to another address. */
async function ensureHeld({ leases, posting }: AllocatorParts, asked: Asked, signal: AbortSignal): Promise<Problem | undefined> {
  const { nic, context, listed } = asked
  const { block, request, text } = listed
  const missing = (why: string, next: string): Problem => ({ kind: 'missing', address: text, message: advice(why, next) })
  if (!block) return missing(`Address ${text} of the interface cannot be read`, 'correct spec.addresses of the interface')
  const network = nic.spec.network.name
  const name = leaseName(network, block)
  const lease = leases.get(keyFor(name, nic.metadata.namespace))
  if (lease) {
    const { holder } = lease.spec
    if (!holds(blockOf(lease), block))
      return missing(`Address ${text} is not held, since AddressLease ${name} holds ${lease.spec.address}`, 'delete that lease')
    return isHolder(nic, holder)
      ? undefined
      : missing(
          `Address ${text} is another's, since AddressLease ${name} is held for claim ${holder.claimName}`,
          'delete one of the two claims, and the interface that it leaves',
        )
  }
  if (!context) {
    const message = advice(
      `Address ${text} has no AddressLease ${name} any more`,
      'see that the NetworkContext of its location exists, with which the lease is made again',
    )
    return { kind: 'unknown', message }
  }
  try {
    await posting.post(leaseFor({ network, context: context.metadata, unit: block }, { ...holderToBe(nic), request }), signal)
    return undefined
  } catch (error) {
    const message = refusedByServer(error)
    if (message === undefined) throw error
    return { kind: 'missing', address: text, message, untold: true }
  }
}

function holds(held: Block | undefined, wanted: Block): boolean {
  return held !== undefined && sameBlock(held, wanted)
}
