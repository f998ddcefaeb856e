import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { CaseResult, Results } from '../results.ts'
import { printers } from './index.ts'

const passed: CaseResult = { rule: 'DP-01', case: 'kinds', level: 'MUST', ms: 3, outcome: 'pass', measured: { kinds: 2 } }
const broken: CaseResult = {
  ...{ rule: 'DP-05', case: 'generation', level: 'MUST', ms: 1500, outcome: 'fail' },
  reason: 'Prepared is not True\nnot ok 9 # SKIP all',
  evidence: { generation: 2 },
}
const notMet: CaseResult = {
  ...{ rule: 'DP-09', case: 'foreign-status-refused', level: 'SHOULD', ms: 20, outcome: 'fail' },
  reason: 'no <policy> guards "it"',
}
const skipped: CaseResult = {
  rule: 'DP-11',
  case: 'restart',
  level: 'MUST',
  ms: 0,
  outcome: 'skip',
  reason: 'no way to restart #1',
}
const all = [passed, broken, notMet, skipped]

const results: Results = {
  ...{
    plane: 'wires',
    planeVersion: '1.2.3',
    contract: 'v1',
    kubernetes: 'v1.36.3',
    startedAt: new Date('2030-01-01T00:00:00Z'),
  },
  features: { attachmentModes: [], addressFamilies: [], networkObject: false, programmed: 'NotReported', finalizers: [] },
  results: all,
}

function printed(format: keyof typeof printers, given: readonly CaseResult[] = all): string[] {
  const printer = printers[format]
  return [
    ...printer.begin({ plane: 'wires', version: '1.2.3', contract: 'v1' }, given.length),
    ...given.flatMap((result, index) => printer.result(result, index + 1)),
    ...printer.end({ ...results, results: given }),
  ]
}

describe('TAP', () => {
  test('has a version, a plan, one point for each case, and directives only where they are meant', () => {
    const lines = printed('tap')
    assert.deepEqual(lines.slice(0, 2), ['TAP version 14', '1..4'])
    assert.deepEqual(
      lines.filter((line) => /^(not )?ok /.test(line)),
      [
        'ok 1 - DP-01 kinds',
        'not ok 2 - DP-05 generation',
        'not ok 3 - DP-09 foreign-status-refused # TODO SHOULD: no <policy> guards "it"',
        'ok 4 - DP-11 restart # SKIP no way to restart \\#1',
      ],
    )
    assert.ok(lines.includes('  evidence: {"generation":2}'))
  })

  test('whatever a reason says, it stays within its line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (reason) => {
        const lines = printed('tap', [{ ...skipped, reason }]).flatMap((line) => line.split(/[\n\r]/))
        assert.equal(lines.filter((line) => /^(not )?ok\b|^Bail|^1\.\./.test(line)).length, 2)
      }),
    )
  })

  test('says that it was broken off', () => {
    assert.deepEqual(printers.tap.bail('the process ended\nwith status 1'), ['Bail out! the process ended with status 1'])
  })
})

describe('JUnit', () => {
  test('counts as failed what must be, and holds texts that XML could not', () => {
    const text = printed('junit').join('\n')
    assert.match(text, /<testsuite name="conformance of wires" tests="4" failures="1" skipped="2" time="1\.523"/)
    assert.match(text, /<testcase classname="DP-05" name="generation" time="1\.500"><failure message="Prepared is not True/)
    assert.match(text, /<skipped message="not met \(SHOULD\): no &lt;policy&gt; guards &quot;it&quot;"\/>/)
    assert.match(printed('junit', [{ ...skipped, reason: 'a\u0000b\u001bc' }]).join(''), /message="a\uFFFDb\uFFFDc"/)
  })

  test('is a document also when the run was broken off', () => {
    const text = printers.junit.bail('the process "mine" ended\nwith <status> 1').join('\n')
    assert.match(text, /<testsuite [^>]*errors="1"/)
    assert.match(text, /<error message="the process &quot;mine&quot; ended with &lt;status&gt; 1"\/>/)
  })
})

describe('text', () => {
  test('has nothing that a terminal obeys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (reason) => {
        const lines = printed('text', [{ ...skipped, reason }])
        assert.ok(lines.every((line) => !/[\p{Cc}\p{Bidi_Control}]/u.test(line)))
      }),
    )
  })

  test('names what is broken in the end', () => {
    assert.equal(printed('text').at(-1), '1 passed, 1 skipped, 2 not met: wires breaks DP-05')
    assert.equal(printed('text', [passed, notMet]).at(-1), '1 passed, 0 skipped, 1 not met: wires breaks no MUST that was tried')
  })
})
