/** What the kinds of this group share. */
import { int32, oneOf, record, text } from 'kube-control-loop'

export const group = 'networking.datumapis.com'
export const version = 'v1alpha'

export const families = ['IPv4', 'IPv6'] as const
export type AddressFamily = (typeof families)[number]

export const attachmentModes = ['Netns', 'Hypervisor', 'HypervisorDeclared'] as const
export type AttachmentMode = (typeof attachmentModes)[number]

export const reclaimPolicies = ['Delete', 'Retain'] as const
export type ReclaimPolicy = (typeof reclaimPolicies)[number]

export const addressFamily = (description: string) => oneOf(families, { description })

/** Bounds of an MTU everywhere in these APIs. */
export const mtu = (description: string, fallback?: number) =>
  int32({ description, minimum: 1300, maximum: 8856, ...(fallback === undefined ? {} : { default: fallback }) })

/** Device names: the kernel allows 15 bytes. */
export const deviceName = { minLength: 1, maxLength: 15, default: 'eth0' }

/** A range held at an address service of a project. */
export const poolClaimRef = (description: string) =>
  record(
    {
      project: text({ description: 'Project whose address service holds it.' }),
      namespace: text({ description: 'Namespace of the claim there.' }),
      claimName: text({ description: 'Name of the claim there.' }),
      poolName: text({ description: 'Pool that it was taken from.' }),
    },
    { description },
  )

export const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' } as const

/** A print column for one condition: its status, or its reason. */
export const conditionColumn = (name: string, type: string, field: 'status' | 'reason' = 'status') =>
  ({ name, type: 'string', jsonPath: `.status.conditions[?(@.type=="${type}")].${field}` }) as const
