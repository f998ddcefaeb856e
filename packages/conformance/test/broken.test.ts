/**
 * Each case of the suite fails where its rule is broken, and no other case does. In an ordinary run those that are hardest to tell
 * apart, in a soak (SOAK set) all of them.
 */
import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { type Fault, faults } from '../broken/faults.ts'
import { type CaseResult, rules, runConformance } from '../src/index.ts'
import { type Bench, correct, startBench, type Variant } from './broken-plane.ts'

const limits = { patienceMs: 30_000, burst: 30, crowd: 10, rounds: 8, idleMs: 1500, settledMs: 300 }
/** These come in a soak only: their cases ask one thing of the server or wait for one thing, or another fault is told likewise. */
const plain: readonly Fault[] = [
  'field-dropped',
  'traffic-of-words',
  'programmed-too-soon',
  'takes-all-finalizers',
  'unguarded',
  'looks-once-for-the-board',
  'needs-board-to-unplug',
  'too-few-codes',
  'asks-for-interfaces',
  'report-for-everybody',
  'conditions-as-a-whole',
  'waits-for-workload',
  'reason-of-words',
  'labels-sockets',
  'plug-by-name',
  'may-read-interfaces',
]
const all = Object.keys(faults) as Fault[]
const tried = all.filter((fault) => process.env.SOAK !== undefined || !plain.includes(fault))
const variants: readonly Variant[] = [correct, ...tried]

const failing = (results: readonly CaseResult[]) => results.filter(({ outcome }) => outcome === 'fail')
const told = (results: readonly CaseResult[]) =>
  failing(results).map((result) => `${result.case}: ${'reason' in result ? result.reason : ''}`)

describe('broken planes', { concurrency: 8 }, () => {
  let bench: Bench
  before(async () => {
    bench = await startBench(variants)
  })
  after(() => bench[Symbol.asyncDispose]())

  async function run(variant: Variant, signal: AbortSignal): Promise<readonly CaseResult[]> {
    const { plane, stop } = await bench.start(variant)
    try {
      const { results } = await runConformance(plane, {
        ...limits,
        kubeconfig: bench.server.kubeconfigPath,
        keepNamespaces: true,
        signal,
      })
      return results
    } finally {
      await stop()
    }
  }

  test('the correct plane fails no case and skips none', async (t) => {
    const results = await run(correct, t.signal)
    assert.deepEqual(told(results), [])
    assert.deepEqual(
      results.filter(({ outcome }) => outcome === 'skip'),
      [],
    )
    assert.equal(results.length, rules.length)
  })

  for (const fault of tried) {
    const { fails, says } = faults[fault]
    test(`a plane that ${says} fails ${fails}, and nothing else`, async (t) => {
      const results = await run(fault, t.signal)
      assert.deepEqual(
        failing(results).map((result) => result.case),
        [fails],
        told(results).join('\n'),
      )
    })
  }

  test('every rule that must or should be obeyed is broken by one of them', () => {
    const broken = new Set<string>(Object.values(faults).map(({ fails }) => fails))
    const unbroken = rules.filter((rule) => rule.level !== 'MAY' && !broken.has(rule.case))
    assert.deepEqual(unbroken, [])
  })
})
