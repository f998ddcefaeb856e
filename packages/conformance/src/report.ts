/**
 * The report of a run, as a file that stays: what was tried, what came of it, and who signs it off. Its digest tells that nothing in it
 * was changed since; it proves nothing about who wrote it. Format: docs/conformance/README.md.
 */
import { createHash } from 'node:crypto'
import { parse, stringify } from 'yaml'
import { ordinaryLimits } from './bench.ts'
import { oneLine } from './output/line.ts'
import { type CaseResult, type Features, mustFailures, type Results } from './results.ts'
import { contractVersion, type Level, rules } from './rules.ts'

/** Version of the suite; of its package. */
export const suiteVersion = '0.1.0'

export type ReportedResult = {
  rule: string
  case: string
  level: Level
  outcome: CaseResult['outcome']
  reason?: string
  ms: number
  measured?: Readonly<Record<string, number>>
}

export type ConformanceReport = {
  kind: 'ConformanceReport'
  plane: string
  planeVersion: string
  contract: string
  suite: string
  kubernetes: string
  /** RFC 3339, when the run began. */
  date: string
  features: Features
  summary: { passed: number; skipped: number; failed: number; mustFailed: number }
  results: ReportedResult[]
  signedOff: { by?: string; sha256: string }
}

export function reportOf(results: Results, signedOffBy?: string): ConformanceReport {
  const unsigned = {
    kind: 'ConformanceReport' as const,
    ...{ plane: results.plane, planeVersion: results.planeVersion, contract: results.contract, suite: suiteVersion },
    ...{ kubernetes: results.kubernetes, date: results.startedAt.toISOString(), features: results.features },
    summary: summaryOf(results.results),
    results: results.results.map(reported),
  }
  const by = signedOffBy === undefined ? {} : { by: signedOffBy }
  return { ...unsigned, signedOff: { ...by, sha256: digestOf({ ...unsigned, signedOff: by }) } }
}

function summaryOf(results: readonly Pick<CaseResult, 'outcome' | 'level'>[]): ConformanceReport['summary'] {
  const count = (outcome: CaseResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  return {
    ...{ passed: count('pass'), skipped: count('skip'), failed: count('fail') },
    mustFailed: mustFailures({ results }).length,
  }
}

function reported(result: CaseResult): ReportedResult {
  const { rule, case: name, level, outcome, ms } = result
  return {
    ...{ rule, case: name, level, outcome },
    ...('reason' in result ? { reason: oneLine(result.reason) } : {}),
    ms,
    ...('measured' in result && result.measured ? { measured: result.measured } : {}),
  }
}

export const writeReport = (report: ConformanceReport): string => stringify(report, { lineWidth: 0 })

/** Over everything but itself, `by` included: the same for the same content, in whatever order its keys stand. */
function digestOf(report: object): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical(report)))
    .digest('hex')
}

/** Keys sorted, and what is undefined left out. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, canonical(inner)]))
}

/** What is wrong with a report, for people; empty when it holds. Never throws, whatever the text is. */
export function problemsOf(text: string): { report: ConformanceReport | undefined; problems: readonly string[] } {
  let given: unknown
  try {
    given = parse(text)
  } catch (error) {
    return { report: undefined, problems: [`it is no YAML: ${oneLine(String(error))}`] }
  }
  const missing = isMap(given) && given.kind === 'ConformanceReport' ? misshapen(given) : 'it is no ConformanceReport'
  if (missing !== undefined) return { report: undefined, problems: [missing] }
  const report = given as ConformanceReport
  const checks = [digestProblems, ruleProblems, mustProblems, sizeProblems, summaryProblems]
  return { report, problems: checks.flatMap((check) => check(report)) }
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const texts = ['plane', 'planeVersion', 'contract', 'suite', 'kubernetes', 'date'] as const

/** What keeps it from being read as a report at all. */
function misshapen(given: Readonly<Record<string, unknown>>): string | undefined {
  const { results, features, summary, signedOff } = given
  const text = texts.find((name) => typeof given[name] !== 'string')
  if (text !== undefined) return `it has no ${text}`
  if (!isMap(features)) return 'it has no features'
  if (!isMap(summary)) return 'it has no summary'
  if (signedOff !== undefined && !isMap(signedOff)) return 'signedOff is no map'
  return Array.isArray(results) && results.every(isMap) ? undefined : 'its results are no list of results'
}

function digestProblems({ signedOff, ...rest }: ConformanceReport): string[] {
  const { sha256, ...by } = signedOff ?? {}
  return sha256 === digestOf({ ...rest, signedOff: by })
    ? []
    : ['the digest does not fit: it was changed after it was signed off']
}

function ruleProblems({ contract, results }: ConformanceReport): string[] {
  if (contract !== contractVersion) return [`it is about contract ${contract}; this suite knows ${contractVersion}`]
  const key = ({ id, level, name }: { id: string; level: string; name: string }) => `${id} ${name} (${level})`
  const wanted = rules.map((rule) => key({ id: rule.id, level: rule.level, name: rule.case }))
  const given = results.map((result) => key({ id: result.rule, level: result.level, name: result.case }))
  return [
    ...wanted.filter((rule) => !given.includes(rule)).map((rule) => `${rule} was not tried`),
    ...given.filter((rule) => !wanted.includes(rule)).map((rule) => `${rule} is no rule of the contract`),
    ...given.filter((rule, at) => given.indexOf(rule) !== at).map((rule) => `${rule} stands there twice`),
  ]
}

function mustProblems({ results }: ConformanceReport): string[] {
  return results.flatMap(({ rule, case: name, level, outcome, reason }) => {
    if (level !== 'MUST' || outcome === 'pass') return []
    if (outcome === 'skip') return reason ? [] : [`${rule} ${name} was skipped without a reason`]
    return [`${rule} ${name} failed: ${reason}`]
  })
}

/** A small trial is good for work on a data plane, and shows too little for a report. */
const sizes = [
  { rule: 'burst', of: 'attachments', least: ordinaryLimits.burst, says: 'attachments at once' },
  { rule: 'idle', of: 'idleMs', least: ordinaryLimits.idleMs, says: 'ms without a write' },
] as const

function sizeProblems({ results }: ConformanceReport): string[] {
  return sizes.flatMap(({ rule: name, of, least, says }) => {
    const result = results.find((each) => each.case === name && each.outcome === 'pass')
    const size = result?.measured?.[of] ?? 0
    return result && size < least ? [`${result.rule} ${name} was tried with ${size} ${says}; the rule asks for ${least}`] : []
  })
}

function summaryProblems({ results, summary }: ConformanceReport): string[] {
  const { passed, skipped, failed, mustFailed } = summaryOf(results)
  const isTrue =
    summary.passed === passed && summary.skipped === skipped && summary.failed === failed && summary.mustFailed === mustFailed
  return isTrue ? [] : ['its summary does not say what its results say']
}

/** Rules that were not tried, with the reasons. */
export const notTried = ({ results }: ConformanceReport): readonly string[] =>
  results
    .filter(({ outcome }) => outcome === 'skip')
    .map(({ rule, case: name, level, reason = '' }) => `${rule} ${name} (${level}): ${oneLine(reason)}`)
