/** From what stands about an interface to its complete status. Pure. */
import { contextName, type InterfaceStatusIntent, type NetworkInterface } from '@nso/api'
import type { ConditionIntent } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'
import { conditionSources } from '../dataplane/sources.ts'
import type { PlaneReport, TranslatedCondition } from '../dataplane/types.ts'
import { advice } from '../messages.ts'
import { allocatedPart } from './allocated.ts'

export type Standing = {
  phase: 'Bound' | 'Available'
  location: string | undefined
  allocation: Verification
  /** Undefined: there is no attachment and none is wanted. */
  report: PlaneReport | undefined
  /** Said in place of the plane's report, when the interface is on its way out. */
  leaving?: string
}

const pending: TranslatedCondition = {
  status: 'Unknown',
  reason: 'Pending',
  message: advice('No claim holds the interface', 'make a claim that fits it, or delete it'),
}

/** Everything the interface controller owns in an interface's status: what is left out here is taken away. */
export function interfaceStatus(nic: NetworkInterface, standing: Standing): InterfaceStatusIntent {
  const { phase, location, report, leaving } = standing
  const left: TranslatedCondition | undefined = leaving === undefined ? undefined : { ...pending, message: leaving }
  const prepared = left ?? report?.prepared ?? pending
  const programmed = left ?? report?.programmed ?? pending
  const conditions = [allocatedPart(standing.allocation), translated('Prepared', prepared), translated('Programmed', programmed)]
  const generation = nic.metadata.generation
  return {
    phase,
    ...(location === undefined ? {} : { networkContextRef: { name: contextName(nic.spec.network.name, location) } }),
    ...(report?.attachmentRef ? { attachmentRef: report.attachmentRef } : {}),
    ...(report?.vpc === undefined ? {} : { vpc: report.vpc }),
    ...conditionSources({ prepared, programmed }),
    conditions: conditions.map((one) => (generation === undefined ? one : { ...one, observedGeneration: generation })),
  }
}

function translated<Type extends 'Prepared' | 'Programmed'>(type: Type, given: TranslatedCondition): ConditionIntent<Type> {
  return { type, status: given.status, reason: given.reason, message: given.message }
}
