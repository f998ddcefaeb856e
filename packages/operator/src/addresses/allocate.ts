/** Allocates every request of a claim, or none. */
import { type AddressLease, type NetworkContext, NetworkInterface, type NetworkInterfaceClaim, type Subnet } from '@nso/api'
import { type Key, keyFor, keyOf, splitKey, together } from 'kube-control-loop'
import { type Block, formatCidr } from './cidr.ts'
import { holderIndexKey, leaseFor, unlistedBy } from './lease.ts'
import { leaseName } from './lease-name.ts'
import type { AllocatorParts } from './parts.ts'
import { type Choice, choose, type Refusal, type Wish } from './plan.ts'
import type { AddressRequest, AllocatedAddress, Allocation } from './port.ts'
import { isSignal } from './posting.ts'
import { refusedByServer } from './refused.ts'

export type AllocationRequest = {
  claim: NetworkInterfaceClaim
  context: NetworkContext
  subnets: readonly Subnet[]
  wants: readonly AddressRequest[]
}

/**
 * Chooses for all requests first and writes only when all can be served, side by side.
 * A lost race throws with the other leases standing: they carry the claim's uid, and the next pass finds them.
 * A fault or a refusal by the API server takes back what this pass created. Crash in between: as after a lost race, or the claim's release gives back.
 */
export async function allocate(parts: AllocatorParts, request: AllocationRequest, signal: AbortSignal): Promise<Allocation> {
  const claim = identified(request.claim)
  const own = parts.leases.by('holder', holderIndexKey(claim.metadata.namespace, claim.metadata.uid))
  const { choices, refusal, release } = chooseAll(parts, { ...request, claim }, own)
  let isNews = false
  try {
    if (refusal) {
      if (own.length > 0) await giveBackUnlisted(parts, claim, own, signal)
      return refusal
    }
    await postAll(parts, request, choices, signal)
    return { kind: 'allocated', addresses: choices.map(allocated) }
  } catch (error) {
    // Others may have been refused for what this pass was about to take.
    isNews = true
    const message = refusedByServer(error)
    if (message === undefined) throw error
    return { kind: 'refused', reason: 'AllocationFailed', message }
  } finally {
    release(isNews)
  }
}

type Identified = Wish['claim']

/** Leftovers of an earlier pass; but another leader may have made the interface that lists them, which only a live read knows. */
async function giveBackUnlisted(
  { client, claimWriter }: AllocatorParts,
  { spec, metadata }: Identified,
  own: readonly AddressLease[],
  signal: AbortSignal,
): Promise<void> {
  const at = { name: spec.networkInterfaceName ?? metadata.name, namespace: metadata.namespace }
  const nic = await client.find(NetworkInterface, at, signal)
  const leftovers = nic ? unlistedBy(nic, own) : own
  await together(leftovers.map((lease) => claimWriter.remove(lease, signal)))
}

function identified(claim: NetworkInterfaceClaim): Identified {
  const { uid } = claim.metadata
  if (uid === undefined) throw new TypeError(`claim ${keyOf(claim)} has no uid: addresses are held by objects that exist`)
  return { ...claim, metadata: { ...claim.metadata, uid } }
}

/** Each chosen unit is reserved before the next is chosen and before anything is awaited, so no other pass chooses it. */
function chooseAll(
  parts: AllocatorParts,
  { claim, context, subnets, wants }: AllocationRequest & { claim: Identified },
  own: readonly AddressLease[],
): { choices: readonly Choice[]; refusal: Refusal | undefined; release: (isNews: boolean) => void } {
  const choices: Choice[] = []
  const reservations: ((isNews: boolean) => void)[] = []
  const release = (isNews: boolean) => {
    for (const letGo of reservations) letGo(isNews)
  }
  const network = networkOf(claim)
  const reserve = (unit: Block) => void reservations.push(parts.held.reserve(network, unit))
  const known = [...subnets, ...parts.subnetsElsewhere(context)]
  for (const request of wants) {
    let choice = choose({ claim, context, subnets: known, request }, own, parts.held.in(network))
    while (choice.kind === 'free' && isNameTaken(parts.leases, network, choice.unit)) {
      reserve(choice.unit)
      choice = choose({ claim, context, subnets: known, request }, own, parts.held.in(network))
    }
    if (choice.kind === 'refused') {
      if (choice.reason === 'AddressPoolExhausted') parts.waiting.wait(network, keyOf(claim), request)
      return { choices: [], refusal: choice, release }
    }
    if (choice.kind === 'free') reserve(choice.unit)
    choices.push(choice)
  }
  parts.waiting.end(keyOf(claim))
  return { choices, refusal: undefined, release }
}

function networkOf({ spec, metadata }: Identified): Key {
  return keyFor(spec.network.name, metadata.namespace)
}

/** A lease made by hand may hold another address than its name says: its name is taken all the same. */
function isNameTaken(leases: AllocatorParts['leases'], network: Key, unit: Block): boolean {
  const { name, namespace } = splitKey(network)
  return leases.get(keyFor(leaseName(name, unit), namespace)) !== undefined
}

async function postAll(
  { posting, claimWriter }: AllocatorParts,
  { claim, context }: Pick<AllocationRequest, 'claim' | 'context'>,
  choices: readonly Choice[],
  signal: AbortSignal,
): Promise<void> {
  const created: AddressLease[] = []
  const place = { network: claim.spec.network.name, context: context.metadata }
  const posts = choices.flatMap((choice) =>
    choice.kind === 'free' ? [posting.post(leaseFor({ ...choice, ...place }, choice.holder), signal)] : [],
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
