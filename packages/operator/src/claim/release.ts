/**
 * Tear-down of a claim: its interface goes (Delete) or is set free (Retain), then what else was allocated in its name is
 * given back, then its finalizer. Reads no network, context, subnet or data plane: none of them needs to exist any more.
 * Crash at any line: the claim still has its finalizer and the next pass begins again.
 */
import { annotations, finalizers, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { again, type Key, keyFor, keyOf, type Outcome, settled, splitKey, waiting } from 'kube-control-loop'
import { GiveBackWaits } from '../addresses/port.ts'
import { holderOf, holdOf, interfaceNameOf, isDeleting } from '../interface/holder.ts'
import { editedAway } from '../interface/told.ts'
import { advice, few } from '../messages.ts'
import { addressChanges, releasingChanges } from './converge.ts'
import type { ClaimParts } from './parts.ts'
import { claimStatus } from './status.ts'
import { giveBackStrays } from './strays.ts'
import { wantsOf } from './wants.ts'

/** A pass over a claim that is being deleted. */
export async function release(parts: ClaimParts, claim: NetworkInterfaceClaim, signal: AbortSignal): Promise<Outcome> {
  const key = keyOf(claim)
  for (const nic of interfacesOf(parts, claim)) {
    if (isDeleting(nic)) return waitFor(parts, claim, nic, signal)
    if (nic.spec.reclaimPolicy === 'Retain') {
      const told = editedAway(parts.allocator, claim, nic)
      const changes = [...(told ? addressChanges(nic, told) : []), ...releasingChanges(nic)]
      await parts.interfaceWriter.patch(nic, changes, signal)
    } else {
      await parts.interfaceWriter.remove(nic, signal)
      parts.early.begin(key)
      return waiting(`deletion of interface ${nic.metadata.name}`)
    }
  }
  if (!(await isLetGo(parts, claim, signal))) return waiting(`interface ${interfaceNameOf(claim)}`)
  const held = await giveBackLeftovers(parts, claim, signal)
  if (held) return waitForAddresses(parts, claim, held, signal)
  // Before the finalizer goes, which fences the name; but whoever fights over the status does not keep the claim by it.
  const unsaid = await sayReleased(parts, claim, signal).then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  await parts.claimWriter.removeFinalizer(claim, finalizers.claim, signal)
  parts.early.end(key)
  if (unsaid) throw unsaid.error
  return settled
}

/** All interfaces that this very claim holds, by index: also one whose name it no longer asks for. */
function interfacesOf(parts: ClaimParts, claim: NetworkInterfaceClaim): NetworkInterface[] {
  return parts.caches.interfaces.by('claim', keyOf(claim)).filter((nic) => holdOf(nic, claim) === 'ours')
}

/** Says what deletion waits for, with the new generation; not at all where the wait is over at once. */
async function waitFor(
  parts: ClaimParts,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!parts.early.waits(keyOf(claim))) parts.early.begin(keyOf(claim))
  const leftMs = parts.early.leftMs(keyOf(claim))
  if (leftMs > 0) return again(leftMs, 'a quick tear-down needs no status')
  const message = advice(
    `Deletion waits for network interface ${nic.metadata.name}, which finalizers hold (${few(nic.metadata.finalizers ?? [])})`,
    'see condition Prepared of the interface for who has to let go of it',
  )
  await parts.statusWriter.status(claim, claimStatus(claim, { kind: 'waiting', message }), signal)
  return waiting(`deletion of interface ${nic.metadata.name}`)
}

/**
 * A live read of the interface: a cache that lags is no proof that the last pass before a crash, or an earlier leader,
 * made none. What it finds is absorbed: one that it holds ends the pass, and the change wakes the claim; one that was retained
 * keeps its addresses.
 */
async function isLetGo(parts: ClaimParts, claim: NetworkInterfaceClaim, signal: AbortSignal): Promise<boolean> {
  const at = { name: interfaceNameOf(claim), namespace: claim.metadata.namespace }
  const live = await parts.client.find(NetworkInterface, at, signal)
  if (!live) return true
  parts.caches.interfaces.absorb(live)
  return holdOf(live, claim) !== 'ours'
}

/**
 * What is held for a retained interface stays with it; everything else of this claim's uid is a crash's leftover. Answers why it
 * has to wait, where whoever holds the addresses is away; the allocator tells when to try again.
 */
async function giveBackLeftovers(
  parts: ClaimParts,
  claim: NetworkInterfaceClaim,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, namespace, uid } = claim.metadata
  if (namespace === undefined || uid === undefined) return undefined
  const retained = parts.caches.interfaces.get(keyFor(interfaceNameOf(claim), namespace))
  const keeps = retained?.metadata.annotations?.[annotations.allocationClaim] === name
  try {
    if (retained && keeps) await parts.allocator.releaseSurplus(claim, retained, signal)
    else await parts.allocator.releaseClaim({ namespace, name, uid, wants: wantsOf(claim) }, signal)
    return undefined
  } catch (error) {
    if (error instanceof GiveBackWaits) return error.message
    throw error
  }
}

async function waitForAddresses(
  parts: ClaimParts,
  claim: NetworkInterfaceClaim,
  why: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `Deletion waits: ${why}`
  await parts.statusWriter.status(claim, claimStatus(claim, { kind: 'waiting', message }), signal)
  return waiting('addresses being given back')
}

/** Only where another finalizer keeps the claim: it would go on telling of an interface that is no longer its own. */
async function sayReleased(parts: ClaimParts, claim: NetworkInterfaceClaim, signal: AbortSignal): Promise<void> {
  const others = (claim.metadata.finalizers ?? []).filter((one) => one !== finalizers.claim)
  if (others.length === 0) return
  const message = advice(`Released; deletion waits for finalizers of others (${few(others)})`, 'ask whoever put them there')
  await parts.statusWriter.status(claim, claimStatus(claim, { kind: 'waiting', message }), signal)
}

/** A pass over a claim that is gone: an interface that still names it was left by a claim whose finalizer others removed. */
export async function releaseAfterGone(parts: ClaimParts, key: Key, signal: AbortSignal): Promise<Outcome> {
  await giveBackStrays(parts, key, undefined, signal)
  const left = parts.caches.interfaces.by('claim', key).filter((nic) => !isDeleting(nic))
  if (left.length === 0) return settled
  const live = await parts.client.find(NetworkInterfaceClaim, splitKey(key), signal)
  if (live) {
    parts.caches.claims.absorb(live)
    return settled
  }
  for (const nic of left) await letGo(parts, nic, signal)
  return settled
}

/** Lets go of the interface of an earlier claim of this name, once a live read says that the name has another uid now. */
export async function reapFormer(
  parts: ClaimParts,
  claim: NetworkInterfaceClaim,
  nic: NetworkInterface,
  signal: AbortSignal,
): Promise<void> {
  const live = await parts.client.find(
    NetworkInterfaceClaim,
    { name: claim.metadata.name, namespace: claim.metadata.namespace },
    signal,
  )
  if (live && live.metadata.uid !== holderOf(nic)?.uid) await letGo(parts, nic, signal)
}

async function letGo(parts: ClaimParts, nic: NetworkInterface, signal: AbortSignal): Promise<void> {
  if (nic.spec.reclaimPolicy === 'Retain') await parts.interfaceWriter.patch(nic, releasingChanges(nic), signal)
  else await parts.interfaceWriter.remove(nic, signal)
}
