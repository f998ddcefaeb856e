/** From a verdict to the claim's complete status. Pure: the same verdict always gives the same intent. */
import { type ClaimStatusIntent, claimConditions, type NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import type { ConditionIntent } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'
import { conditionSources } from '../dataplane/sources.ts'
import type { PlaneReport, TranslatedCondition } from '../dataplane/types.ts'
import { allocatedPart } from '../interface/allocated.ts'
import { type Told, toldOf } from '../interface/told.ts'
import { advice } from '../messages.ts'
import type { Rejection } from './wants.ts'

/** What stands about the interface that a claim holds. */
export type Held = {
  nic: NetworkInterface
  allocation: Verification
  report: PlaneReport
}

export type Verdict =
  | { kind: 'rejected'; rejection: Rejection; held: Held | undefined }
  /** Bound to nothing that lasts: an interface is going, or the claim itself is. */
  | { kind: 'waiting'; message: string }
  | { kind: 'held'; held: Held }

type Part = ConditionIntent<'Bound' | 'Allocated' | 'Prepared' | 'Programmed'>

const { Bound, Allocated, Prepared, Programmed, Ready } = claimConditions

const unbound = advice('The claim has no interface', 'see condition Bound')

/** Everything the claim controller owns in a claim's status: what is left out here is taken away. */
export function claimStatus(claim: NetworkInterfaceClaim, verdict: Verdict): ClaimStatusIntent {
  const parts = partsOf(verdict)
  const ready = verdict.kind === 'rejected' ? Ready.no(verdict.rejection.reason, verdict.rejection.message) : deriveReady(parts)
  const generation = claim.metadata.generation
  const conditions = [...parts, ready].map((one) => (generation === undefined ? one : { ...one, observedGeneration: generation }))
  const held = verdict.kind === 'held' || verdict.kind === 'rejected' ? verdict.held : undefined
  return { ...(held ? heldFields(claim, held) : {}), conditions }
}

function partsOf(verdict: Verdict): Part[] {
  switch (verdict.kind) {
    case 'held':
      return heldParts(verdict.held)
    case 'rejected': {
      if (verdict.held) return heldParts(verdict.held)
      const { reason, message } = verdict.rejection
      return [Bound.no(reason, message), Allocated.no(reason, message), ...notAttached(unbound)]
    }
    case 'waiting':
      return [
        Bound.unknown('Pending', verdict.message),
        Allocated.unknown('Pending', verdict.message),
        ...notAttached(verdict.message),
      ]
  }
}

function heldParts({ nic, allocation, report }: Held): Part[] {
  return [
    Bound.yes('Bound', `Bound to network interface ${nic.metadata.name}.`),
    allocatedPart(allocation),
    translated('Prepared', report.prepared),
    translated('Programmed', report.programmed),
  ]
}

function notAttached(message: string): Part[] {
  return [Prepared.unknown('Pending', message), Programmed.unknown('Pending', message)]
}

function translated<Type extends 'Prepared' | 'Programmed'>(type: Type, given: TranslatedCondition): ConditionIntent<Type> {
  return { type, status: given.status, reason: given.reason, message: given.message }
}

/** Ready is computed, never set: True, or the first part in order that is not. Unknown stays Unknown: it is no failure. */
export function deriveReady(parts: readonly Part[]): ConditionIntent<'Ready'> {
  const unmet = parts.find((part) => part.status !== 'True')
  if (!unmet) return Ready.yes('Ready', 'The interface is bound, allocated, prepared and programmed.')
  const reason = `Not${unmet.type}` as const
  return unmet.status === 'Unknown' ? Ready.unknown(reason, unmet.message) : Ready.no(reason, unmet.message)
}

function heldFields(claim: NetworkInterfaceClaim, held: Held): Omit<ClaimStatusIntent, 'conditions'> {
  const { addresses, externalAddresses } = tellable(claim, held)
  return {
    networkInterfaceRef: { name: held.nic.metadata.name },
    ...(addresses?.length ? { addresses } : {}),
    ...(externalAddresses?.length ? { externalAddresses } : {}),
    ...conditionSources(held.report),
  }
}

/** An address that may be another's is never told anew; what was told before stays, since a workload uses it. */
function tellable(claim: NetworkInterfaceClaim, { nic, allocation }: Held): Told {
  if (allocation.kind === 'standing') return nic.spec
  return toldOf(claim, nic) ?? (allocation.kind === 'missing' ? {} : nic.spec)
}
