import type { Facts } from './facts.ts'
import type { ObjectName } from './model.ts'

/** Where a chain stops, and why: the rest of a sentence that begins with the object. */
export type Break = { at: ObjectName; because: string }

/** Looks at one hop; undefined where nothing is wrong with it. */
export type Check = (facts: Facts) => Break | undefined
