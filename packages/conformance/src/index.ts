/** The conformance suite for data planes: the contract's rules, and the cases that try them. */
export type { At, PlaneUnderTest } from './plane-under-test.ts'
export { type CaseName, contractVersion, type Level, type Rule, rules } from './rules.ts'
