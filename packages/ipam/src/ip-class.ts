import { defineKind, int32, list, type ObjectOf, optional, record, text } from 'kube-control-loop'
import { family, group, version } from './group.ts'

/** `"true"` on the class that serves claims of its family which name none. */
export const defaultClassAnnotation = 'ipam.miloapis.com/is-default-class'

/** A kind of address that can be asked for by name. */
export const IPClass = defineKind({
  group,
  version,
  kind: 'IPClass',
  plural: 'ipclasses',
  scope: 'Cluster',
  description: 'A kind of address that can be asked for by name.',
  columns: [{ name: 'Family', type: 'string', jsonPath: '.spec.ipFamily' }],
  spec: record(
    {
      ipFamily: family('Family of its blocks.'),
      parentClassName: optional(text({ description: 'Class whose blocks become the pools of this one.' })),
      poolPer: optional(list(text(), { description: 'Roles of the scope that have a pool of their own.' })),
      uniqueWithin: optional(list(text(), { description: 'Roles of the scope within which a block is held once.' })),
      defaultPrefixLength: optional(int32({ description: 'Length of a block where none is asked for.' })),
      allowedPrefixLengths: optional(
        record(
          {
            min: optional(int32({ description: 'Shortest, which is the largest block.' })),
            max: optional(int32({ description: 'Longest.' })),
          },
          { description: 'Lengths that may be asked for; absent: only the default.' },
        ),
      ),
      reservations: optional(
        record(
          {
            leading: optional(int32({ description: 'How many units at the start are never given.' })),
            unitPrefixLength: optional(int32({ description: 'Length of such a unit.' })),
          },
          { description: 'What is never given.' },
        ),
      ),
    },
    { description: 'What is offered.' },
  ),
})
export type IPClass = ObjectOf<typeof IPClass>
