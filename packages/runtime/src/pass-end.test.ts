import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeadershipLost } from './fenced-transport.ts'
import { type PassEnd, PassTooLong, passEndOf } from './pass-end.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced, type WriteTarget } from './write-signals.ts'

const target: WriteTarget = { controller: 'c', resource: 'widgets', verb: 'patch', key: 'a' }
const raced = new WriteRaced(target, 'stale')
const gone = new WriteGone(target, 'not-found')
const heldBack = new WriteHeldBack(target, 250)
const unserved = new KindUnserved(target)
const fault = new Error('a fault')

const table: { says: string; thrown: unknown; isKilled?: boolean; want: PassEnd }[] = [
  { says: 'a lost race', thrown: raced, want: { kind: 'raced', error: raced } },
  {
    says: 'a write that others were left alone for',
    thrown: heldBack,
    want: { kind: 'again', afterMs: 250, because: 'patch widgets a: held back, others keep writing there' },
  },
  { says: 'a deletion during the pass', thrown: gone, want: { kind: 'gone', error: gone } },
  { says: 'a kind that is not served', thrown: unserved, want: { kind: 'unserved', error: unserved } },
  { says: 'a lost lease', thrown: new LeadershipLost(), want: { kind: 'stopped' } },
  { says: 'anything else', thrown: fault, want: { kind: 'fault', error: fault } },
  { says: 'anything else while the process stops', thrown: fault, isKilled: true, want: { kind: 'stopped' } },
  { says: 'a lost race while the process stops', thrown: raced, isKilled: true, want: { kind: 'raced', error: raced } },
]

for (const { says, thrown, isKilled = false, want } of table)
  test(`${says} ends the pass as ${want.kind}`, () => assert.deepEqual(passEndOf(thrown, isKilled), want))

test('a pass that took too long says how long it might take, and what it waited in', () => {
  const { name, code, message, cause } = new PassTooLong(1_000, { cause: fault })
  assert.deepEqual([name, code, cause], ['PassTooLong', 'PASS_TOO_LONG', fault])
  assert.match(message, /1000 ms/)
})
