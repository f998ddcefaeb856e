/** What kubectl prints, with what differs from run to run masked and the columns of tables aligned again. */
import assert from 'node:assert/strict'
import { kubectl } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import type { World } from './explained-world.ts'
import { assertGolden, normalised } from './golden.ts'

const age = /^(\d+[smhd])+$/
const ago = /(?<= )(\d+[smhd])+( \(x\d+ over (\d+[smhd])+\))?(?= )/g

/** Each command runs in the namespace; their answers together are the golden file. */
export async function shown(world: World, golden: string, namespace: string, commands: readonly string[][]): Promise<void> {
  const { kubeconfigPath, programs, dir } = world.plane
  const answers = await Promise.all(
    commands.map(async (args) => {
      const ask = async () => {
        const { code, stdout, stderr } = await kubectl({ kubeconfigPath, programs, dir }, ['-n', namespace, ...args])
        assert.equal(code, 0, stderr)
        return stdout.trimEnd()
      }
      // Events are sent after the status that they tell of.
      const text = await eventually(`kubectl ${args.join(' ')}`, async () => {
        const answer = await ask()
        return args.includes('events') && answer.split('\n').length < 3 ? false : answer
      })
      return `$ kubectl ${args.join(' ')}\n${args[0] === 'get' ? aligned(text) : undated(normalised(text))}`
    }),
  )
  assertGolden(golden, answers.join('\n\n'))
}

/** Between cells, where no text has it. */
const border = '\u0000'

/** A table whose columns are as wide as they need to be after masking. */
function aligned(table: string): string {
  const lines = table.split('\n')
  const starts = [...(lines[0] ?? '').matchAll(/(?<=^| {2})\S/g)].map(({ index }) => index)
  const cellsOf = (line: string) => starts.map((start, at) => line.slice(start, starts[at + 1]).trim())
  const cells = lines.map(cellsOf).map((row, _, [header = []]) => row.map((cell, at) => masked(cell, header[at] ?? '')))
  const rows = normalised(cells.map((row) => row.join(border)).join('\n'))
    .split('\n')
    .map((row) => row.split(border))
  const widths = starts.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}

/** Identifiers of Galactic are chosen at random; that column of attachments has the name of the VPC. */
function masked(cell: string, column: string): string {
  if (age.test(cell)) return '<age>'
  return column === 'VPC' && /^[0-9A-Za-z]{6,}$/.test(cell) ? '<identifier>' : cell
}

/** What is described; the columns of its events are as wide as the ages in them. */
function undated(text: string): string {
  const [object = '', events = ''] = text.replace(/(Resource Version: +)\d+/, '$1<version>').split(/^(?=Events:)/m)
  return `${object}${events
    .replace(ago, '<age>')
    .replace(/(?<=\S) {2,}/g, '  ')
    .replace(/-{3,}/g, '---')}`
}
