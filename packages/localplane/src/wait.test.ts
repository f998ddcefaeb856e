import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, sleep } from './wait.ts'

test('the answer of the first probe that succeeds is the answer', async () => {
  const answers = [undefined, null, false, 0]
  assert.equal(await eventually('a number', () => answers.shift(), { everyMs: 1 }), 0)
})

test('a failed assertion means not yet', async () => {
  let asked = 0
  const probe = () => {
    asked++
    assert.ok(asked >= 3, 'too early')
    return 'there'
  }
  assert.equal(await eventually('three questions', probe, { everyMs: 1 }), 'there')
})

const overdue = [
  {
    says: 'names the last answer',
    probe: () => false as const,
    want: /^the moon: not within 0\.0 s; the last answer was false$/,
  },
  {
    says: 'names what the last attempt said',
    probe: () => {
      throw new Error('cloudy')
    },
    want: /the last attempt said: cloudy$/,
  },
]
for (const { says, probe, want } of overdue) {
  test(`what does not happen in time ${says}`, async () => {
    await assert.rejects(() => eventually('the moon', probe, { timeoutMs: 5, everyMs: 1 }), { code: 'TIMED_OUT', message: want })
  })
}

test('an abort ends a wait with its own reason', async () => {
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  await assert.rejects(() => sleep(60_000, signal), reason)
  await assert.rejects(() => eventually('nothing', () => false, { signal }), reason)
})
