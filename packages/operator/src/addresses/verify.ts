/** Whether each address of a live interface is held for it. A lease that is merely gone is made again under the same name. */
import type { NetworkContext, NetworkInterface } from '@nso/api'
import { keyFor, type ObjectMeta, splitKey } from 'kube-control-loop'
import { type Block, sameBlock } from './cidr.ts'
import { blockOf, contextKeyOf, holderToBe, isHolder, type ListedAddress, leaseFor, listedAddresses } from './lease.ts'
import { leaseName } from './lease-name.ts'
import type { AllocatorParts } from './parts.ts'
import type { Verification } from './port.ts'

type Asked = { nic: NetworkInterface; context: NetworkContext | undefined; listed: ListedAddress }
type Problem = Exclude<Verification, { kind: 'standing' }>

export async function verify(
  parts: AllocatorParts,
  { interface: nic, context }: { interface: NetworkInterface; context: NetworkContext | undefined },
  signal: AbortSignal,
): Promise<Verification> {
  for (const listed of listedAddresses(nic)) {
    const problem = await ensureHeld(parts, { nic, context, listed }, signal)
    if (problem) return problem
  }
  return { kind: 'standing' }
}

/** The leases of a context are known by its name, also while it is away. */
function placeOf({ nic, context }: Asked): Pick<ObjectMeta, 'name' | 'namespace'> | undefined {
  if (context) return context.metadata
  const key = contextKeyOf(nic)
  return key === undefined ? undefined : splitKey(key)
}

/** Answers what is wrong, or nothing. Never moves the interface to another address. */
async function ensureHeld({ leases, posting }: AllocatorParts, asked: Asked, signal: AbortSignal): Promise<Problem | undefined> {
  const { nic, context, listed } = asked
  const { block, request, text } = listed
  const missing = (why: string): Problem => ({ kind: 'missing', address: text, message: `Address ${text}: ${why}` })
  if (!block) return missing('not an address.')
  const place = placeOf(asked)
  if (!place) return { kind: 'unknown', message: `Address ${text}: the location of the interface is not known.` }
  const name = leaseName(place.name, block)
  const lease = leases.get(keyFor(name, place.namespace))
  if (lease) {
    const { holder } = lease.spec
    if (!holds(blockOf(lease), block)) return missing(`AddressLease ${name} holds ${lease.spec.address} instead.`)
    return isHolder(nic, holder) ? undefined : missing(`AddressLease ${name} is held for claim ${holder.claimName}.`)
  }
  if (!context) {
    const message = `Address ${text}: AddressLease ${name} is missing, and made again only when NetworkContext ${place.name} stands.`
    return { kind: 'unknown', message }
  }
  await posting.post(leaseFor({ context: context.metadata, unit: block }, { ...holderToBe(nic), request }), signal)
  return undefined
}

function holds(held: Block | undefined, wanted: Block): boolean {
  return held !== undefined && sameBlock(held, wanted)
}
