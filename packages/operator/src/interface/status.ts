/** From what stands about an interface to its complete status. Pure. */
import { contextName, type InterfaceStatusIntent, interfaceConditions, type NetworkInterface } from '@nso/api'
import type { ConditionIntent } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'
import { conditionSources } from '../dataplane/sources.ts'
import type { PlaneReport, TranslatedCondition } from '../dataplane/types.ts'

export type Standing = {
  phase: 'Bound' | 'Available'
  location: string | undefined
  /** Undefined when it could not be asked: what was said last is kept. */
  allocation: Verification | undefined
  /** Undefined: there is no attachment and none is wanted. */
  report: PlaneReport | undefined
  /** Said in place of the plane's report, when the interface is on its way out. */
  leaving?: string
}

const { Allocated } = interfaceConditions
const pending: TranslatedCondition = { status: 'Unknown', reason: 'Pending', message: 'No claim holds the interface.' }

/** Everything the interface controller owns in an interface's status: what is left out here is taken away. */
export function interfaceStatus(nic: NetworkInterface, standing: Standing): InterfaceStatusIntent {
  const { phase, location, report, leaving } = standing
  const left: TranslatedCondition | undefined = leaving === undefined ? undefined : { ...pending, message: leaving }
  const prepared = left ?? report?.prepared ?? pending
  const programmed = left ?? report?.programmed ?? pending
  const conditions = [
    allocatedNow(nic, standing.allocation),
    translated('Prepared', prepared),
    translated('Programmed', programmed),
  ]
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

function allocatedNow(nic: NetworkInterface, allocation: Verification | undefined): ConditionIntent<'Allocated'> {
  if (allocation?.kind === 'standing') return Allocated.yes('Allocated', 'Every address of the interface is allocated.')
  if (allocation) return Allocated.no('AddressAllocationMissing', allocation.message)
  const last = nic.status?.conditions?.find((one) => one.type === 'Allocated')
  return last
    ? { type: 'Allocated', status: last.status, reason: last.reason, message: last.message }
    : Allocated.unknown('Pending', 'Waiting for controller')
}

function translated<Type extends 'Prepared' | 'Programmed'>(type: Type, given: TranslatedCondition): ConditionIntent<Type> {
  return { type, status: given.status, reason: given.reason, message: given.message }
}
