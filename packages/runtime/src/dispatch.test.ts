import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDispatcher } from './dispatch.ts'
import { turns } from './manual-clock.ts'

function bed(limit: number) {
  const items: string[] = []
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  let looks = 0
  const dispatcher = createDispatcher(
    limit,
    () => {
      looks += 1
      return items.shift()
    },
    (item) => {
      const end = Promise.withResolvers<void>()
      begun.push(item)
      ends.set(item, end)
      return end.promise
    },
  )
  const stop = new AbortController()
  return { items, begun, ends, dispatcher, stop, looks: () => looks }
}

test('no more items are in work than there are workers, and one that failed frees its worker too', async () => {
  const { items, begun, ends, dispatcher, stop } = bed(2)
  items.push('a', 'b', 'c', 'd')
  void dispatcher.run(stop.signal)
  assert.deepEqual(begun, ['a', 'b'])
  ends.get('a')?.reject(new Error('broken'))
  await turns()
  assert.deepEqual(begun, ['a', 'b', 'c'])
  ends.get('b')?.resolve()
  await turns()
  assert.deepEqual(begun, ['a', 'b', 'c', 'd'])
})

test('what comes in one round of callbacks is looked for once, after it', async () => {
  const { items, begun, dispatcher, stop, looks } = bed(3)
  void dispatcher.run(stop.signal)
  const before = looks()
  for (const item of ['a', 'b']) {
    items.push(item)
    dispatcher.wake()
    assert.deepEqual(begun, [])
  }
  await turns()
  assert.deepEqual(begun, ['a', 'b'])
  assert.equal(looks() - before, 3, 'two that are there, and that there is no third')
  items.push('c', 'd')
  dispatcher.wake()
  await turns()
  assert.deepEqual(begun, ['a', 'b', 'c'])
  assert.equal(looks() - before, 4, 'none is looked for without a free worker')
})

test('stopped, it takes nothing more and ends with the last item in work', async () => {
  const { items, begun, ends, dispatcher, stop } = bed(2)
  items.push('a')
  let isOver = false
  const running = dispatcher.run(stop.signal).then(() => {
    isOver = true
  })
  stop.abort()
  items.push('b')
  dispatcher.wake()
  await turns()
  assert.deepEqual([begun, isOver], [['a'], false])
  ends.get('a')?.resolve()
  await running
  assert.deepEqual(begun, ['a'])
})

test('at rest it ends when it is stopped', async () => {
  const { dispatcher, stop } = bed(1)
  const running = dispatcher.run(stop.signal)
  stop.abort()
  await running
})

test('stopped before, it ends at once; what is woken before it runs waits for it', async () => {
  const { items, begun, dispatcher, stop } = bed(1)
  items.push('a')
  dispatcher.wake()
  await turns()
  assert.deepEqual(begun, [])
  stop.abort()
  await dispatcher.run(stop.signal)
  assert.deepEqual(begun, [])
})
