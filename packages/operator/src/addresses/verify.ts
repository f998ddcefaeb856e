/** Whether each address of a live interface is held for it. A lease that is merely gone is made again under the same name. */
import type { NetworkContext, NetworkInterface } from '@nso/api'
import { keyFor } from 'kube-control-loop'
import { type Block, sameBlock } from './cidr.ts'
import { blockOf, holderToBe, isHolder, type ListedAddress, leaseFor, listedAddresses } from './lease.ts'
import { leaseName } from './lease-name.ts'
import type { AllocatorParts } from './parts.ts'
import type { Verification } from './port.ts'

export async function verify(
  parts: AllocatorParts,
  { interface: nic, context }: { interface: NetworkInterface; context: NetworkContext },
  signal: AbortSignal,
): Promise<Verification> {
  for (const listed of listedAddresses(nic)) {
    const problem = await ensureHeld(parts, { nic, context, listed }, signal)
    if (problem) return { kind: 'missing', address: listed.text, message: `Address ${listed.text}: ${problem}` }
  }
  return { kind: 'standing' }
}

/** Answers what is wrong, or nothing. Never moves the interface to another address. */
async function ensureHeld(
  { leases, posting }: AllocatorParts,
  { nic, context, listed }: { nic: NetworkInterface; context: NetworkContext; listed: ListedAddress },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { block, request } = listed
  if (!block) return 'not an address.'
  const name = leaseName(context.metadata.name, block)
  const lease = leases.get(keyFor(name, context.metadata.namespace))
  if (lease) {
    const { holder } = lease.spec
    if (!holds(blockOf(lease), block)) return `AddressLease ${name} holds ${lease.spec.address} instead.`
    return isHolder(nic, holder) ? undefined : `AddressLease ${name} is held for claim ${holder.claimName}.`
  }
  await posting.post(leaseFor({ context: context.metadata, unit: block }, { ...holderToBe(nic), request }), signal)
  return undefined
}

function holds(held: Block | undefined, wanted: Block): boolean {
  return held !== undefined && sameBlock(held, wanted)
}
