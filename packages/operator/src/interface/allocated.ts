/** The condition Allocated, of an interface and of the claim that holds it. */
import { interfaceConditions } from '@nso/api'
import type { ConditionIntent } from 'kube-control-loop'
import type { Verification } from '../addresses/port.ts'
import { advice, few } from '../messages.ts'

const { Allocated } = interfaceConditions

/** From the allocations alone: what a status says already may be somebody else's word. */
export function allocatedPart(allocation: Verification): ConditionIntent<'Allocated'> {
  switch (allocation.kind) {
    case 'standing':
      return Allocated.yes('Allocated', standingMessage(allocation.outOfRange ?? []))
    case 'missing':
      return Allocated.no('AddressAllocationMissing', allocation.message)
    case 'unknown':
      return Allocated.unknown('Pending', allocation.message)
  }
}

/** An address out of range is no fault: its workload goes on, and the next holder gets another. */
function standingMessage(outOfRange: readonly string[]): string {
  if (outOfRange.length === 0) return 'Every address of the interface is allocated.'
  const what = `Every address of the interface is allocated, but out of range of each Subnet of its network context: ${few(outOfRange)}`
  return advice(what, 'let a Subnet contain it again, or make the claim anew for an address in range')
}
