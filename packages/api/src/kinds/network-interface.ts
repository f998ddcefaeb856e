import {
  conditions,
  defineKind,
  immutable,
  list,
  nameRef,
  type ObjectOf,
  oneOf,
  optional,
  record,
  seeded,
  text,
} from 'kube-control-loop'
import { externalAddress, heldAddress } from './address.ts'
import { conditionSources } from './condition-source.ts'
import { age, attachmentModes, conditionColumn, deviceName, group, mtu, reclaimPolicies, version } from './group.ts'

/** An interface on a network with the addresses it holds. Made for a claim; with Retain it outlives it. */
export const NetworkInterface = defineKind({
  group,
  version,
  kind: 'NetworkInterface',
  plural: 'networkinterfaces',
  description: 'An interface on a network with the addresses it holds. It is made for a claim.',
  columns: [
    age,
    { name: 'Network', type: 'string', jsonPath: '.spec.network.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Claim', type: 'string', jsonPath: '.spec.claimRef.name' },
    conditionColumn('Allocated', 'Allocated'),
    conditionColumn('Prepared', 'Prepared'),
    conditionColumn('Programmed', 'Programmed'),
    { name: 'Address', type: 'string', jsonPath: '.spec.addresses[0].address', priority: 1 },
    { name: 'Reclaim', type: 'string', jsonPath: '.spec.reclaimPolicy', priority: 1 },
    { name: 'Attachment', type: 'string', jsonPath: '.status.attachmentRef.kind', priority: 1 },
  ],
  spec: record(
    {
      network: nameRef('Network of the interface, in this namespace.', { rules: immutable('network') }),
      claimRef: optional(
        nameRef('The claim that holds the interface. Absent: retained, waiting for a claim.', { minLength: 1, maxLength: 253 }),
      ),
      interfaceName: text({ description: 'Device name that the guest sees.', ...deviceName }),
      attachmentMode: oneOf(attachmentModes, { description: 'How the workload takes the interface.', default: 'Netns' }),
      mtu: optional(mtu('Largest packet, in bytes, from the network context.')),
      addresses: optional(
        list(heldAddress, {
          description: 'Addresses inside the network, one for each family, one of them primary.',
          maxItems: 4,
          rules: [
            {
              rule: 'size(self) == 0 || self.filter(a, has(a.primary) && a.primary).size() == 1',
              message: 'exactly one address must be primary',
            },
            {
              rule: 'self.all(a, self.exists_one(b, b.family == a.family))',
              message: 'only one address may be held per address family',
            },
          ],
        }),
      ),
      externalAddresses: optional(
        list(externalAddress, {
          description: 'Addresses it is reached at from outside.',
          maxItems: 4,
          rules: [
            { rule: 'self.all(a, self.exists_one(b, b.address == a.address))', message: 'external addresses must be unique' },
            {
              rule: 'self.all(a, self.exists_one(b, b.class == a.class))',
              message: 'only one external address may be held per class',
            },
          ],
        }),
      ),
      reclaimPolicy: oneOf(reclaimPolicies, {
        description: 'What becomes of the interface when its claim goes.',
        default: 'Delete',
      }),
    },
    { description: 'Everything that a data plane needs.' },
  ),
  status: record(
    {
      phase: optional(
        oneOf(['Available', 'Bound'], { description: 'Bound: a claim holds it. Available: retained, a claim may take it.' }),
      ),
      networkContextRef: optional(nameRef('The network context that the interface is in.')),
      attachmentRef: optional(
        record(
          {
            apiGroup: text({ description: 'API group of the attachment.', minLength: 1, maxLength: 253 }),
            kind: text({ description: 'Kind of the attachment.', minLength: 1, maxLength: 63 }),
            name: text({ description: 'Name of the attachment, in this namespace.', minLength: 1, maxLength: 253 }),
          },
          { description: 'The object of the data plane that realises the interface.' },
        ),
      ),
      vpc: optional(text({ description: 'Identifier of the network at the data plane, as it reports it.' })),
      conditions: optional(
        conditions(
          'Allocated: its addresses are held. Prepared: a workload may start. Programmed: traffic flows. HolderAvailable: the workload that holds it is up.',
        ),
      ),
      conditionSources,
    },
    { description: 'What is known of the interface.', default: seeded('Allocated', 'Prepared', 'Programmed') },
  ),
})
export type NetworkInterface = ObjectOf<typeof NetworkInterface>
