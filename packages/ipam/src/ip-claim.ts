import {
  conditions,
  defineKind,
  immutable,
  int32,
  nameRef,
  type ObjectOf,
  oneOf,
  optional,
  record,
  text,
} from 'kube-control-loop'
import { age, family, group, reclaim, scope, version } from './group.ts'

export type { ScopeReference } from './group.ts'

/** A request for a block, or (target ScopeRange) for a pool of one's own. Its create is answered with the block. */
export const IPClaim = defineKind({
  group,
  version,
  kind: 'IPClaim',
  plural: 'ipclaims',
  shortNames: ['ipclaim'],
  description: 'A request for a block of addresses. The answer to its creation holds the block.',
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'CIDR', type: 'string', jsonPath: '.status.allocatedCIDR' },
    { name: 'Pool', type: 'string', jsonPath: '.status.poolRef.name' },
    age,
  ],
  spec: record(
    {
      className: optional(text({ description: 'Class to serve it; absent: the default class of the family.' })),
      ipFamily: optional(family('Family of the block; absent: that of the class.')),
      address: optional(text({ description: 'A block that is asked for by name.' })),
      prefixLength: optional(int32({ description: 'Length of the block; absent: that of the class.', minimum: 0, maximum: 128 })),
      scope: optional({ ...scope('What it is for, by role.'), 'x-kubernetes-validations': immutable('scope') }),
      reclaimPolicy: optional(reclaim('What becomes of the allocation when the claim goes.')),
      target: optional(oneOf(['ScopeRange'], { description: 'ScopeRange: bind the pool of the scope itself.' })),
    },
    { description: 'What is asked for.' },
  ),
  status: record(
    {
      phase: optional(oneOf(['Pending', 'Bound', 'Releasing', 'Error'], { description: 'How far it is.' })),
      allocatedCIDR: optional(text({ description: 'The block.' })),
      poolRef: optional(nameRef('The pool that it is from, or that it binds.')),
      boundAllocationRef: optional(nameRef('The allocation that holds the block.')),
      conditions: optional(conditions('How it is.')),
    },
    { description: 'The answer.' },
  ),
})
export type IPClaim = ObjectOf<typeof IPClaim>
