/** Carries out a decision on a live interface, and answers what is then to be said of it. */
import { annotations, dataPlaneChoice } from '@nso/api'
import { keyOf } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'
import { changeEntries } from '../json-patch.ts'
import { advice } from '../messages.ts'
import type { Decision } from './decide.ts'
import type { Seen } from './observe.ts'
import type { InterfaceParts } from './parts.ts'
import { reportOn, scopeOf } from './report.ts'
import type { Standing } from './status.ts'

/** `wait`: what a watch will tell of, before there is more to do. `fault`: to be thrown once the status tells of it. */
export type Done = { seen: Seen; standing: Standing; wait: string | undefined; early: boolean; fault?: Error }

export async function act(parts: InterfaceParts, seen: Seen, decision: Decision, signal: AbortSignal): Promise<Done> {
  switch (decision.do) {
    case 'set-free':
      return setFree(parts, seen, signal)
    case 'say':
      return { ...(await bound(parts, seen, signal)), wait: decision.lacking, early: false }
    case 'attach':
      return attach(parts, seen, decision, signal)
  }
}

/**
 * The choice is stored before the attachment is made: a crash in between leaves a choice without an attachment, never an
 * attachment that nobody can name.
 */
async function attach(
  parts: InterfaceParts,
  before: Seen,
  { plane, choose }: Extract<Decision, { do: 'attach' }>,
  signal: AbortSignal,
): Promise<Done> {
  const { metadata } = before.nic
  const changes = changeEntries('/metadata/annotations', metadata.annotations, {
    [annotations.dataPlane]: dataPlaneChoice(plane.ref),
  })
  // What the cache does not show yet stays where it is; its event wakes the interface.
  if (choose && before.plane && (await parts.attachments.stands({ interface: before.nic, plane: before.plane }, signal))) {
    return { ...(await bound(parts, before, signal)), wait: 'its attachment being seen', early: false }
  }
  const nic = choose ? await parts.writer.patch(before.nic, changes, signal) : before.nic
  const seen = { ...before, nic, plane }
  const found = await bound(parts, seen, signal)
  // What is not held for the interface may be another's: it reaches no attachment.
  if (isWithheld(found.standing.allocation)) return { ...found, wait: 'its addresses being allocated', early: false }
  const made = await parts.attachments.ensureAttachment(
    { plane, interface: nic, scope: scopeOf(parts.caches, plane, nic, seen) },
    signal,
  )
  if (made.result === 'created') parts.early.begin(keyOf(nic))
  const report = reportOn(parts, nic, seen)
  const { prepared, programmed } = report
  const reported = prepared?.status === 'True' && programmed?.status === 'True'
  const lacking = made.result === 'waiting' ? made.on : 'report of the data plane'
  return {
    seen,
    standing: { ...found.standing, report },
    wait: reported ? undefined : lacking,
    early: prepared?.status !== 'True',
    ...(made.result === 'refused' ? { fault: made.error } : {}),
  }
}

function isWithheld(allocation: Verification): boolean {
  return allocation.kind === 'missing' || (allocation.kind === 'unknown' && allocation.withheld === true)
}

async function bound(parts: InterfaceParts, seen: Seen, signal: AbortSignal): Promise<{ seen: Seen; standing: Standing }> {
  const report = reportOn(parts, seen.nic, seen)
  const allocation = await verify(parts, seen, signal)
  return { seen, standing: { phase: 'Bound', location: seen.location, allocation, report } }
}

/** A released interface may be taken only when its attachment is really gone: its next holder must meet no traffic of the last. */
async function setFree(parts: InterfaceParts, seen: Seen, signal: AbortSignal): Promise<Done> {
  const { nic, location } = seen
  const state = await removeAttachment(parts, seen, signal)
  const allocation = await verify(parts, seen, signal)
  if (state === 'gone') {
    parts.early.end(keyOf(nic))
    return { seen, standing: { phase: 'Available', location, allocation, report: undefined }, wait: undefined, early: false }
  }
  if (nic.status?.phase !== 'Available' && !parts.early.waits(keyOf(nic))) parts.early.begin(keyOf(nic))
  const leaving = advice(
    'Released; its attachment is being taken away',
    'wait for the data plane to let go of it, and see that it runs',
  )
  const report = reportOn(parts, nic, seen)
  return {
    seen,
    standing: { phase: 'Bound', location, allocation, report, leaving },
    wait: 'deletion of the attachment',
    early: true,
  }
}

/** By the plane that was chosen; where its DataPlane is gone, by what the status remembers. */
export function removeAttachment(parts: InterfaceParts, { nic, plane }: Pick<Seen, 'nic' | 'plane'>, signal: AbortSignal) {
  return parts.attachments.removeAttachment({ interface: nic, plane, attachmentRef: nic.status?.attachmentRef }, signal)
}

async function verify(
  parts: InterfaceParts,
  { nic, context, subnets, edited }: Seen,
  signal: AbortSignal,
): Promise<Verification> {
  // A lease would be made of what somebody else wrote. What the interface is to list again is held, or it would not be put back.
  if (edited) return { kind: 'standing' }
  return parts.allocator.verify({ interface: nic, context, subnets }, signal)
}
