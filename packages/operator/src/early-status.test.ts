import assert from 'node:assert/strict'
import test from 'node:test'
import { createManualClock } from 'kube-control-loop/testing'
import { createEarlyStatus } from './early-status.ts'

test('a status is held back for its time once a wait has begun, and never before or after', async () => {
  const clock = createManualClock()
  const early = createEarlyStatus(clock, 250)
  assert.equal(early.leftMs('a/b'), 0)
  early.begin('a/b')
  assert.equal(early.leftMs('a/b'), 250)
  assert.equal(early.leftMs('a/other'), 0)
  await clock.advance(200)
  assert.equal(early.leftMs('a/b'), 50)
  await clock.advance(50)
  assert.deepEqual([early.leftMs('a/b'), early.waits('a/b')], [0, true])
})

test('a report ends the wait', () => {
  const early = createEarlyStatus(createManualClock(), 250)
  early.begin('a/b')
  early.end('a/b')
  assert.deepEqual([early.leftMs('a/b'), early.waits('a/b')], [0, false])
})
