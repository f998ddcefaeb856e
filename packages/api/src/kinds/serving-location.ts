import { defineKind, int64, type ObjectOf, optional, record, text, textMap } from 'kube-control-loop'
import { age, group, version } from './group.ts'

/** A location that this cluster serves. Exactly one of them is the identity of a cell. */
export const ServingLocation = defineKind({
  group,
  version,
  kind: 'ServingLocation',
  plural: 'servinglocations',
  scope: 'Cluster',
  description: 'A location that this cluster serves; its name is the name of the location.',
  columns: [
    { name: 'City', type: 'string', jsonPath: '.spec.topology.topology\\.datum\\.net/city-code' },
    { name: 'Region', type: 'string', jsonPath: '.spec.topology.topology\\.datum\\.net/region' },
    { name: 'Source Generation', type: 'integer', jsonPath: '.spec.source.generation' },
    age,
  ],
  spec: record(
    {
      topology: textMap({
        description: 'Where the location is.',
        minProperties: 1,
        rules: [
          {
            rule: "'topology.datum.net/city-code' in self && self['topology.datum.net/city-code'] != ''",
            message: 'topology must carry a non-empty topology.datum.net/city-code',
          },
        ],
      }),
      source: optional(
        record(
          {
            generation: optional(int64({ description: 'Generation of the record.' })),
            publishedAt: optional(text({ description: 'When its content last changed.', format: 'date-time' })),
          },
          { description: 'The record that this is a copy of.' },
        ),
      ),
    },
    { description: 'Identity and place of the location.' },
  ),
})
export type ServingLocation = ObjectOf<typeof ServingLocation>
