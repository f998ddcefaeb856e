import { conditions, defineKind, immutable, int64, list, type ObjectOf, optional, record, setOnce, text } from 'kube-control-loop'
import { age, group, identifier, version } from './group.ts'

/** A virtual network. Its identifier is given here, once. */
export const VPC = defineKind({
  group,
  version,
  kind: 'VPC',
  plural: 'vpcs',
  description: 'A virtual network that attachments are on.',
  columns: [
    { name: 'VPC', type: 'string', jsonPath: '.status.vpc' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { ...age, name: 'Age', priority: 1 },
  ],
  spec: record(
    {
      networks: list(text({ description: 'A range in CIDR notation.', maxLength: 64 }), {
        description: 'Ranges that addresses of the network are from.',
        minItems: 1,
        maxItems: 64,
        rules: [{ rule: 'self.all(n, isCIDR(n))', message: 'each network must be a valid IPv4 or IPv6 CIDR' }],
      }),
    },
    { description: 'The network that is asked for.', rules: immutable('spec') },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      vpc: identifier('Identifier of the network, base62.'),
      conditions: optional(conditions('Ready: the network has its identifier.')),
    },
    { description: 'What the network was given.' },
  ),
  rules: [setOnce('vpc')],
})
export type VPC = ObjectOf<typeof VPC>
