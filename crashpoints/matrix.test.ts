import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pointsOf, random, sample } from './matrix.ts'

const scenario = { name: 'one', about: '', modes: ['builtin'], run: async () => {} } as const

test('every mode comes at every write', () => {
  const points = pointsOf(scenario, 3, ['before', 'lost'])
  assert.deepEqual(
    points.map(({ mode, at }) => `${mode} ${at}`),
    ['before 1', 'before 2', 'before 3', 'lost 1', 'lost 2', 'lost 3'],
  )
})

test('the same seed chooses the same sample, another seed another, and nothing twice', () => {
  const all = Array.from({ length: 500 }, (_, at) => at)
  const [one, again, other] = [7, 7, 8].map((seed) => sample(all, 20, random(seed)))
  assert.deepEqual(one, again)
  assert.notDeepEqual(one, other)
  assert.equal(new Set(one).size, 20)
  assert.deepEqual(sample([1, 2], 9, random(1)), [1, 2])
})
