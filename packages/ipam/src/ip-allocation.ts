import { defineKind, nameRef, type ObjectOf, oneOf, optional, record, text } from 'kube-control-loop'
import { age, family, group, reclaim, scope, version } from './group.ts'

/** A block that is held. Made by the service; one without a claim is retained. */
export const IPAllocation = defineKind({
  group,
  version,
  kind: 'IPAllocation',
  plural: 'ipallocations',
  shortNames: ['ipalloc'],
  description: 'A block of addresses that is held.',
  columns: [
    { name: 'CIDR', type: 'string', jsonPath: '.status.allocatedCIDR' },
    { name: 'Claim', type: 'string', jsonPath: '.spec.claimRef.name' },
    age,
  ],
  spec: record(
    {
      ipFamily: family('Family of the block.'),
      poolRef: nameRef('The pool that it is from.'),
      className: optional(text({ description: 'Class that served it.' })),
      purpose: oneOf(['Claim', 'Reservation', 'PoolCarve'], { description: 'Why it is held.' }),
      claimRef: optional(nameRef('Claim that holds it; absent: retained.')),
      scope: optional(scope('What it is for, by role.')),
      reclaimPolicy: optional(reclaim('What becomes of it when the claim goes.')),
    },
    { description: 'What is held, and for whom.' },
  ),
  status: record(
    {
      phase: optional(text({ description: 'How far it is.' })),
      allocatedCIDR: optional(text({ description: 'The block.' })),
    },
    { description: 'The block.' },
  ),
})
export type IPAllocation = ObjectOf<typeof IPAllocation>
