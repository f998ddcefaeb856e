/** The Test Anything Protocol, version 14, line by line as cases end. Source: testanything.org, TAP 14. */
import type { CaseResult } from '../results.ts'
import { oneLine, remarkOf } from './line.ts'
import type { Printer } from './printer.ts'

/** A directive begins at a `#`; a text may hold one only escaped. */
const escaped = (text: string): string => oneLine(text).replaceAll('\\', '\\\\').replaceAll('#', '\\#')

/** What must not be broken fails; what should not be is to be done. */
function directive(result: CaseResult): string {
  if (result.outcome === 'skip') return ` # SKIP ${escaped(result.reason)}`
  return result.outcome === 'fail' && result.level !== 'MUST' ? ` # TODO ${result.level}: ${escaped(result.reason)}` : ''
}

function diagnosis(result: CaseResult): string[] {
  const { level, ms } = result
  const said = 'reason' in result ? [`  message: ${JSON.stringify(remarkOf(result))}`] : []
  const measured = 'measured' in result ? [`  measured: ${JSON.stringify(result.measured)}`] : []
  const seen = 'evidence' in result ? [`  evidence: ${JSON.stringify(result.evidence)}`] : []
  return ['  ---', `  level: ${level}`, `  duration_ms: ${ms}`, ...said, ...measured, ...seen, '  ...']
}

export const tap: Printer = {
  begin: ({ plane, version, contract }, count) => [
    'TAP version 14',
    `1..${count}`,
    `# ${escaped(`${plane} ${version}, contract for data planes ${contract}`)}`,
  ],
  result(result, number) {
    const is = result.outcome === 'fail' ? 'not ok' : 'ok'
    return [`${is} ${number} - ${result.rule} ${result.case}${directive(result)}`, ...diagnosis(result)]
  },
  end: () => [],
  bail: (reason) => [`Bail out! ${oneLine(reason)}`],
}
