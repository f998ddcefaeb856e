/** What the kinds of this package share. */
import { int32, list, oneOf, optional, record, text } from 'kube-control-loop'

export const group = 'cloud.datumapis.com'
export const version = 'v1alpha1'

/** Group of the routing kinds: written by node agents and routers, read here. */
export const routingGroup = 'network.datumapis.com'
export const routingVersion = 'v1alpha1'

export const attachmentModes = ['Netns', 'Hypervisor', 'HypervisorDeclared'] as const
export type AttachmentMode = (typeof attachmentModes)[number]

export const age = { name: 'AGE', type: 'date', jsonPath: '.metadata.creationTimestamp' } as const

/** A base62 identifier as it stands in statuses, labels and rendered configuration. */
export const identifier = (description: string) => text({ description, minLength: 1, maxLength: 16 })

export const filled = (description: string) => text({ description, minLength: 1 })

export const cidrs = (description: string, maxItems: number) =>
  list(text({ description: 'An address with prefix length.', maxLength: 64 }), { description, maxItems })

export const mtu = (description: string) => optional(int32({ description, minimum: 1300, maximum: 8856 }))

/**
 * Set once, then neither changed nor cleared. The rule stands on the whole object, so that clearing the status is refused too.
 * A refusal means that another leader was first: read the object and use its value.
 */
export const writeOnce = (field: string) => ({
  rule: `!has(oldSelf.status) || !has(oldSelf.status.${field}) || (has(self.status) && has(self.status.${field}) && self.status.${field} == oldSelf.status.${field})`,
  message: `status.${field} is written once`,
})

export const addressFamily = record(
  {
    afi: oneOf(['ipv4', 'ipv6', 'l2vpn'], { description: 'Address family.' }),
    safi: oneOf(['unicast', 'evpn'], { description: 'Subsequent address family.' }),
  },
  {
    description: 'A BGP address family.',
    rules: [
      {
        rule: "self.afi == 'l2vpn' ? self.safi == 'evpn' : self.safi == 'unicast'",
        message: 'l2vpn goes with evpn, ipv4 and ipv6 with unicast',
      },
    ],
  },
)
