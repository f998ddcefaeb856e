import { conditions, defineKind, int32, nameRef, type ObjectOf, optional, record, seeded, text } from 'kube-control-loop'
import { addressFamily, age, conditionColumn, group, version } from './group.ts'

/** A range of one family in one context. The gateway is its start address plus one. */
export const Subnet = defineKind({
  group,
  version,
  kind: 'Subnet',
  plural: 'subnets',
  description: 'A range of addresses of one family in one network context.',
  columns: [
    age,
    conditionColumn('Ready', 'Ready'),
    conditionColumn('Reason', 'Ready', 'reason'),
    { name: 'Start Address', type: 'string', jsonPath: '.status.startAddress' },
    { name: 'Prefix Length', type: 'integer', jsonPath: '.status.prefixLength' },
    { name: 'Context', type: 'string', jsonPath: '.spec.networkContext.name', priority: 1 },
    { name: 'Class', type: 'string', jsonPath: '.spec.subnetClass', priority: 1 },
    { ...conditionColumn('Allocated', 'Allocated'), priority: 1 },
  ],
  spec: record(
    {
      subnetClass: text({ description: 'Class of the range: "private", or the class that claims ask for by name.' }),
      networkContext: nameRef('The context that the range belongs to.'),
      location: nameRef('Where the range is used.'),
      ipFamily: addressFamily('Family of the range.'),
      startAddress: text({ description: 'First address of the range.' }),
      prefixLength: int32({ description: 'Length of the prefix, in bits.' }),
    },
    { description: 'The range that is asked for.' },
  ),
  status: record(
    {
      startAddress: optional(text({ description: 'First address of the range that is held.' })),
      prefixLength: optional(int32({ description: 'Length of the held prefix, in bits.' })),
      conditions: optional(conditions('Allocated: the range is held. Programmed, Ready: whether routers carry it.')),
    },
    {
      description: 'The range that is held; it wins over the one asked for.',
      default: seeded('Allocated', 'Programmed', 'Ready'),
    },
  ),
})
export type Subnet = ObjectOf<typeof Subnet>
