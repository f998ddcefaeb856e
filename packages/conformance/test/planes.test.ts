/**
 * The data planes of this repository obey the contract: each as a process of its own, under its own account, on a control plane of its own.
 * Smaller than the runs whose reports are kept in docs/conformance.
 */
import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, test } from 'node:test'
import { type PlaneName, startLocalPlane } from '../planes/index.ts'
import { type CaseName, mustFailures, runConformance } from '../src/index.ts'

const small = { patienceMs: 30_000, settledMs: 400, burst: 40, crowd: 12, rounds: 10, idleMs: 2000 }

/** What each cannot be asked, and what it need not do and does not: everything else passes. */
const expected: Readonly<Record<PlaneName, { skips: readonly CaseName[]; notMet: readonly CaseName[] }>> = {
  galactic: { skips: [], notMet: [] },
  bridge: { skips: [], notMet: [] },
  'example-ts': { skips: ['any-order', 'network-values'], notMet: [] },
  'example-script': { skips: ['any-order', 'network-values'], notMet: [] },
}

/** The TypeScript example is tried by the test of the guide, which runs its commands; here in a soak only (SOAK set). */
const tried = (Object.keys(expected) as PlaneName[]).filter((name) => process.env.SOAK !== undefined || name !== 'example-ts')

describe('the contract is obeyed by', { concurrency: 2 }, () => {
  for (const name of tried) {
    const { skips, notMet } = expected[name]
    test(name, async (t) => {
      await using local = await startLocalPlane(name, () => {}, t.signal)
      const ended = new AbortController()
      void local.failed.then((sentence) => ended.abort(new Error(sentence)))
      const signal = AbortSignal.any([t.signal, ended.signal])
      const results = await runConformance(local.plane, { ...small, kubeconfig: local.kubeconfig, signal })
      const cases = (outcome: string) =>
        results.results.filter((result) => result.outcome === outcome).map((result) => result.case)
      assert.deepEqual(mustFailures(results), [])
      assert.deepEqual(cases('skip'), skips)
      assert.deepEqual(cases('fail'), notMet)
    })
  }
})
