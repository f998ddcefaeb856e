import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced, type WriteTarget } from './write-signals.ts'

const target: WriteTarget = { controller: 'ctl', resource: 'widgets/status', verb: 'apply', key: 'space/a' }
const cause = new Error('the answer')

const table = [
  {
    signal: new WriteRaced(target, 'stale', { cause }),
    name: 'WriteRaced',
    code: 'WRITE_RACED',
    message: 'apply widgets/status space/a: lost a race (stale)',
  },
  {
    signal: new WriteHeldBack(target, 250, { cause }),
    name: 'WriteHeldBack',
    code: 'WRITE_HELD_BACK',
    message: 'apply widgets/status space/a: held back, others keep writing there',
  },
  {
    signal: new WriteGone(target, 'recreated', { cause }),
    name: 'WriteGone',
    code: 'WRITE_GONE',
    message: 'apply widgets/status space/a: gone (recreated)',
  },
  {
    signal: new KindUnserved(target, { cause }),
    name: 'KindUnserved',
    code: 'KIND_UNSERVED',
    message: 'apply widgets/status space/a: the kind is not served',
  },
]

for (const { signal, ...want } of table) {
  test(`${want.code} says what was written, where, and what the server answered`, () => {
    assert.deepEqual({ name: signal.name, code: signal.code, message: signal.message }, want)
    assert.deepEqual([signal.target, signal.cause], [target, cause])
  })
}

test('WRITE_HELD_BACK says for how long', () => assert.equal(new WriteHeldBack(target, 250).afterMs, 250))
