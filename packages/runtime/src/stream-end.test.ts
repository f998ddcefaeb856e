import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from './manual-clock.ts'
import { watchdog } from './stream-end.ts'

test('a watchdog barks once nothing was heard for the whole time, and not before', async () => {
  const clock = createManualClock()
  const barks: number[] = []
  const dog = watchdog(clock, 100, () => barks.push(clock.monotonic()))
  await clock.advance(60)
  dog.heard()
  await clock.advance(99)
  assert.deepEqual(barks, [])
  await clock.advance(1)
  assert.deepEqual(barks, [160])
  assert.equal(clock.timers, 0)
})

test('a stopped watchdog keeps quiet', async () => {
  const clock = createManualClock()
  const dog = watchdog(clock, 100, () => assert.fail('it barks'))
  dog.stop()
  await clock.advance(1_000)
})

test('fractions of a millisecond that a clock cannot show do not keep it busy for ever', async () => {
  const clock = createManualClock()
  await clock.advance(1_024 ** 3 + 0.1)
  let timers = 0
  let barks = 0
  const counted = {
    ...clock,
    after(ms: number, call: () => void) {
      timers += 1
      assert.ok(timers < 100, `timer ${timers} of ${ms} ms`)
      return clock.after(ms, call)
    },
  }
  const dog = watchdog(counted, 0.3, () => {
    barks += 1
  })
  // Heard at times that leave a rest of a few picoseconds.
  for (let at = 0; at < 20; at += 1) {
    dog.heard()
    await clock.advance(0.1)
  }
  await clock.advance(10)
  assert.equal(barks, 1)
})
