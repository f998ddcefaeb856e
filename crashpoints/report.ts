/** What was found, as a table, and how each failure is repeated. */
import type { Mode } from './interception.ts'
import type { Report, RunOptions, Tried } from './run.ts'

/** Exit status 0 only for these. */
export function isGood({ calm, tried, failures, complete }: Report): boolean {
  return complete && failures.length === 0 && [...calm, ...tried].every(({ result }) => result.failures.length === 0)
}

type Asked = Pick<RunOptions, 'addresses' | 'program' | 'modes' | 'seed'>

export function linesOf(asked: Asked, report: Report): string[] {
  return [...table(asked, report), ...leftOut(report), ...failed(asked, report)]
}

function table({ modes }: Asked, { calm, tried }: Report): string[] {
  const widest = Math.max(8, ...calm.map(({ scenario }) => scenario.name.length))
  const row = (name: string, cells: readonly string[]) =>
    `${name.padEnd(widest)}  ${cells.map((cell) => cell.padStart(9)).join(' ')}`
  const rows = calm.map(({ scenario, result }) => {
    const own = tried.filter((each) => each.scenario === scenario)
    return row(scenario.name, [String(result.writes.length), ...modes.map((mode) => cellOf(own, mode))])
  })
  return [row('scenario', ['writes', ...modes]), ...rows, row('all', ['', ...modes.map((mode) => cellOf(tried, mode))])]
}

/** `16/16`: so many ended as they should, of so many that were hit. */
function cellOf(tried: readonly Tried[], wanted: Mode): string {
  const hit = tried.filter(({ mode, result }) => mode === wanted && result.struck !== undefined)
  const good = hit.filter(({ result }) => result.failures.length === 0)
  return hit.length === 0 ? '-' : `${good.length}/${hit.length}`
}

function leftOut({ calm, tried }: Report): string[] {
  const sums = new Map<string, number>()
  for (const { result } of [...calm, ...tried])
    for (const [why, count] of result.leftOut) sums.set(why, (sums.get(why) ?? 0) + count)
  const parts = [...sums].map(([why, count]) => `${count} ${why}`)
  return parts.length === 0 ? [] : [`writes that were not counted: ${parts.join(', ')}`]
}

function failed(asked: Asked, { calm, tried, failures }: Report): string[] {
  const of = calm.filter(({ result }) => result.failures.length > 0)
  return [
    ...failures,
    ...of.map(({ scenario, result }) => `${scenario.name} fails when nothing is killed: ${result.failures[0]}`),
    ...tried
      .filter(({ result }) => result.failures.length > 0)
      .map(
        ({ scenario, mode, at, result }) =>
          `${scenario.name} ${mode} ${at} (${result.struck}): ${result.failures[0]}\n  ${repeat(asked, scenario.name, mode, at)}`,
      ),
  ]
}

function repeat({ addresses, program, seed }: Asked, scenario: string, mode: Mode, at: number): string {
  return `npm run crashpoints -- --addresses ${addresses} --process ${program} --scenario ${scenario} --mode ${mode} --only ${at} --seed ${seed}`
}
