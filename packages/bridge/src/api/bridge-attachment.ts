import {
  type CelRule,
  conditions,
  defineKind,
  immutable,
  int32,
  int64,
  list,
  nameRef,
  type ObjectOf,
  optional,
  record,
  setOnce,
  text,
} from 'kube-control-loop'
import { age, bridgeName, group, rangeList, readyColumn, version } from './group.ts'

/** What the kernel refuses, or takes for a default route, is refused before a workload meets it. */
const addressRules: readonly CelRule[] = [
  { rule: 'self.all(a, isCIDR(a))', message: 'each address must be a valid IPv4 or IPv6 CIDR' },
  {
    rule: '!self.all(a, isCIDR(a)) || self.all(a, cidr(a).prefixLength() > 0)',
    message: 'no address may have the length 0: it would be a default route',
  },
  {
    rule: '!self.all(a, isCIDR(a)) || self.all(a, self.exists_one(b, cidr(a).ip() == cidr(b).ip()))',
    message: 'each address may be given once',
  },
]

const link = record(
  {
    name: text({
      description: 'Device name that the workload is to see; its Pod asks for it by the same name.',
      minLength: 1,
      maxLength: 15,
      default: 'eth0',
    }),
    // 1280 bytes is the least an IPv6 link carries (RFC 8200, section 5).
    mtu: optional(
      int32({ description: 'Largest packet, in bytes. Absent: the kernel decides.', minimum: 1280, maximum: 65_535 }),
    ),
    addresses: optional(
      list(text({ description: 'An address with prefix length.', maxLength: 64 }), {
        description: 'Addresses of the interface. Empty when the workload gives itself addresses.',
        maxItems: 16,
        rules: addressRules,
      }),
    ),
    gateways: optional(
      list(text({ description: 'An address.', maxLength: 45 }), {
        description: 'Next hops, at most one of a family. No route leads there unless the Pod asks for one.',
        maxItems: 16,
        rules: [{ rule: 'self.all(g, isIP(g))', message: 'each gateway must be a valid IPv4 or IPv6 address' }],
      }),
    ),
  },
  { description: 'The interface that is asked for.' },
)

/** One interface on a bridge: a rendered CNI configuration, and a report on whether a Pod has it. */
export const BridgeAttachment = defineKind({
  group,
  version,
  kind: 'BridgeAttachment',
  plural: 'bridgeattachments',
  shortNames: ['batt'],
  description: 'One interface on a bridge network.',
  columns: [
    { name: 'NETWORK', type: 'string', jsonPath: '.spec.network.name' },
    { name: 'BRIDGE', type: 'string', jsonPath: '.status.bridge' },
    readyColumn,
    { name: 'PROGRAMMED', type: 'string', jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
    age,
  ],
  spec: record(
    {
      network: nameRef('The BridgeNetwork, of the same namespace.', { minLength: 1, rules: immutable('network') }),
      interface: link,
      ranges: optional(
        rangeList(
          'Ranges on its link besides those of the network: it reaches them without a router. With hostGateway only the network’s count.',
        ),
      ),
    },
    { description: 'What is asked for.' },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      bridge: optional(bridgeName('Bridge device that the interface is on.')),
      networkAttachmentDefinition: optional(text({ description: 'The network definition that Pods name.', minLength: 1 })),
      conditions: optional(conditions('Ready: a workload may start with it. Programmed: a Pod has it.')),
    },
    { description: 'What the attachment was given and how it is.' },
  ),
  rules: [setOnce('bridge')],
})
export type BridgeAttachment = ObjectOf<typeof BridgeAttachment>
