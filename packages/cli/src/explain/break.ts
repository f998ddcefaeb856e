import type { StoredCondition } from '../owners/stored.ts'
import type { Facts } from './facts.ts'
import type { ObjectName } from './model.ts'

/**
 * Where a chain stops, and why: the rest of a sentence that begins with the object. `said`: the condition, of an object of which
 * kind, that says so; what it is about and what is to be done is documented by its reason.
 */
export type Break = { at: ObjectName; because: string; said?: Said }

export type Said = { readonly apiVersion: string; readonly kind: string; readonly condition: StoredCondition }

/** Looks at one hop; undefined where nothing is wrong with it. */
export type Check = (facts: Facts) => Break | undefined

/** Fields of a break that name the condition; none where there is no condition. */
export const saidBy = (
  { apiVersion, kind }: { apiVersion: string; kind: string },
  condition: StoredCondition | undefined,
): Pick<Break, 'said'> => (condition ? { said: { apiVersion, kind, condition } } : {})
