import { oneOf, record, text } from 'kube-control-loop'
import { Type } from 'typebox'

export const group = 'ipam.miloapis.com'
export const version = 'v1alpha1'

export const family = (description: string) => oneOf(['IPv4', 'IPv6'], { description })
export const reclaim = (description: string, more: { default?: 'Delete' } = {}) =>
  oneOf(['Delete', 'Retain'], { description, ...more })

/** What a block is for, by role: the uniqueness and the pool of an answer follow from it. */
export type ScopeReference = { apiGroup: string; kind: string; name: string }

const reference = record(
  {
    apiGroup: text({ description: 'API group of the object.' }),
    kind: text({ description: 'Kind of the object.' }),
    name: text({ description: 'Name of the object.' }),
  },
  { description: 'An object by name.' },
)

export const scope = (description: string) =>
  Type.Unsafe<Record<string, ScopeReference>>({ type: 'object', additionalProperties: reference, description })

export const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' } as const
