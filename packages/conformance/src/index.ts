/** The conformance suite for data planes: the contract's rules, and the cases that try them. */
export { type Limits, ordinaryLimits } from './bench.ts'
export { type OutputFormat, outputFormats, type Printer, printers } from './output/index.ts'
export type { At, PlaneUnderTest } from './plane-under-test.ts'
export { type ConformanceReport, notTried, problemsOf, reportOf, suiteVersion, writeReport } from './report.ts'
export { type CaseResult, type Features, mustFailures, type Results } from './results.ts'
export { type CaseName, contractVersion, type Level, type Rule, rules } from './rules.ts'
export { type ConformanceOptions, runConformance } from './run.ts'
export { type Evidence, NothingTried, type Verdict } from './verdict.ts'
