/** Cases one after the other, each with an end of its own: whatever one does, the next begins. */
import { ApiError, aborted, type Clock, ConnectionBroken, linkedSignal } from 'kube-control-loop'
import type { Bench } from './bench.ts'
import type { Case } from './case.ts'
import type { CaseResult } from './results.ts'
import { type CaseName, type Rule, rules } from './rules.ts'
import { CaseFailed, CaseSkipped, fail, skip, type Verdict } from './verdict.ts'

export type Choice = {
  /** These cases and no others. */
  only?: readonly CaseName[]
  /** Called as each case begins, and when it is over. */
  onCase?: (rule: Rule) => void
  onResult?: (result: CaseResult) => void
}

/** What the engine itself uses; the rest is the cases’. */
export type EngineBench = Pick<Bench, 'clock' | 'limits' | 'waitsFor'> & { plane: Pick<Bench['plane'], 'detachGraceMs'> }

/**
 * In the order of the rules, whatever the order in which they ran. Rejects with the signal’s reason, and when the API server can no
 * longer be asked: that says nothing of the data plane.
 */
export async function runCases(
  cases: readonly Case[],
  bench: EngineBench,
  options: Choice,
  signal: AbortSignal,
): Promise<readonly CaseResult[]> {
  const failed = new Set<CaseName>()
  const results: CaseResult[] = []
  for (const one of cases) {
    const rule = rules.find((each) => each.case === one.name)
    if (!rule || (options.only && !options.only.includes(one.name))) continue
    options.onCase?.(rule)
    const from = bench.clock.monotonic()
    const missing = one.needs.filter((name) => failed.has(name))
    const verdict = missing.length > 0 ? skip(`needs ${missing.join(' and ')}, which failed`) : await tried(one, bench, signal)
    if (verdict.outcome === 'fail') failed.add(one.name)
    const ms = Math.round(bench.clock.monotonic() - from)
    const result: CaseResult = { rule: rule.id, case: one.name, level: rule.level, ms, ...verdict }
    results.push(result)
    options.onResult?.(result)
  }
  return results.toSorted((a, b) => (a.rule < b.rule ? -1 : 1))
}

/** Far more than a case takes that waits for each thing as long as it may: only what hangs outside of a wait meets it. */
const endOf = ({ limits, plane }: EngineBench): number =>
  12 * limits.patienceMs + 6 * plane.detachGraceMs + limits.idleMs + 60_000

async function abortedBy(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
}

/** What was broken off takes its namespace away. Whatever hangs is not waited for longer than this, in ms. */
const farewellMs = 10_000

async function settlement(running: Promise<unknown>, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(farewellMs, late.resolve)
  await Promise.race([running.catch(() => {}), late.promise])
  cancel()
}

async function tried(one: Case, bench: EngineBench, signal: AbortSignal): Promise<Verdict> {
  const limitMs = endOf(bench)
  const own = linkedSignal(signal)
  const cancel = bench.clock.after(limitMs, () => {
    own.abort(new CaseFailed(`it did not end within ${limitMs / 1000} s; it waited for: ${bench.waitsFor.what}`))
  })
  bench.waitsFor.what = 'the API server'
  const running = one.run(bench as Bench, own.signal)
  try {
    // A way to restart that never answers would otherwise hold the run for ever.
    return await Promise.race([running, abortedBy(own.signal)])
  } catch (error) {
    if (own.signal.aborted) await settlement(running, bench.clock)
    if (signal.aborted) throw signal.reason
    return verdictOf(error)
  } finally {
    cancel()
    own.release()
  }
}

function verdictOf(error: unknown): Verdict {
  if (error instanceof CaseSkipped) return skip(error.message)
  if (error instanceof CaseFailed) return fail(error.message, error.evidence)
  if (error instanceof ConnectionBroken || (error instanceof ApiError && error.status === 401)) throw error
  if (error instanceof ApiError) return fail(`the API server refused: ${error.message}`)
  return fail(`the case broke: ${error instanceof Error ? error.message : String(error)}`, (error as Partial<Error>)?.stack)
}
