import { defineKind, list, nameRef, type ObjectOf, optional, record, text } from 'kube-control-loop'
import { age, family, group, scope, version } from './group.ts'

/** A range that blocks are taken from. */
export const IPPool = defineKind({
  group,
  version,
  kind: 'IPPool',
  plural: 'ippools',
  scope: 'Cluster',
  shortNames: ['ippool'],
  description: 'A range that blocks are taken from.',
  columns: [{ name: 'CIDR', type: 'string', jsonPath: '.spec.cidr' }, age],
  spec: record(
    {
      cidr: text({ description: 'The range.' }),
      ipFamily: family('Its family.'),
      parentPoolRef: optional(nameRef('The pool that it was carved from.')),
      classNames: optional(list(text(), { description: 'Classes that it serves.' })),
      scope: optional(scope('What it is for, by role; absent: for all.')),
    },
    { description: 'The range and whom it serves.' },
  ),
  status: record({ allocatedCIDR: optional(text({ description: 'The range.' })) }, { description: 'The range that is held.' }),
})
export type IPPool = ObjectOf<typeof IPPool>
