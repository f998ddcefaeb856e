import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createManualClock } from './manual-clock.ts'
import { createQueue } from './queue.ts'

const keysOf = (queue: ReturnType<typeof createQueue>) => {
  const keys: string[] = []
  for (let next = queue.take(); next; next = queue.take()) keys.push(next.key)
  return keys
}

test('B30: many requests for one key make one pass, and events during it exactly one more', async () => {
  const clock = createManualClock()
  const queue = createQueue(clock)
  queue.add('a', { afterMs: 60_000 })
  queue.add('a', { afterMs: 5_000 })
  assert.equal(queue.held.timers, 1)
  queue.add('a')
  assert.deepEqual(keysOf(queue), ['a'])
  await clock.advance(3_000)
  queue.add('a')
  queue.add('a')
  assert.deepEqual(keysOf(queue), [], 'a key in work is not handed out')
  queue.done('a')
  assert.deepEqual(keysOf(queue), ['a'])
  queue.done('a')
  await clock.advance(120_000)
  assert.deepEqual(keysOf(queue), [], 'the timers were set before the pass began')
  assert.deepEqual(queue.held, { waiting: 0, working: 0, timers: 0, failing: 0 })
})

test('B30: of two timers the earlier one wins, in either order', async () => {
  for (const delays of [
    [60_000, 5_000],
    [5_000, 60_000],
  ]) {
    const clock = createManualClock()
    const queue = createQueue(clock)
    for (const afterMs of delays) queue.add('a', { afterMs })
    await clock.advance(4_999)
    assert.deepEqual(keysOf(queue), [])
    await clock.advance(1)
    assert.deepEqual(keysOf(queue), ['a'])
  }
})

test('a timer that is set during a pass outlives it', async () => {
  const clock = createManualClock()
  const queue = createQueue(clock)
  queue.add('a')
  queue.take()
  queue.add('a', { afterMs: 1_000 })
  queue.done('a')
  assert.deepEqual(keysOf(queue), [])
  await clock.advance(1_000)
  assert.deepEqual(keysOf(queue), ['a'])
})

test('B25: a delay of thirty days is kept, one that is no number is refused', async () => {
  const clock = createManualClock()
  const queue = createQueue(clock)
  const days = 24 * 3600 * 1000
  queue.add('a', { afterMs: 30 * days })
  await clock.advance(30 * days - 1)
  assert.deepEqual(keysOf(queue), [])
  await clock.advance(1)
  assert.deepEqual(keysOf(queue), ['a'])
  for (const afterMs of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    assert.throws(() => queue.add('b', { afterMs }), RangeError)
  }
})

test('urgent keys come first, in their order, and a key that waits can become urgent', () => {
  const queue = createQueue(createManualClock())
  for (const key of ['r1', 'r2', 'r3']) queue.add(key)
  queue.add('u1', { urgent: true })
  queue.add('r2', { urgent: true })
  assert.deepEqual(keysOf(queue), ['u1', 'r2', 'r1', 'r3'])
})

test('a stream of urgent keys does not starve the others', () => {
  const queue = createQueue(createManualClock())
  queue.add('resync')
  let taken = 0
  for (let n = 0; n < 100; n += 1) {
    queue.add(`u${n}`, { urgent: true })
    const next = queue.take()
    taken += 1
    if (next?.key === 'resync') break
  }
  assert.ok(taken <= 17, `after ${taken}`)
})

test('B29: failures in a row lengthen the delay, and are forgotten on success', () => {
  const queue = createQueue(createManualClock())
  const delays = [1, 2, 3].map(() => queue.retry('a', (failures) => failures * 10))
  assert.deepEqual(delays, [10, 20, 30])
  queue.forget('a')
  assert.equal(
    queue.retry('a', (failures) => failures * 10),
    10,
  )
})

test('B31: ten thousand keys that failed once and then did well leave nothing behind', async () => {
  const clock = createManualClock()
  const queue = createQueue(clock)
  for (let n = 0; n < 10_000; n += 1) queue.add(`k${n}`)
  for (const key of keysOf(queue)) {
    queue.retry(key, () => 0)
    queue.done(key)
  }
  for (const key of keysOf(queue)) {
    queue.forget(key)
    queue.done(key)
  }
  assert.deepEqual(queue.held, { waiting: 0, working: 0, timers: 0, failing: 0 })
})

type Step =
  | { do: 'add'; key: string; afterMs: number; urgent: boolean }
  | { do: 'retry'; key: string; afterMs: number }
  | { do: 'take' }
  | { do: 'done' }
  | { do: 'advance'; ms: number }

const key = fc.constantFrom('a', 'b', 'c')
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('add' as const), key, afterMs: fc.constantFrom(0, 0, 5, 50), urgent: fc.boolean() }),
    fc.record({ do: fc.constant('retry' as const), key, afterMs: fc.integer({ min: 0, max: 40 }) }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('done' as const) }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 30 }) }),
  ),
  { maxLength: 60 },
)

/** A clock whose timers go off synchronously: thousands of runs, no promises. */
function stepClock() {
  let now = 0
  const timers = new Set<{ due: number; call: () => void }>()
  return {
    now: () => new Date(now),
    monotonic: () => now,
    sleep: () => Promise.reject(new Error('not used')),
    after(ms: number, call: () => void) {
      const timer = { due: now + ms, call }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    pass(ms: number) {
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)
        if (!next) break
        timers.delete(next)
        now = next.due
        next.call()
      }
      now = end
    },
    get timers() {
      return timers.size
    },
  }
}

test('B30: never two passes of one key at once, one timer a key, and each request is followed by a pass in time', () => {
  fc.assert(
    fc.property(steps, (script) => {
      const clock = stepClock()
      const queue = createQueue(clock)
      const working: string[] = []
      /** Key → earliest time at which a pass that has not begun yet is due. */
      const owed = new Map<string, number>()
      const owe = (of: string, due: number) => owed.set(of, Math.min(due, owed.get(of) ?? Number.POSITIVE_INFINITY))
      for (const step of script) {
        if (step.do === 'add') {
          queue.add(step.key, step)
          owe(step.key, clock.monotonic() + step.afterMs)
        } else if (step.do === 'retry') {
          queue.retry(step.key, () => step.afterMs)
          owe(step.key, clock.monotonic() + step.afterMs)
        } else if (step.do === 'advance') clock.pass(step.ms)
        else if (step.do === 'done') {
          const over = working.shift()
          if (over) queue.done(over)
        } else {
          const next = queue.take()
          const due = [...owed].filter(([of, at]) => at <= clock.monotonic() && !working.includes(of))
          assert.equal(next !== undefined, due.length > 0, 'a key is handed out exactly when one is due')
          if (!next) continue
          assert.ok(!working.includes(next.key), 'the key is in work already')
          assert.ok((owed.get(next.key) ?? Number.POSITIVE_INFINITY) <= clock.monotonic(), 'nobody asked for this pass yet')
          owed.delete(next.key)
          working.push(next.key)
        }
        assert.ok(clock.timers <= 3 && clock.timers === queue.held.timers)
      }
      for (const over of working) queue.done(over)
      clock.pass(1_000)
      for (let next = queue.take(); next; next = queue.take()) {
        owed.delete(next.key)
        queue.done(next.key)
      }
      assert.deepEqual([...owed], [], 'requests were lost')
    }),
    { numRuns: 2_000 },
  )
})
