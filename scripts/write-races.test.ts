/** docs/write-races.md lists every row of the race tables, with its manager and its checks, and nothing else. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { type RaceRow, raceChecks, rowId } from 'kube-control-loop/testing'
import { rows as bridgeRows } from '../packages/bridge/test/races/subjects.ts'
import { rows as galacticRows } from '../packages/galactic/test/races/rows.ts'
import { rows as nsoRows } from '../packages/operator/test/races/rows.ts'

const page = path.resolve(import.meta.dirname, '../docs/write-races.md')

const lineOf = (row: RaceRow<never>): string => {
  const checks = raceChecks(row, () => Promise.reject(new Error('only listed')))
  return `| \`${rowId(row)}\` | \`${row.manager}\` | ${checks.map(({ name }) => name).join(', ')} |`
}

test('the page of write races and the tables of the tests agree', async () => {
  const lines = (await readFile(page, 'utf8')).split('\n').filter((line) => line.startsWith('| `') && line.includes('conflict'))
  // The formatter pads the cells of a table.
  const cells = lines.map((line) => line.replaceAll(/ +/g, ' '))
  assert.deepEqual(cells, [...nsoRows, ...galacticRows, ...bridgeRows].map(lineOf))
})
