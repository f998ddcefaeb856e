import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parse, stringify } from 'yaml'
import { type ConformanceReport, notTried, problemsOf, reportOf, suiteVersion, writeReport } from './report.ts'
import type { CaseResult, Results } from './results.ts'
import { rules } from './rules.ts'
import { fail, pass, skip, type Verdict } from './verdict.ts'

function resultsOf(verdicts: Readonly<Record<string, Verdict>> = {}): Results {
  return {
    ...{
      plane: 'wires',
      planeVersion: '1.2.3',
      contract: 'v1',
      kubernetes: 'v1.36.3',
      startedAt: new Date('2030-01-01T00:00:00Z'),
    },
    features: {
      attachmentModes: ['Netns'],
      addressFamilies: ['IPv6'],
      networkObject: true,
      programmed: 'Reported',
      finalizers: ['wires.example.dev/unplug'],
    },
    results: rules.map(
      ({ id, level, case: name }): CaseResult => ({
        rule: id,
        level,
        case: name,
        ms: 12,
        ...(verdicts[name] ?? pass({ attachments: 200, idleMs: 10_000 })),
      }),
    ),
  }
}

const written = (results: Results, by?: string) => writeReport(reportOf(results, by))
const changed = (text: string, change: (report: ConformanceReport) => void) => {
  const report = parse(text) as ConformanceReport
  change(report)
  return stringify(report)
}

describe('a report', () => {
  test('holds what it was made of, and is found in order', () => {
    const skipped = { restart: skip('no way to restart'), 'foreign-status-refused': fail('no policy') }
    const { report, problems } = problemsOf(written(resultsOf(skipped), 'the network team'))
    assert.deepEqual(problems, [])
    assert.equal(report?.signedOff.by, 'the network team')
    assert.deepEqual(report?.summary, { passed: 20, skipped: 1, failed: 1, mustFailed: 0 })
    assert.deepEqual(
      report?.results.find(({ rule }) => rule === 'DP-11'),
      { rule: 'DP-11', case: 'restart', level: 'MUST', outcome: 'skip', reason: 'no way to restart', ms: 12 },
    )
  })

  const tampered: { says: string; change: (report: ConformanceReport) => void }[] = [
    { says: 'an outcome', change: (report) => Object.assign(report.results[10] ?? {}, { outcome: 'pass' }) },
    { says: 'a time', change: (report) => Object.assign(report.results[0] ?? {}, { ms: 1 }) },
    { says: 'the data plane', change: (report) => Object.assign(report, { plane: 'cables' }) },
    { says: 'who signed it off', change: (report) => Object.assign(report.signedOff, { by: 'somebody else' }) },
    { says: 'what it adds', change: (report) => Object.assign(report, { note: 'all is well' }) },
    { says: 'the digest', change: (report) => Object.assign(report.signedOff, { sha256: '0'.repeat(64) }) },
    { says: 'the whole signature', change: (report) => Reflect.deleteProperty(report, 'signedOff') },
  ]
  for (const { says, change } of tampered) {
    test(`${says} that was changed afterwards is noticed`, () => {
      const { problems } = problemsOf(changed(written(resultsOf({ restart: skip('none') }), 'me'), change))
      assert.match(problems[0] ?? '', /digest does not fit/)
    })
  }

  test('keys may stand in any order', () => {
    const report = reportOf(resultsOf(), 'me')
    const turned = Object.fromEntries(Object.entries(report).reverse())
    assert.deepEqual(problemsOf(stringify(turned)).problems, [])
  })

  const wrong: { says: string; results: Results; problem: RegExp }[] = [
    { says: 'a MUST that was broken', results: resultsOf({ idle: fail('3 writes') }), problem: /DP-16 idle failed: 3 writes/ },
    { says: 'a MUST that was skipped without a reason', results: resultsOf({ idle: skip('') }), problem: /without a reason/ },
    {
      says: 'a rule that was not tried',
      results: { ...resultsOf(), results: resultsOf().results.slice(1) },
      problem: /DP-01 kinds \(MUST\) was not tried/,
    },
    {
      says: 'a rule that is milder than the contract’s',
      results: { ...resultsOf(), results: resultsOf().results.map((result) => ({ ...result, level: 'MAY' as const })) },
      problem: /DP-01 kinds \(MUST\) was not tried/,
    },
    {
      says: 'a rule twice',
      results: { ...resultsOf(), results: [...resultsOf().results, ...resultsOf().results.slice(0, 1)] },
      problem: /twice/,
    },
    {
      says: 'a burst of a few',
      results: resultsOf({ burst: pass({ attachments: 40 }) }),
      problem: /DP-17 burst was tried with 40 attachments at once; the rule asks for 200/,
    },
    {
      says: 'a rest of a moment',
      results: resultsOf({ idle: pass() }),
      problem: /DP-16 idle was tried with 0 ms/,
    },
    { says: 'another contract', results: { ...resultsOf(), contract: 'v9' }, problem: /contract v9/ },
  ]
  for (const { says, results, problem } of wrong) {
    test(`${says} is said`, () => assert.match(problemsOf(written(results)).problems.join('\n'), problem))
  }

  test('a text that is none is said to be none, whatever it is', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.ok(problemsOf(text).problems.length > 0)))
    fc.assert(fc.property(fc.json(), (text) => assert.ok(problemsOf(text).problems.length > 0)))
  })

  test('one with anything else in place of a part is said not to hold', () => {
    const parts = fc.constantFrom(...Object.keys(reportOf(resultsOf(), 'me')))
    fc.assert(
      fc.property(parts, fc.jsonValue(), (part, value) => {
        const text = stringify({ ...reportOf(resultsOf(), 'me'), [part]: value })
        assert.ok(problemsOf(text).problems.length > 0)
      }),
    )
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = stringify({ ...reportOf(resultsOf(), 'me'), results: [value] })
        assert.ok(problemsOf(text).problems.length > 0)
      }),
    )
  })

  test('a summary that its results do not bear out is said, whoever made the digest', () => {
    const report = reportOf(resultsOf({ restart: skip('none') }), 'me')
    const { signedOff, ...rest } = { ...report, summary: { ...report.summary, passed: 22, skipped: 0 } }
    const sorted = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(sorted)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .sort(([a], [b]) => (a < b ? -1 : 1))
                .map(([key, inner]) => [key, sorted(inner)]),
            )
          : value
    const body = JSON.stringify(sorted({ ...rest, signedOff: { by: 'me' } }))
    const sha256 = createHash('sha256').update(body).digest('hex')
    assert.deepEqual(problemsOf(stringify({ ...rest, signedOff: { by: 'me', sha256 } })).problems, [
      'its summary does not say what its results say',
    ])
  })

  test('what was not tried is listed with its reason', () => {
    assert.deepEqual(notTried(reportOf(resultsOf({ restart: skip('no way\nto restart') }))), [
      'DP-11 restart (MUST): no way to restart',
    ])
  })

  test('names the version of the package', async () => {
    const file = await readFile(path.join(import.meta.dirname, '..', 'package.json'), 'utf8')
    assert.equal((JSON.parse(file) as { version: string }).version, suiteVersion)
  })
})
