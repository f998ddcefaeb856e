/** Where NSO took a condition from that it translates: what managedFields cannot tell. */
import { int64, list, oneOf, optional, record, type Static, text } from 'kube-control-loop'

/** Conditions that repeat a report of a data plane. */
const translatedTypes = ['Prepared', 'Programmed'] as const

const conditionSource = record(
  {
    type: oneOf(translatedTypes, { description: 'The condition of this status that was translated.' }),
    dataPlane: text({ description: 'Name of the DataPlane that says how to translate.', minLength: 1, maxLength: 253 }),
    object: record(
      {
        apiVersion: text({ description: 'Its apiVersion.', minLength: 1, maxLength: 317 }),
        kind: text({ description: 'Its kind.', minLength: 1, maxLength: 63 }),
        name: text({ description: 'Its name, in this namespace.', minLength: 1, maxLength: 253 }),
        uid: text({ description: 'Its uid: one made again under the name is another.', minLength: 1, maxLength: 128 }),
      },
      { description: 'The object of the data plane whose status was read.' },
    ),
    generation: optional(
      int64({ description: 'Generation of that object, against which the report was checked for being current.', minimum: 0 }),
    ),
    condition: text({ description: 'Type of the condition there.', minLength: 1, maxLength: 316 }),
    manager: optional(
      text({ description: 'Field manager that had set that condition. Absent: none is recorded.', minLength: 1, maxLength: 128 }),
    ),
  },
  { description: 'Where one condition was translated from.' },
)

export type ConditionSource = Static<typeof conditionSource>

/** The `conditionSources` of a status. No entry: the condition of that type is not translated from an object. */
export const conditionSources = optional(
  list(conditionSource, {
    description: 'Where conditions come from that repeat a report of the data plane: at most one entry for each.',
    maxItems: translatedTypes.length,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  }),
)
