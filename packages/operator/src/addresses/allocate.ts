/** Allocates every request of a claim, or none. */
import type { AddressLease, NetworkContext, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { keyOf, together } from 'kube-control-loop'
import { formatCidr } from './cidr.ts'
import { holderIndexKey, leaseFor } from './lease.ts'
import type { AllocatorParts } from './parts.ts'
import { type Choice, choose, type Refusal, type Wish } from './plan.ts'
import type { AddressRequest, AllocatedAddress, Allocation } from './port.ts'
import { isSignal } from './posting.ts'

export type AllocationRequest = {
  claim: NetworkInterfaceClaim
  context: NetworkContext
  subnets: readonly Subnet[]
  wants: readonly AddressRequest[]
}

/**
 * Chooses for all requests first and writes only when all can be served, side by side.
 * A lost race throws with the other leases standing: they carry the claim's uid, and the next pass finds them.
 * A fault takes back what this pass created. Crash in between: as after a lost race, or the claim's release gives back.
 */
export async function allocate(parts: AllocatorParts, request: AllocationRequest, signal: AbortSignal): Promise<Allocation> {
  const claim = identified(request.claim)
  const own = parts.leases.by('holder', holderIndexKey(claim.metadata.namespace, claim.metadata.uid))
  const { choices, refusal, release } = chooseAll(parts, { ...request, claim }, own)
  try {
    if (refusal) {
      await together(own.map((lease) => parts.claimWriter.remove(lease, signal)))
      return refusal
    }
    await postAll(parts, request.context, choices, signal)
    return { kind: 'allocated', addresses: choices.map(allocated) }
  } finally {
    release()
  }
}

type Identified = Wish['claim']

function identified(claim: NetworkInterfaceClaim): Identified {
  const { uid } = claim.metadata
  if (uid === undefined) throw new TypeError(`claim ${keyOf(claim)} has no uid: addresses are held by objects that exist`)
  return { ...claim, metadata: { ...claim.metadata, uid } }
}

/** Each chosen unit is reserved before the next is chosen and before anything is awaited, so no other pass chooses it. */
function chooseAll(
  { held }: AllocatorParts,
  { claim, context, subnets, wants }: AllocationRequest & { claim: Identified },
  own: readonly AddressLease[],
): { choices: readonly Choice[]; refusal: Refusal | undefined; release: () => void } {
  const choices: Choice[] = []
  const reservations: (() => void)[] = []
  const release = () => {
    for (const letGo of reservations) letGo()
  }
  const key = keyOf(context)
  for (const request of wants) {
    const choice = choose({ claim, context, subnets, request }, own, held.in(key))
    if (choice.kind === 'refused') return { choices: [], refusal: choice, release }
    if (choice.kind === 'free') reservations.push(held.reserve(key, choice.unit))
    choices.push(choice)
  }
  return { choices, refusal: undefined, release }
}

async function postAll(
  { posting, claimWriter }: AllocatorParts,
  context: NetworkContext,
  choices: readonly Choice[],
  signal: AbortSignal,
): Promise<void> {
  const created: AddressLease[] = []
  const posts = choices.flatMap((choice) =>
    choice.kind === 'free' ? [posting.post(leaseFor({ ...choice, context: context.metadata }, choice.holder), signal)] : [],
  )
  try {
    await together(posts.map(async (posted) => void created.push(await posted)))
  } catch (error) {
    if (!isSignal(error)) await Promise.allSettled(created.map((lease) => claimWriter.remove(lease, signal)))
    throw error
  }
}

function allocated({ request, unit }: Choice): AllocatedAddress {
  return { request, family: unit.family, cidr: formatCidr(unit), external: request.class !== undefined }
}
