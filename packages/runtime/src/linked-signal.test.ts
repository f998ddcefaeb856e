import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { aborted, linkedSignal, untilAborted } from './linked-signal.ts'

const over = new Error('over')
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

test('it follows each of its parents, with the reason, and can be aborted alone', () => {
  const [one, two] = [new AbortController(), new AbortController()]
  const link = linkedSignal(one.signal, two.signal)
  two.abort(over)
  assert.equal(link.signal.reason, over)
  const alone = linkedSignal(one.signal)
  alone.abort(over)
  assert.equal(alone.signal.aborted, true)
  assert.equal(one.signal.aborted, false)
  assert.equal(linkedSignal(two.signal, one.signal).signal.reason, over, 'a parent that was aborted before')
})

test('B24: ten thousand that were let go leave no listener on the long-lived signal', () => {
  const long = new AbortController()
  for (let n = 0; n < 10_000; n += 1) linkedSignal(long.signal).release()
  assert.equal(listeners(long.signal), 0)
  const released = linkedSignal(long.signal)
  released.release()
  long.abort(over)
  assert.equal(released.signal.aborted, false)
})

test('a read that hangs is left behind on abort, and no listener stays in any case', async () => {
  const stop = new AbortController()
  async function* hangs() {
    yield 1
    await new Promise(() => {})
  }
  const seen: number[] = []
  const reading = (async () => {
    for await (const item of untilAborted(hangs(), stop.signal)) seen.push(item)
  })()
  setImmediate(() => stop.abort(over))
  await assert.rejects(reading, over)
  assert.deepEqual(seen, [1])
  assert.equal(listeners(stop.signal), 0)

  const calm = new AbortController()
  async function* ends() {
    yield 2
  }
  for await (const item of untilAborted(ends(), calm.signal)) seen.push(item)
  assert.deepEqual(seen, [1, 2])
  assert.equal(listeners(calm.signal), 0)
})

test('waiting for an abort ends at once when it has come already', async () => {
  await aborted(AbortSignal.abort())
  const later = new AbortController()
  const waiting = aborted(later.signal)
  later.abort(over)
  await waiting
})
