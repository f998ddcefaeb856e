/** JUnit’s XML as CI systems read it: one document when all is over. Source: the schema of Jenkins’ xunit plugin. */
import type { CaseResult } from '../results.ts'
import { oneLine, remarkOf } from './line.ts'
import type { Printer } from './printer.ts'

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Characters that XML 1.0 cannot hold are left out. */
const escaped = (text: string): string =>
  text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .replace(/[&<>"]/g, (found) => entities[found] ?? found)

const seconds = (ms: number): string => (ms / 1000).toFixed(3)

const isFailure = ({ outcome, level }: CaseResult): boolean => outcome === 'fail' && level === 'MUST'

/** What should be and is not counts as skipped here: the format knows nothing between. */
function inner(result: CaseResult): string {
  const message = `message="${escaped(remarkOf(result))}"`
  if (isFailure(result)) {
    const evidence = 'evidence' in result ? escaped(JSON.stringify(result.evidence, undefined, 2)) : ''
    return `<failure ${message}>${evidence}</failure>`
  }
  return result.outcome === 'fail'
    ? `<skipped message="not met (${result.level}): ${escaped(remarkOf(result))}"/>`
    : `<skipped ${message}/>`
}

function testCase(result: CaseResult): string {
  const open = `    <testcase classname="${result.rule}" name="${result.case}" time="${seconds(result.ms)}"`
  return result.outcome === 'pass' ? `${open}/>` : `${open}>${inner(result)}</testcase>`
}

export const junit: Printer = {
  begin: () => [],
  result: () => [],
  end({ plane, startedAt, results }) {
    const failures = results.filter(isFailure).length
    const skipped = results.filter((result) => result.outcome !== 'pass').length - failures
    const counts = `tests="${results.length}" failures="${failures}" skipped="${skipped}"`
    const time = seconds(results.reduce((sum, { ms }) => sum + ms, 0))
    const name = escaped(`conformance of ${plane}`)
    return [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites>',
      `  <testsuite name="${name}" ${counts} time="${time}" timestamp="${startedAt.toISOString()}">`,
      ...results.map(testCase),
      '  </testsuite>',
      '</testsuites>',
    ]
  },
  /** Nothing was printed before: a document all the same, in which the run itself is the error. */
  bail: (reason) => [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    '  <testsuite name="conformance" tests="1" errors="1" failures="0" skipped="0">',
    `    <testcase classname="conformance" name="run"><error message="${escaped(oneLine(reason))}"/></testcase>`,
    '  </testsuite>',
    '</testsuites>',
  ],
}
