import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGraves } from './graves.ts'

test('a deleted uid is remembered until the watch knows of it', () => {
  const graves = createGraves()
  graves.bury('a', 'u1', false)
  assert.deepEqual(
    [graves.has('a', 'u1'), graves.has('a', 'u2'), graves.has('b', 'u1'), graves.has('a', undefined)],
    [true, false, false, false],
  )
  graves.bury('a', 'u1', true)
  assert.deepEqual([graves.has('a', 'u1'), graves.size], [false, 0])
})

test('and as long as a write of that key is in flight, each of them', () => {
  const graves = createGraves()
  const [first, second] = [graves.writing('a'), graves.writing('a')]
  graves.bury('a', 'u1', true)
  first()
  first()
  assert.deepEqual([graves.has('a', 'u1'), graves.size], [true, 1])
  second()
  assert.deepEqual([graves.has('a', 'u1'), graves.size], [false, 0])
})

test('a list that still shows it is older than the deletion; one that does not is the end of it', () => {
  const graves = createGraves()
  graves.bury('a', 'u1', false)
  graves.bury('b', 'u2', false)
  graves.listed(new Set(['u1']))
  assert.deepEqual([graves.has('a', 'u1'), graves.has('b', 'u2')], [true, false])
})
