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
