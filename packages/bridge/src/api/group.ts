/** What the kinds of this package share. */
import { type CelRule, list, text } from 'kube-control-loop'

export const group = 'bridge.datumapis.com'
export const version = 'v1alpha1'

export const age = { name: 'AGE', type: 'date', jsonPath: '.metadata.creationTimestamp' } as const

export const readyColumn = {
  name: 'READY',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
} as const

/** A device as the kernel names it: at most 15 bytes. Only names of this shape get into CNI configuration. */
export const bridgeName = (description: string) =>
  text({ description, minLength: 1, maxLength: 15, pattern: '^[a-z][a-z0-9-]*$' })

const ofRanges: readonly CelRule[] = [
  { rule: 'self.all(r, isCIDR(r))', message: 'each range must be a valid IPv4 or IPv6 CIDR' },
  {
    rule: 'self.all(r, !isCIDR(r) || cidr(r).prefixLength() > 0)',
    message: 'no range may be a whole family: it would be a default route',
  },
]

/** Each becomes a route on the link of a workload. */
export const rangeList = (
  description: string,
  { minItems = 0, rules = [] }: { minItems?: number; rules?: readonly CelRule[] } = {},
) =>
  list(text({ description: 'A range in CIDR notation.', maxLength: 64 }), {
    description,
    ...(minItems > 0 ? { minItems } : {}),
    maxItems: 64,
    rules: [...ofRanges, ...rules],
  })
