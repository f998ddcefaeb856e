/**
 * Tear-down of an interface, in this order: its attachment is deleted, a live answer says it is gone, its addresses are given
 * back, its finalizer goes. An address is never free while an attachment may still carry its traffic. Needs no network,
 * context, subnet or data plane. Crash at any line: the finalizer stands and the next pass begins again.
 */
import { finalizers, type NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { ApiError, again, keyOf, type Outcome, settled, waiting } from 'kube-control-loop'
import { GiveBackWaits } from '../addresses/port.ts'
import { KindUnreachable } from '../dataplane/locate.ts'
import { advice } from '../messages.ts'
import { removeAttachment } from './act.ts'
import { holderOf, holdOf, isDeleting } from './holder.ts'
import { observe } from './observe.ts'
import type { InterfaceParts } from './parts.ts'
import { planeOf, reportOn } from './report.ts'
import { interfaceStatus } from './status.ts'

export async function tearDown(parts: InterfaceParts, nic: NetworkInterface, signal: AbortSignal): Promise<Outcome> {
  const state = await detach(parts, nic, signal)
  if (state === 'going') return waitForDetach(parts, nic, signal)
  if (!(await hasLiveHolder(parts, nic, signal)) && !(await isGivenBack(parts, nic, signal))) {
    return waiting('addresses being given back')
  }
  await parts.writer.removeFinalizer(nic, finalizers.interface, signal)
  parts.early.end(keyOf(nic))
  return settled
}

/** What only an administrator can end is said before it is thrown: a missing permission, a kind that no version is served of. */
async function detach(parts: InterfaceParts, nic: NetworkInterface, signal: AbortSignal): Promise<'gone' | 'going'> {
  try {
    return await removeAttachment(parts, { nic, plane: planeOf(nic, parts.planes) }, signal)
  } catch (error) {
    const isDenied = error instanceof ApiError && error.status === 403
    if (isDenied) await sayLeaving(parts, nic, unremovable(`the attachment cannot be removed: ${error.text}`), signal)
    if (error instanceof KindUnreachable) await sayLeaving(parts, nic, unremovable(error.message), signal)
    throw error
  }
}

/** Whoever holds the addresses may be away: it is said, and the allocator tells when to try again. */
async function isGivenBack(parts: InterfaceParts, nic: NetworkInterface, signal: AbortSignal): Promise<boolean> {
  try {
    await parts.allocator.releaseInterface(nic, signal)
    return true
  } catch (error) {
    if (!(error instanceof GiveBackWaits)) throw error
    await sayLeaving(parts, nic, `Deletion waits: ${error.message}`, signal)
    return false
  }
}

const unremovable = (why: string): string =>
  advice(`Deletion waits: ${why}`, 'see conditions Installed and Permitted of the DataPlane')

/**
 * An interface deleted under a live claim is made again with the same addresses, so the leases stay. The claim is read live:
 * a cached one may be on its way out, and nobody would give the leases back.
 */
async function hasLiveHolder(parts: InterfaceParts, nic: NetworkInterface, signal: AbortSignal): Promise<boolean> {
  const holder = holderOf(nic)
  if (!holder) return false
  const claim = await parts.client.find(NetworkInterfaceClaim, { name: holder.name, namespace: nic.metadata.namespace }, signal)
  return claim !== undefined && !isDeleting(claim) && holdOf(nic, claim) === 'ours'
}

/** Says what deletion waits for, with the new generation; not at all where the wait is over at once. */
async function waitForDetach(parts: InterfaceParts, nic: NetworkInterface, signal: AbortSignal): Promise<Outcome> {
  const key = keyOf(nic)
  if (!parts.early.waits(key)) parts.early.begin(key)
  const leftMs = parts.early.leftMs(key)
  if (leftMs > 0) return again(leftMs, 'a quick tear-down needs no status')
  const { prepared } = reportOn(parts, nic, observe(parts, nic))
  const message = advice(
    `Deletion waits for the data plane to let go of the attachment. ${prepared.message}`,
    'see that the data plane runs',
  )
  await sayLeaving(parts, nic, message, signal)
  return waiting('deletion of the attachment')
}

async function sayLeaving(parts: InterfaceParts, nic: NetworkInterface, leaving: string, signal: AbortSignal): Promise<void> {
  const seen = observe(parts, nic)
  const report = reportOn(parts, nic, seen)
  const phase = nic.spec.claimRef ? 'Bound' : 'Available'
  // Without the context nothing is allocated: these addresses are about to be given back.
  const allocation = await parts.allocator.verify({ interface: nic, context: undefined, subnets: [] }, signal)
  const intent = interfaceStatus(nic, { phase, location: seen.location, allocation, report, leaving })
  await parts.statusWriter.status(nic, intent, signal)
}
