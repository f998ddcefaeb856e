import {
  conditions,
  defineKind,
  int64,
  list,
  nameRef,
  type ObjectOf,
  oneOf,
  optional,
  record,
  setOnce,
  text,
} from 'kube-control-loop'
import { age, attachmentModes, cidrs, filled, group, identifier, mtu, version } from './group.ts'

const egress = record(
  {
    internet: optional(
      record(
        {
          sourceAddresses: optional(
            list(
              record({
                family: text({ description: 'Address family.', maxLength: 16 }),
                address: text({ description: 'The address.', maxLength: 64 }),
                stability: optional(text({ description: 'How long it stays the same.', maxLength: 63 })),
              }),
              { description: 'Addresses that the interface is seen with.', maxItems: 2 },
            ),
          ),
        },
        { description: 'The way to the internet.' },
      ),
    ),
  },
  { description: 'Ways out of the network.' },
)

/** One interface on a VPC. It gets an identifier, a rendered CNI configuration, and a report on whether it carries traffic. */
export const VPCAttachment = defineKind({
  group,
  version,
  kind: 'VPCAttachment',
  plural: 'vpcattachments',
  description: 'One interface on a virtual network.',
  columns: [
    { ...age, name: 'Age' },
    { name: 'VPC', type: 'string', jsonPath: '.spec.vpc.name', priority: 1 },
    { name: 'Node', type: 'string', jsonPath: '.status.node', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
    { name: 'Programmed', type: 'string', jsonPath: '.status.conditions[?(@.type=="Programmed")].status', priority: 1 },
  ],
  spec: record(
    {
      vpc: nameRef('The network that the interface is on.', { minLength: 1 }),
      interfaceRef: optional(nameRef('The object that asks for the attachment. For people; it is not read.', { minLength: 1 })),
      interface: record(
        {
          name: text({ description: 'Device name that the guest sees.', default: 'eth0' }),
          mode: oneOf(attachmentModes, { description: 'How the workload takes the interface.', default: 'Netns' }),
          mtu: mtu('Largest packet, in bytes. Absent: the plugin decides.'),
          addresses: optional(cidrs('Addresses of the interface. Empty when the guest gives itself addresses.', 16)),
          gateways: optional(
            list(text({ description: 'An address.', maxLength: 45 }), {
              description: 'Next hops, at most one of a family; each goes with the addresses of its family.',
              maxItems: 16,
            }),
          ),
        },
        {
          description: 'The interface that is asked for.',
          rules: [
            {
              rule: '!has(self.addresses) || self.addresses.all(a, isCIDR(a))',
              message: 'each address must be a valid IPv4 or IPv6 CIDR',
            },
            {
              rule: '!has(self.gateways) || self.gateways.all(g, isIP(g))',
              message: 'each gateway must be a valid IPv4 or IPv6 address',
            },
          ],
        },
      ),
    },
    { description: 'What is asked for.' },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      vpc: optional(identifier('Identifier of the network, base62.')),
      vpcAttachment: optional(identifier('Identifier of the attachment within the network, base62.')),
      networkAttachmentDefinition: optional(filled('The network definition that pods name.')),
      node: optional(filled('Node that carries the attachment.')),
      podName: optional(filled('Pod that uses the attachment.')),
      containerID: optional(text({ description: 'Sandbox that uses the attachment.', minLength: 46, maxLength: 46 })),
      hostInterface: optional(filled('Device on the side of the node.')),
      vrfInterface: optional(filled('Device of the network on the node.')),
      guestInterface: optional(filled('Device on the side of the guest.')),
      podSubnet: optional(
        text({
          description: 'Range that the node gave the attachment.',
          minLength: 1,
          maxLength: 64,
          rules: [{ rule: 'isCIDR(self)', message: 'podSubnet must be a valid CIDR' }],
        }),
      ),
      egress: optional(egress),
      conditions: optional(conditions('Ready: a workload may start with it. Programmed: traffic flows.')),
    },
    { description: 'What the attachment was given and how it is.' },
  ),
  rules: [setOnce('vpc'), setOnce('vpcAttachment')],
})
export type VPCAttachment = ObjectOf<typeof VPCAttachment>
