import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError, aborted, ConnectionBroken } from 'kube-control-loop'
import { createManualClock, turns } from 'kube-control-loop/testing'
import { ordinaryLimits } from './bench.ts'
import type { Case } from './case.ts'
import { type EngineBench, runCases } from './engine.ts'
import type { CaseName } from './rules.ts'
import { CaseFailed, CaseSkipped, fail, pass, type Verdict } from './verdict.ts'

const never = new AbortController().signal

function benchOf() {
  const clock = createManualClock()
  const bench: EngineBench = { clock, limits: ordinaryLimits, plane: { detachGraceMs: 1000 }, waitsFor: { what: '' } }
  return { clock, bench }
}

const caseOf = (name: CaseName, run: Case['run'], needs: readonly CaseName[] = []): Case => ({ name, needs, run })
const ends = (name: CaseName, verdict: Verdict, needs: readonly CaseName[] = []) => caseOf(name, async () => verdict, needs)
const throws = (name: CaseName, error: unknown) => caseOf(name, () => Promise.reject(error))

const outcomes = (results: readonly { case: string; outcome: string; reason?: string }[]) =>
  results.map((result) => [result.case, result.outcome, ...('reason' in result ? [result.reason] : [])])

describe('the engine', () => {
  test('goes on after a case that fails, breaks or cannot be tried', async () => {
    const cases = [
      ends('kinds', fail('not served')),
      throws('accepts-request', new CaseFailed('dropped', { field: 'mtu' })),
      throws('well-formed', new TypeError('a bug')),
      throws('generation', new CaseSkipped('nothing changes')),
      ends('idle', pass()),
    ]
    const results = await runCases(cases, benchOf().bench, {}, never)
    assert.deepEqual(outcomes(results), [
      ['kinds', 'fail', 'not served'],
      ['accepts-request', 'fail', 'dropped'],
      ['well-formed', 'fail', 'the case broke: a bug'],
      ['generation', 'skip', 'nothing changes'],
      ['idle', 'pass'],
    ])
    assert.deepEqual(results.map((result) => 'evidence' in result && result.evidence)[1], { field: 'mtu' })
  })

  test('skips what needs a case that failed, and says which; not what needs one that was skipped or left out', async () => {
    const cases = [
      ends('kinds', pass()),
      ends('prepared', fail('never')),
      throws('generation', new CaseSkipped('nothing changes')),
      ends('idle', pass(), ['kinds', 'prepared']),
      ends('burst', pass(), ['kinds', 'generation']),
    ]
    const results = await runCases(cases, benchOf().bench, {}, never)
    assert.deepEqual(outcomes(results).slice(3), [
      ['idle', 'skip', 'needs prepared, which failed'],
      ['burst', 'pass'],
    ])
    const some = await runCases(cases, benchOf().bench, { only: ['idle'] }, never)
    assert.deepEqual(outcomes(some), [['idle', 'pass']])
  })

  test('a case that hangs fails at its own end with what it waited for, and the next begins', async () => {
    const { bench, clock } = benchOf()
    const deaf = caseOf('restart', () => {
      bench.waitsFor.what = 'the process to act again'
      return new Promise(() => {})
    })
    const running = runCases([deaf, ends('idle', pass())], bench, {}, never)
    await turns(20)
    await clock.advance(3_600_000)
    const [first, second] = await running
    assert.equal(first?.outcome, 'fail')
    assert.match(first && 'reason' in first ? first.reason : '', /it waited for: the process to act again/)
    assert.equal(second?.outcome, 'pass')
  })

  test('tells of each case as it begins and ends, answers in the order of the rules, and measures', async () => {
    const told: string[] = []
    const { bench, clock } = benchOf()
    const slow = caseOf('no-request', async (_, signal) => {
      await clock.sleep(1500, signal)
      return pass()
    })
    const running = runCases(
      [slow, ends('kinds', pass({ lives: 2 }))],
      bench,
      {
        onCase: (rule) => void told.push(`begins ${rule.id}`),
        onResult: ({ rule, ms }) => void told.push(`${rule} after ${ms}`),
      },
      never,
    )
    await turns(20)
    await clock.advance(1500)
    assert.deepEqual(
      (await running).map(({ rule }) => rule),
      ['DP-01', 'DP-19'],
    )
    assert.deepEqual(told, ['begins DP-19', 'DP-19 after 1500', 'begins DP-01', 'DP-01 after 0'])
  })

  test('rejects when the run is broken off', async () => {
    const stop = new AbortController()
    const hanging = caseOf('kinds', (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)))
    const running = runCases([hanging], benchOf().bench, {}, stop.signal)
    stop.abort(new Error('Ctrl-C'))
    await assert.rejects(running, /Ctrl-C/)
  })

  test('a case that is broken off has the time to clear away, and no more', async () => {
    const stop = new AbortController()
    const { bench, clock } = benchOf()
    const cleared = Promise.withResolvers<void>()
    let isOver = false
    const careful = caseOf('kinds', async (_, signal) => {
      await aborted(signal)
      await cleared.promise
      return pass()
    })
    const running = runCases([careful], bench, {}, stop.signal).finally(() => {
      isOver = true
    })
    stop.abort(new Error('Ctrl-C'))
    await turns(20)
    assert.equal(isOver, false)
    cleared.resolve()
    await assert.rejects(running, /Ctrl-C/)

    const deaf = caseOf('kinds', () => new Promise(() => {}))
    const rejected = assert.rejects(runCases([deaf], bench, {}, stop.signal), /Ctrl-C/)
    await turns(20)
    await clock.advance(60_000)
    await rejected
  })

  const get = { method: 'GET', path: '/api' } as const
  const nobodysFault = [
    { says: 'does not answer', error: new ConnectionBroken(get, new Error('ECONNREFUSED')) },
    {
      says: 'no longer knows whoever asks',
      error: new ApiError(get, { status: 401, headers: {}, body: 'Unauthorized' }),
    },
  ]
  for (const { says, error } of nobodysFault) {
    test(`an API server that ${says} ends the run and breaks no rule`, async () => {
      const told: string[] = []
      const onResult = ({ case: name }: { case: string }) => void told.push(name)
      const cases = [throws('kinds', error), ends('idle', pass())]
      await assert.rejects(runCases(cases, benchOf().bench, { onResult }, never), error)
      assert.deepEqual(told, [])
    })
  }
})
