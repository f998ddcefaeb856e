/** Carries out a decision on a live claim, and answers what is then to be said of it. */
import {
  annotations,
  dataPlaneChoice,
  finalizers,
  type NetworkContext,
  NetworkInterface,
  type NetworkInterfaceClaim,
} from '@nso/api'
import { apiVersionOf, keyFor, keyOf } from 'kube-control-loop'
import type { AllocatedAddress, Verification } from '../addresses/port.ts'
import { refusalOf } from '../dataplane/refusal.ts'
import { interfaceNameOf, isDeleting } from '../interface/holder.ts'
import { reportOn } from '../interface/report.ts'
import { editedAway } from '../interface/told.ts'
import { advice } from '../messages.ts'
import { publishedAddresses } from './addresses.ts'
import { addressChanges, interfaceLabels } from './converge.ts'
import type { Decision } from './decide.ts'
import type { Seen } from './observe.ts'
import type { ClaimParts } from './parts.ts'
import { reapFormer } from './release.ts'
import type { Held, Verdict } from './status.ts'
import { giveBackSurplus } from './strays.ts'
import type { Rejection } from './wants.ts'

export async function act(parts: ClaimParts, seen: Seen, decision: Decision, signal: AbortSignal): Promise<Verdict> {
  switch (decision.do) {
    case 'reject': {
      // Of two claims that make one interface at once, the later one has allocated for nothing.
      if (!decision.holds && seen.nic) await giveBackSurplus(parts, seen.claim, seen.nic, signal)
      const held = decision.holds && (await heldNow(parts, seen, decision.holds, signal))
      return { kind: 'rejected', rejection: decision.rejection, held }
    }
    case 'wait':
      return { kind: 'waiting', message: decision.message }
    case 'reap':
      await reapFormer(parts, seen.claim, decision.nic, signal)
      return { kind: 'rejected', rejection: decision.rejection, held: undefined }
    case 'create':
      return createInterface(parts, seen, decision, signal)
    case 'bind':
    case 'keep': {
      const nic = await parts.interfaceWriter.patch(decision.nic, decision.changes, signal)
      const held = await heldNow(parts, seen, nic, signal)
      // What looks like surplus may be what a workload uses, while the interface lists what is not its own.
      if (held.allocation.kind === 'standing') await giveBackSurplus(parts, seen.claim, nic, signal)
      return { kind: 'held', held }
    }
  }
}

/** Undoes what somebody else made of the addresses of the claim's interface, before anything is decided on them. */
export async function putBackAddresses(parts: ClaimParts, claim: NetworkInterfaceClaim, signal: AbortSignal): Promise<void> {
  const nic = parts.caches.interfaces.get(keyFor(interfaceNameOf(claim), claim.metadata.namespace))
  const told = nic && !isDeleting(nic) ? editedAway(parts.allocator, claim, nic) : undefined
  if (nic && told) await parts.interfaceWriter.patch(nic, addressChanges(nic, told), signal)
}

/**
 * Allocates and makes the interface. Crash between the two: leases carry the claim's uid and their order is computed from
 * it, so the next pass meets the same ones. AlreadyExists is a lost race; the next pass judges what stands.
 */
async function createInterface(
  parts: ClaimParts,
  seen: Seen,
  { context, wants }: Extract<Decision, { do: 'create' }>,
  signal: AbortSignal,
): Promise<Verdict> {
  const allocation = await parts.allocator.allocate({ claim: seen.claim, context, subnets: seen.subnets, wants }, signal)
  if (allocation.kind === 'refused') {
    return { kind: 'rejected', rejection: { reason: allocation.reason, message: allocation.message }, held: undefined }
  }
  const nic = await make(parts, newInterface(seen, context, allocation.addresses), signal)
  if ('reason' in nic) return { kind: 'rejected', rejection: nic, held: undefined }
  parts.early.begin(keyOf(seen.claim))
  return { kind: 'held', held: heldWith(parts, seen, nic, { allocation: { kind: 'standing' } }) }
}

/** What is allocated by then stays: the interface may be allowed any moment, and the claim's end gives it back. */
async function make(parts: ClaimParts, nic: NetworkInterface, signal: AbortSignal): Promise<NetworkInterface | Rejection> {
  try {
    return await parts.interfaceWriter.create(nic, signal)
  } catch (error) {
    const why = refusalOf(error)
    if (why === undefined) throw error
    const what = `The API server refuses network interface ${nic.metadata.name} (${why})`
    return { reason: 'InterfaceRefused', message: advice(what, 'allow it; it is tried again by itself') }
  }
}

/** The whole interface in one POST: finalizer, addresses and data plane are there before anybody can see it without. */
function newInterface(seen: Seen, context: NetworkContext, allocated: readonly AllocatedAddress[]): NetworkInterface {
  const { claim, plane } = seen
  const { addresses, externalAddresses } = publishedAddresses(seen, allocated)
  return {
    apiVersion: apiVersionOf(NetworkInterface),
    kind: NetworkInterface.kind,
    metadata: {
      name: interfaceNameOf(claim),
      ...(claim.metadata.namespace === undefined ? {} : { namespace: claim.metadata.namespace }),
      labels: interfaceLabels(claim, context.spec.location.name),
      annotations: {
        [annotations.allocationClaim]: claim.metadata.name,
        ...(claim.metadata.uid === undefined ? {} : { [annotations.claimUid]: claim.metadata.uid }),
        ...(plane ? { [annotations.dataPlane]: dataPlaneChoice(plane.ref) } : {}),
      },
      finalizers: [finalizers.interface],
    },
    spec: {
      network: { name: claim.spec.network.name },
      claimRef: { name: claim.metadata.name },
      interfaceName: claim.spec.interfaceName,
      attachmentMode: claim.spec.attachmentMode,
      ...(context.spec.mtu === undefined ? {} : { mtu: context.spec.mtu }),
      addresses,
      ...(externalAddresses.length > 0 ? { externalAddresses } : {}),
      reclaimPolicy: claim.spec.reclaimPolicy,
    },
  }
}

async function heldNow(parts: ClaimParts, seen: Seen, nic: NetworkInterface, signal: AbortSignal): Promise<Held> {
  const { claim, context, subnets } = seen
  const spoken = hasSpokenOf(claim, nic) ? { speaker: claim } : {}
  const allocation = await parts.allocator.verify({ interface: nic, context, subnets, ...spoken }, signal)
  return heldWith(parts, seen, nic, { allocation, ...spoken })
}

/**
 * Whether the claim's status is about this very interface, so that it may be repeated while nobody can tell: not about an
 * earlier one of the name, after which the claim was not written. Where clocks differ that is taken for so; then the interface's
 * own word is repeated.
 */
function hasSpokenOf({ status }: NetworkInterfaceClaim, { metadata }: NetworkInterface): boolean {
  const bound = status?.conditions?.find(({ type }) => type === 'Bound')
  if (status?.networkInterfaceRef?.name !== metadata.name || bound?.status !== 'True') return false
  return Date.parse(bound.lastTransitionTime) >= Date.parse(metadata.creationTimestamp ?? '')
}

function heldWith(
  parts: ClaimParts,
  seen: Seen,
  nic: NetworkInterface,
  { allocation, ...spoken }: { allocation: Verification; speaker?: NetworkInterfaceClaim },
): Held {
  const location = seen.location.kind === 'known' ? seen.location.name : undefined
  const { claim, context, subnets } = seen
  const report = reportOn(parts, nic, { context, subnets, claim, location, ...spoken })
  return { nic, allocation, report }
}
