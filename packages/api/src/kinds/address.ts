/** Addresses as interfaces and claims list them. */
import { flag, optional, record, type Static, text } from 'kube-control-loop'
import { addressFamily } from './group.ts'

export const heldAddress = record(
  {
    family: addressFamily('Family of the address.'),
    address: text({
      description: 'The address in CIDR notation; for IPv6 it may be a block that the interface divides itself.',
      minLength: 1,
      maxLength: 45,
    }),
    gateway: optional(text({ description: 'Next hop of this family. Absent until its subnet is known.', maxLength: 45 })),
    primary: optional(flag({ description: 'Whether single-address fields show this one: that of the first family asked for.' })),
    class: optional(text({ description: 'Class it was allocated from. Empty for one asked for by family.', maxLength: 63 })),
  },
  { description: 'An address inside the network.' },
)

export const externalAddress = record(
  {
    family: addressFamily('Family of the address.'),
    address: text({ description: 'The address without prefix length.', minLength: 1, maxLength: 45 }),
    class: text({ description: 'Class it was allocated from.', minLength: 1, maxLength: 63 }),
  },
  { description: 'An address outside the network, mapped onto the inner one of its family.' },
)

export type InterfaceAddress = Static<typeof heldAddress>
export type ExternalAddress = Static<typeof externalAddress>
