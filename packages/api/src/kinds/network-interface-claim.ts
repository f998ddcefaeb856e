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
import { addressFamily, age, attachmentModes, conditionColumn, deviceName, group, reclaimPolicies, version } from './group.ts'

/** A rule on the whole spec: a rule on the field itself would not see it being set or cleared. */
const fixedFromCreation = (field: string) => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} cannot be set, changed or cleared after creation`,
})

/** A workload's request for an interface on a network. Everything in it is fixed at creation. */
export const NetworkInterfaceClaim = defineKind({
  group,
  version,
  kind: 'NetworkInterfaceClaim',
  plural: 'networkinterfaceclaims',
  description: "A workload's request for an interface on a network.",
  columns: [
    age,
    { name: 'Network', type: 'string', jsonPath: '.spec.network.name' },
    { name: 'Interface', type: 'string', jsonPath: '.status.networkInterfaceRef.name' },
    conditionColumn('Ready', 'Ready'),
    conditionColumn('Reason', 'Ready', 'reason'),
    { name: 'Address', type: 'string', jsonPath: '.status.addresses[0].address', priority: 1 },
    { name: 'Reclaim', type: 'string', jsonPath: '.spec.reclaimPolicy', priority: 1 },
  ],
  spec: record(
    {
      network: nameRef('Network of the interface, in this namespace.', { rules: immutable('network') }),
      interfaceName: text({ description: 'Device name that the guest sees.', ...deviceName, rules: immutable('interfaceName') }),
      attachmentMode: oneOf(attachmentModes, {
        description: 'How the workload takes the interface: into a network namespace, or handed to a hypervisor.',
        default: 'Netns',
        rules: immutable('attachmentMode'),
      }),
      ipFamilies: list(addressFamily('An address family.'), {
        description: 'One address of each; the first is the primary one.',
        default: ['IPv6'],
        minItems: 1,
        maxItems: 2,
        rules: [
          { rule: 'self.all(f, self.exists_one(g, g == f))', message: 'ipFamilies must be unique' },
          ...immutable('ipFamilies'),
        ],
      }),
      addresses: optional(
        list(
          record(
            { class: text({ description: 'Class to allocate from.', minLength: 1, maxLength: 63 }) },
            { description: 'One address of a class.' },
          ),
          {
            description: 'Further addresses, asked for by class: usually external ones.',
            minItems: 1,
            maxItems: 4,
            rules: [{ rule: 'self.all(a, self.exists_one(b, b.class == a.class))', message: 'address classes must be unique' }],
          },
        ),
      ),
      reclaimPolicy: oneOf(reclaimPolicies, {
        description: 'What becomes of the interface and its addresses when the claim goes.',
        default: 'Delete',
        rules: immutable('reclaimPolicy'),
      }),
      networkInterfaceName: optional(
        text({ description: 'Interface to bind or make. Absent: one with the name of the claim.', minLength: 1, maxLength: 253 }),
      ),
    },
    {
      description: 'What is asked for.',
      rules: [fixedFromCreation('networkInterfaceName'), fixedFromCreation('addresses')],
    },
  ),
  status: record(
    {
      networkInterfaceRef: optional(nameRef('The interface that the claim holds.', { minLength: 1, maxLength: 253 })),
      addresses: optional(list(heldAddress, { description: 'Addresses of the interface inside the network.', maxItems: 4 })),
      externalAddresses: optional(
        list(externalAddress, { description: 'Addresses it is reached at from outside.', maxItems: 4 }),
      ),
      conditions: optional(
        conditions(
          'Bound: an interface is held. Allocated: its addresses are. Prepared: a workload may start. Programmed: traffic flows. Ready: all of these.',
        ),
      ),
      conditionSources,
    },
    { description: 'What the claim got.', default: seeded('Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready') },
  ),
})
export type NetworkInterfaceClaim = ObjectOf<typeof NetworkInterfaceClaim>
