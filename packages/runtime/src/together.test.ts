import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeadershipLost } from './fenced-transport.ts'
import { together } from './together.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced, type WriteTarget } from './write-signals.ts'

const target: WriteTarget = { controller: 'c', resource: 'widgets', verb: 'patch', key: 'a' }
const gone = new WriteGone(target, 'not-found')
const raced = new WriteRaced(target, 'stale')
const heldBack = new WriteHeldBack(target, 250)
const unserved = new KindUnserved(target)
const lost = new LeadershipLost()
const fault = new Error('a fault')

const table: { says: string; errors: Error[]; want: Error }[] = [
  { says: 'a fault weighs more than a race', errors: [gone, raced, fault], want: fault },
  { says: 'a race weighs more than a deletion', errors: [gone, raced], want: raced },
  { says: 'a race weighs more than a kind that is not served', errors: [unserved, raced], want: raced },
  { says: 'a race weighs more than a write that was held back', errors: [heldBack, raced], want: raced },
  {
    says: 'one that was held back weighs more than a kind that is not served',
    errors: [gone, unserved, heldBack],
    want: heldBack,
  },
  { says: 'a lost lease weighs more than a race', errors: [raced, lost], want: lost },
  { says: 'a fault weighs more than a lost lease', errors: [lost, fault], want: fault },
  { says: 'a lost lease told twice is told once', errors: [lost, new LeadershipLost()], want: lost },
  { says: 'a deletion alone is a deletion', errors: [gone], want: gone },
]

for (const { says, errors, want } of table) {
  test(says, async () => {
    const writes = [Promise.resolve(1), ...errors.map((error) => Promise.reject(error))]
    await assert.rejects(together(writes), (error) => error === want)
  })
}

test('all values come back in their order', async () => {
  const [one, two] = await together([Promise.resolve(1), Promise.resolve('two')])
  assert.equal(one + two.length, 4)
})

test('the first failure does not end the wait for the others', async () => {
  let over = false
  const slow = new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))).then(() => {
    over = true
  })
  await assert.rejects(together([Promise.reject(raced), slow]))
  assert.equal(over, true)
})

test('several faults are told together', async () => {
  const other = new Error('another')
  await assert.rejects(
    together([Promise.reject(fault), Promise.reject(gone), Promise.reject(lost), Promise.reject(other)]),
    (error) => {
      assert.ok(error instanceof AggregateError)
      assert.deepEqual(error.errors, [fault, other])
      return true
    },
  )
})
