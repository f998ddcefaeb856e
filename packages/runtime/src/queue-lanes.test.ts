import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createManualClock } from './manual-clock.ts'
import { createQueue } from './queue.ts'

function bed() {
  const clock = createManualClock()
  const told: string[] = []
  let due = 0
  const queue = createQueue(
    clock,
    {
      added: () => told.push('added'),
      depth: (keys) => told.push(`depth ${keys}`),
      waited: (seconds) => told.push(`waited ${seconds}`),
      worked: (seconds) => told.push(`worked ${seconds}`),
      retried: () => told.push('retried'),
    },
    () => {
      due += 1
    },
  )
  const all = () => {
    const taken: string[] = []
    for (let next = queue.take(); next; next = queue.take()) taken.push(next.urgent ? `${next.key}!` : next.key)
    return taken
  }
  return { clock, queue, told, all, due: () => due }
}

type Add = { urgent?: boolean; afterMs?: number }
const both: { says: string; adds: [Add, Add]; urgent: boolean }[] = [
  { says: 'two that are not', adds: [{}, {}], urgent: false },
  { says: 'the first is', adds: [{ urgent: true }, {}], urgent: true },
  { says: 'the second is', adds: [{}, { urgent: true }], urgent: true },
  { says: 'both are', adds: [{ urgent: true }, { urgent: true }], urgent: true },
]

describe('of two requests for a key one urgent one is enough', () => {
  for (const { says, adds, urgent } of both) {
    const want = [urgent ? 'a!' : 'a']

    test(`while it waits: ${says}`, () => {
      const { queue, all } = bed()
      for (const add of adds) queue.add('a', add)
      assert.deepEqual(all(), want)
    })

    test(`while it is in work: ${says}`, () => {
      const { queue, all } = bed()
      queue.add('a')
      queue.take()
      for (const add of adds) queue.add('a', add)
      queue.done('a')
      assert.deepEqual(all(), want)
    })

    for (const delays of [
      [10, 20],
      [20, 10],
    ]) {
      test(`with a timer each, ${delays.join(' and ')} ms: ${says}`, async () => {
        const { queue, all, clock } = bed()
        for (const [n, add] of adds.entries()) queue.add('a', { ...add, afterMs: delays[n] ?? 0 })
        await clock.advance(9)
        assert.deepEqual(all(), [])
        await clock.advance(1)
        assert.deepEqual(all(), want)
      })
    }
  }
})

test('urgent keys alone are all taken, however many', () => {
  const { queue, all } = bed()
  for (let n = 0; n < 40; n += 1) queue.add(`k${n}`, { urgent: true })
  assert.equal(all().length, 40)
})

test('a key that became urgent does not take the turn of one that did not', () => {
  const { queue, all } = bed()
  for (const key of ['x', 'y']) queue.add(key)
  for (let n = 0; n < 16; n += 1) queue.add(`k${n}`, { urgent: true })
  queue.add('x', { urgent: true })
  assert.deepEqual(all().slice(16), ['y', 'x!'])
})

test('a key that is not in work cannot be done', () => {
  const { queue, told } = bed()
  queue.done('a')
  assert.deepEqual(told, [])
})

test('failures in a row are counted until they are forgotten, and make nothing urgent', async () => {
  const { queue, all, told, clock } = bed()
  assert.equal(queue.failures('a'), 0)
  assert.equal(
    queue.retry('a', (failures) => failures * 10),
    10,
  )
  assert.equal(queue.failures('a'), 1)
  assert.ok(told.includes('retried'))
  await clock.advance(10)
  assert.deepEqual(all(), ['a'])
  queue.forget('a')
  assert.equal(queue.failures('a'), 0)
})

test('a key is pending while it waits, has a timer, or was asked for during its pass', async () => {
  const { queue, clock } = bed()
  const seen = [queue.pending('a')]
  queue.add('a', { afterMs: 10 })
  seen.push(queue.pending('a'))
  await clock.advance(10)
  seen.push(queue.pending('a'))
  queue.take()
  seen.push(queue.pending('a'))
  queue.add('a')
  seen.push(queue.pending('a'))
  assert.deepEqual(seen, [false, true, true, false, true])
})

test('cleared, it holds nothing and nothing follows', async () => {
  const { queue, clock, all, told } = bed()
  queue.add('a')
  queue.add('b', { urgent: true })
  queue.add('c', { afterMs: 10 })
  queue.retry('d', () => 10)
  queue.clear()
  assert.deepEqual(queue.held, { waiting: 0, working: 0, timers: 0, failing: 0 })
  assert.equal(told.at(-1), 'depth 0')
  await clock.advance(1_000)
  assert.deepEqual([all(), clock.timers], [[], 0])
})

test('what is measured: each key once, in seconds since it could be taken and since it was', async () => {
  const { queue, clock, told, due } = bed()
  await clock.advance(1_000)
  queue.add('a', { afterMs: 500 })
  await clock.advance(500)
  assert.deepEqual([told.splice(0), due()], [['added', 'depth 1'], 1])
  queue.add('a')
  await clock.advance(2_000)
  queue.take()
  assert.deepEqual([told.splice(0), due()], [['waited 2', 'depth 0'], 1])
  await clock.advance(3_000)
  assert.deepEqual(queue.workingSeconds(), [3])
  queue.done('a')
  assert.deepEqual(told, ['worked 3'])
  assert.deepEqual(queue.workingSeconds(), [])
})
