import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exitStatus, type Figure, lastLine } from './figures.ts'

const figure = (name: string, value: number, bound: number): Figure => ({ name, value, bound, says: '', how: '' })

const table: { says: string; figures: Figure[]; line: string; status: number }[] = [
  {
    says: 'a figure at its bound is reached',
    figures: [figure('a', 6, 6), figure('b', 0, 0)],
    line: 'all 2 figures reached',
    status: 0,
  },
  {
    says: 'the last line names what was missed',
    figures: [figure('a', 6, 6), figure('b', 1.634, 1.6)],
    line: 'missed: b 1.63 > 1.6',
    status: 1,
  },
  { says: 'what could not be measured is missed', figures: [figure('a', Number.NaN, 6)], line: 'missed: a NaN > 6', status: 1 },
  { says: 'nothing measured is no success', figures: [], line: 'no figure was measured', status: 1 },
]

for (const { says, figures, line, status } of table) {
  test(says, () => {
    assert.equal(lastLine(figures), line)
    assert.equal(exitStatus(figures), status)
  })
}
