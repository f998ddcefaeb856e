import { conditions, defineKind, list, type ObjectOf, oneOf, optional, record, seeded, text } from 'kube-control-loop'
import { addressFamily, age, conditionColumn, group, mtu, poolClaimRef, version } from './group.ts'

/** A network of a user. It exists in a location by a NetworkContext. */
export const Network = defineKind({
  group,
  version,
  kind: 'Network',
  plural: 'networks',
  description: 'A network that interfaces can be on. Each location that carries it has a NetworkContext of its own.',
  columns: [
    { name: 'IPv6Prefix', type: 'string', jsonPath: '.status.ipam.ipv6Prefix' },
    conditionColumn('Ready', 'Ready'),
    conditionColumn('Reason', 'Ready', 'reason'),
    age,
    { name: 'IPFamilies', type: 'string', jsonPath: '.spec.ipFamilies', priority: 1 },
    { name: 'IPAM', type: 'string', jsonPath: '.spec.ipam.mode', priority: 1 },
    { name: 'MTU', type: 'integer', jsonPath: '.spec.mtu', priority: 1 },
  ],
  spec: record(
    {
      ipam: record(
        {
          mode: oneOf(['Auto', 'Policy'], {
            description: 'Auto: ranges are chosen for the network. Policy: a policy gives them.',
          }),
          ipv4Range: optional(text({ description: 'IPv4 range to take subnets from. Absent: 10.128.0.0/9.' })),
          ipv6Range: optional(text({ description: 'IPv6 range to take subnets from. Absent: a /48 of fd20::/20.' })),
        },
        { description: 'How the network gets its ranges.' },
      ),
      ipFamilies: list(addressFamily('An address family.'), {
        description: 'Families that the network carries.',
        default: ['IPv6'],
      }),
      mtu: mtu('Largest packet of the network, in bytes.', 1460),
    },
    { description: 'What the network is to be.' },
  ),
  status: record(
    {
      ipam: optional(
        record(
          {
            ipv6Prefix: optional(text({ description: 'The /48 that the network holds.' })),
            ipv6PrefixRef: optional(poolClaimRef('Where that prefix is allocated, when an address service did it.')),
          },
          { description: 'Ranges that the network holds.' },
        ),
      ),
      conditions: optional(conditions('IPAMAllocated: its ranges are held. Ready: interfaces may use it.')),
    },
    { description: 'What is known of the network.', default: seeded('Ready') },
  ),
})
export type Network = ObjectOf<typeof Network>
