/** The complete intent of the VPC's one status writer: pure. */
import { type VPCStatusIntent, vpcConditions } from '../api/index.ts'

export function intentOf(id: string, generation: number, held: boolean): VPCStatusIntent {
  const message = held ? 'identifier allocated; deletion waits until no VPCAttachment carries it' : 'identifier allocated'
  return {
    observedGeneration: generation,
    vpc: id,
    conditions: [vpcConditions.Ready.yes('IdentifierAllocated', message, generation)],
  }
}
