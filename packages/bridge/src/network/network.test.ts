import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bridgeNameFor, sha256 } from './bridge-name.ts'
import { type Decision, decide, intentOf, type SeenNetwork } from './decide.ts'

const fresh: SeenNetwork = { generation: 1, deleting: false, isHeldByUs: true, bridge: undefined, user: undefined }

const table: { says: string; given: Partial<SeenNetwork>; want: Decision }[] = [
  { says: 'a new network gets its bridge', given: {}, want: { do: 'name' } },
  { says: 'a bridge stays', given: { bridge: 'kb-1', user: 'blue/a' }, want: { do: 'say', bridge: 'kb-1' } },
  { says: 'deleting and unused: let go', given: { deleting: true, bridge: 'kb-1' }, want: { do: 'let-go' } },
  { says: 'deleting without a bridge: nobody can be on it', given: { deleting: true, user: 'blue/a' }, want: { do: 'let-go' } },
  {
    says: 'deleting and used: held, and said',
    given: { deleting: true, bridge: 'kb-1', user: 'blue/a' },
    want: { do: 'say', bridge: 'kb-1', waitsFor: 'blue/a' },
  },
  {
    says: 'B40: deleting without our finalizer is no longer ours',
    given: { deleting: true, isHeldByUs: false, bridge: 'kb-1', user: 'blue/a' },
    want: { do: 'leave' },
  },
]

for (const { says, given, want } of table) test(says, () => assert.deepEqual(decide({ ...fresh, ...given }), want))

test('the bridge stands in every intent', () => {
  assert.equal(intentOf('kb-1', 1, true).bridge, 'kb-1')
  assert.match(intentOf('kb-1', 1, true).conditions[0]?.message ?? '', /waits/)
})

test('a device name is valid for Linux, the same for the same uid, and another one where it is taken', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.nat(3), (uid, taken) => {
      const given: string[] = []
      const name = bridgeNameFor(uid, sha256, (candidate) => given.push(candidate) <= taken)
      assert.match(name, /^kb-[0-9a-f]{12}$/)
      assert.equal(new Set(given).size, taken + 1)
      assert.equal(
        bridgeNameFor(uid, sha256, (candidate) => given.indexOf(candidate) >= 0 && candidate !== name),
        name,
      )
    }),
  )
})

test('a network made again under a name has another bridge, though the old name is free', () => {
  const free = () => false
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (one, other) => {
      fc.pre(one !== other)
      assert.notEqual(bridgeNameFor(one, sha256, free), bridgeNameFor(other, sha256, free))
    }),
  )
})
