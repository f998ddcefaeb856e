/** For people. */
import { mustFailures } from '../results.ts'
import { remarkOf } from './line.ts'
import type { Printer } from './printer.ts'

const words = { pass: 'passed', fail: 'FAILED', skip: 'skipped' } as const

export const text: Printer = {
  begin: ({ plane, version, contract }, count) => [
    `${plane} ${version}: ${count} cases of the contract for data planes ${contract}`,
  ],
  result(result) {
    const { rule, case: name, level, outcome, ms } = result
    const is = outcome === 'fail' && level !== 'MUST' ? `not met (${level})` : words[outcome]
    const remark = remarkOf(result)
    return [`  ${rule} ${name.padEnd(22)} ${is.padEnd(9)} ${(ms / 1000).toFixed(1).padStart(6)} s${remark ? `  ${remark}` : ''}`]
  },
  end(results) {
    const count = (outcome: string) => results.results.filter((result) => result.outcome === outcome).length
    const failures = mustFailures(results)
    const verdict =
      failures.length === 0 ? 'breaks no MUST that was tried' : `breaks ${failures.map(({ rule }) => rule).join(', ')}`
    return [`${count('pass')} passed, ${count('skip')} skipped, ${count('fail')} not met: ${results.plane} ${verdict}`]
  },
  bail: () => [],
}
