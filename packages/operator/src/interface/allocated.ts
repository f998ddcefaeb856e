/** The condition Allocated, of an interface and of the claim that holds it. */
import { interfaceConditions } from '@nso/api'
import type { ConditionIntent } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'

const { Allocated } = interfaceConditions

/** From the allocations alone: what a status says already may be somebody else's word. */
export function allocatedPart(allocation: Verification): ConditionIntent<'Allocated'> {
  switch (allocation.kind) {
    case 'standing':
      return Allocated.yes('Allocated', 'Every address of the interface is allocated.')
    case 'missing':
      return Allocated.no('AddressAllocationMissing', allocation.message)
    case 'unknown':
      return Allocated.unknown('Pending', allocation.message)
  }
}
