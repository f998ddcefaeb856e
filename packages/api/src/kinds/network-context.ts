import {
  anything,
  conditions,
  defineKind,
  int64,
  list,
  nameRef,
  type ObjectOf,
  optional,
  record,
  seeded,
  text,
} from 'kube-control-loop'
import { addressFamily, age, conditionColumn, group, mtu, poolClaimRef, version } from './group.ts'

const egress = record(
  {
    internet: optional(
      record(
        {
          mode: optional(text({ description: 'Whether interfaces reach the internet.', maxLength: 63 })),
          className: optional(text({ description: 'Class of the egress service.', maxLength: 253 })),
          sharing: optional(text({ description: 'Whether egress addresses are shared.', maxLength: 63 })),
          parametersRef: optional(anything({ description: 'Parameters of the class.' })),
        },
        { description: 'The way to the internet.' },
      ),
    ),
  },
  { description: 'Ways out of the network, as projected from it.' },
)

/** The presence of a network in one location, named `<network>-<location>`. In a cell it may arrive by propagation: spec only. */
export const NetworkContext = defineKind({
  group,
  version,
  kind: 'NetworkContext',
  plural: 'networkcontexts',
  description: 'The presence of a network in one location.',
  columns: [
    age,
    conditionColumn('Ready', 'Ready'),
    conditionColumn('Reason', 'Ready', 'reason'),
    { name: 'IPv6Subnet', type: 'string', jsonPath: '.status.ipam.ipv6SubnetRef.name' },
    { name: 'Network', type: 'string', jsonPath: '.spec.network.name', priority: 1 },
    { name: 'Location', type: 'string', jsonPath: '.spec.location.name', priority: 1 },
    { name: 'IPFamilies', type: 'string', jsonPath: '.spec.ipFamilies', priority: 1 },
  ],
  spec: record(
    {
      network: nameRef('The network that is present.'),
      location: nameRef('Where it is present.'),
      ipFamilies: optional(
        list(addressFamily('An address family.'), {
          description: 'Families carried here. Absent: not known, and readers must not guess.',
          minItems: 1,
          maxItems: 2,
        }),
      ),
      mtu: optional(mtu('Largest packet, in bytes.')),
      networkGeneration: optional(int64({ description: 'Generation of the network that this was projected from.' })),
      egress: optional(egress),
    },
    { description: 'Which network is present where, and how.' },
  ),
  status: record(
    {
      ipam: optional(
        record(
          {
            ipv6SubnetRef: optional(nameRef('The subnet that holds the IPv6 range of this context.')),
            ipv6ClaimRef: optional(poolClaimRef('Where that range is allocated, when an address service did it.')),
          },
          { description: 'Ranges that the context holds.' },
        ),
      ),
      conditions: optional(conditions('IPAMAllocated: its ranges are held. Ready: interfaces may use it.')),
    },
    { description: 'What is known of the context. Absent where contexts only propagate.', default: seeded('Ready') },
  ),
})
export type NetworkContext = ObjectOf<typeof NetworkContext>
