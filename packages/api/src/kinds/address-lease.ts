import { defineKind, immutable, nameRef, type ObjectOf, optional, record, text } from 'kube-control-loop'
import { addressFamily, age, group, version } from './group.ts'

/**
 * One address, held. Its name is made from the address, so that creating it is the lock: of two holders one is refused.
 * It has no owner reference: an address is given back only after its attachment is gone, which no collector knows.
 */
export const AddressLease = defineKind({
  group,
  version,
  kind: 'AddressLease',
  plural: 'addressleases',
  description: 'An address or block of a network that one claim holds. Its name is the lock.',
  columns: [
    { name: 'Address', type: 'string', jsonPath: '.spec.address' },
    { name: 'Context', type: 'string', jsonPath: '.spec.networkContext.name' },
    { name: 'Claim', type: 'string', jsonPath: '.spec.holder.claimName' },
    { name: 'Class', type: 'string', jsonPath: '.spec.holder.class', priority: 1 },
    age,
  ],
  spec: record(
    {
      network: nameRef('The network, in which no other lease holds the address.', { minLength: 1, maxLength: 253 }),
      networkContext: nameRef('The context whose range the address is from.', { minLength: 1, maxLength: 253 }),
      subnet: optional(nameRef('The subnet that the address is from.', { minLength: 1, maxLength: 253 })),
      family: addressFamily('Family of the address.'),
      address: text({
        description: 'The address or block in CIDR notation, in canonical form.',
        minLength: 1,
        maxLength: 45,
        rules: [{ rule: 'isCIDR(self)', message: 'address must be a valid IPv4 or IPv6 CIDR' }],
      }),
      holder: record(
        {
          claimName: text({ description: 'Claim that the address was allocated for.', minLength: 1, maxLength: 253 }),
          claimUID: text({
            description: 'Its uid: a claim made again under the name is another holder.',
            minLength: 1,
            maxLength: 63,
          }),
          family: optional(addressFamily('The request of the claim, when it asked by family.')),
          class: optional(
            text({ description: 'The request of the claim, when it asked by class.', minLength: 1, maxLength: 63 }),
          ),
        },
        {
          description: 'Who holds it, and for which of its requests.',
          rules: [{ rule: 'has(self.family) != has(self.class)', message: 'exactly one of family and class must be set' }],
        },
      ),
    },
    { description: 'What is held, and by whom.', rules: immutable('spec') },
  ),
})
export type AddressLease = ObjectOf<typeof AddressLease>
