import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { base62ToHex, fromBase62, toBase62 } from './base62.ts'
import { advertisementNames, hostInterfaceName, identityKey, vrfInterfaceName } from './identity.ts'
import { attachmentSpace, pickIdentifier, vpcSpace } from './pick.ts'
import { createReservations } from './reservations.ts'

const vpcNumber = fc.bigInt(1n, 2n ** 48n - 2n)
const attachmentNumber = fc.bigInt(1n, 2n ** 16n - 2n)
const identity = fc.record({ vpc: vpcNumber.map(toBase62), attachment: attachmentNumber.map(toBase62) })
const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

test('known base62 forms', () => {
  const table: [bigint, string][] = [
    [0n, '0'],
    [10n, 'a'],
    [36n, 'A'],
    [61n, 'Z'],
    [62n, '10'],
    [42n, 'G'],
    [1234n, 'jU'],
    [2n ** 16n - 2n, 'h30'],
    [2n ** 48n - 2n, '1hVwxnaA6'],
  ]
  for (const [number, text] of table) {
    assert.equal(toBase62(number), text)
    assert.equal(fromBase62(text), number)
  }
})

test('what is no base62 decodes to nothing', () => {
  for (const text of ['', '-', 'a b', 'ä', 'a-b', '+1']) assert.equal(fromBase62(text), undefined)
  assert.throws(() => toBase62(-1n), RangeError)
})

test('base62 and hex hold the same number, and leading zeros change nothing', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 96n), fc.nat(5), (number, zeros) => {
      assert.equal(fromBase62('0'.repeat(zeros) + toBase62(number)), number)
      assert.equal(base62ToHex(toBase62(number)), number.toString(16))
    }),
  )
})

test('identifiers fit: at most 9 and 3 characters, kernel names at most 15', () => {
  fc.assert(
    fc.property(identity, (id) => {
      assert.ok(id.vpc.length <= 9)
      assert.ok(id.attachment.length <= 3)
      assert.equal(hostInterfaceName(id).length, 14)
      assert.equal(vrfInterfaceName(id.vpc).length, 11)
    }),
  )
})

test('the kernel names of a known identity', () => {
  assert.equal(hostInterfaceName({ vpc: 'jU', attachment: '1a' }), 'G0000000jU01aH')
  assert.equal(vrfInterfaceName('jU'), 'G0000000jUV')
})

test('B52: every identity has an advertisement name that the API server accepts', () => {
  fc.assert(
    fc.property(identity, (id) => {
      const names = advertisementNames(id)
      assert.ok(names.length >= 1)
      for (const name of names) assert.match(name, objectName)
    }),
  )
})

test('B52: identities that differ only in the case of a letter share no advertisement name', () => {
  assert.deepEqual(advertisementNames({ vpc: 'jU', attachment: '1a' }), ['4d2-48'])
  assert.deepEqual(advertisementNames({ vpc: 'ju', attachment: '1a' }), ['4b8-48', 'ju-1a'])
  const flip = (text: string) => text.replace(/[a-z]/i, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()))
  fc.assert(
    fc.property(identity, (id) => {
      const other = { vpc: flip(id.vpc), attachment: id.attachment }
      if (identityKey(other) === identityKey(id)) return
      const names = new Set(advertisementNames(id))
      for (const name of advertisementNames(other)) assert.ok(!names.has(name))
    }),
  )
})

test('both forms of a name are found, once each', () => {
  assert.deepEqual(advertisementNames({ vpc: 'abc', attachment: 'x9' }), [
    `${(10n * 3844n + 11n * 62n + 12n).toString(16)}-807`,
    'abc-x9',
  ])
  assert.deepEqual(advertisementNames({ vpc: '5', attachment: '7' }), ['5-7'])
  assert.deepEqual(advertisementNames({ vpc: 'not base62', attachment: '7' }), [])
})

test('the reserved identifiers are never chosen, whatever the source of chance answers', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(vpcSpace, attachmentSpace),
      fc.double({ min: 0, max: 0.9999999999999999, noNaN: true }),
      (space, chance) => {
        const id = pickIdentifier(
          space,
          (from, below) => from + Math.floor(chance * (below - from)),
          () => false,
        )
        const number = fromBase62(id ?? '')
        assert.ok(number !== undefined && number > 0n && number < 2n ** BigInt(space.bits) - 1n)
      },
    ),
  )
})

test('a small space is searched to its last free identifier, then there is none', () => {
  const last = toBase62(31_999n)
  assert.equal(
    pickIdentifier(
      attachmentSpace,
      (from) => from,
      (id) => id !== last,
    ),
    last,
  )
  assert.equal(
    pickIdentifier(
      attachmentSpace,
      (from) => from,
      () => true,
    ),
    undefined,
  )
})

test('a large space gives up after 100 taken ones', () => {
  let asked = 0
  const id = pickIdentifier(
    vpcSpace,
    (from) => from,
    () => ++asked > 0,
  )
  assert.equal(id, undefined)
  assert.equal(asked, 100)
})

test('reservations: no identifier has two holders, a holder has one, and all can be given back', () => {
  const step = fc.record({
    holder: fc.constantFrom('u1', 'u2', 'u3'),
    scope: fc.constantFrom('v1', 'v2'),
    id: fc.constantFrom('a', 'b', 'c'),
    releases: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const reservations = createReservations()
      const model = new Map<string, string>()
      for (const { holder, scope, id, releases } of steps) {
        if (releases) {
          reservations.release(holder)
          model.delete(holder)
        } else if (!reservations.isTaken(scope, id, holder)) {
          reservations.reserve(holder, scope, id)
          model.set(holder, `${scope}/${id}`)
        }
        assert.equal(new Set(model.values()).size, model.size)
        for (const [uid, slot] of model) assert.equal(reservations.isTaken(slot.slice(0, 2), slot.slice(3), `not ${uid}`), true)
        assert.equal(reservations.size, model.size)
      }
    }),
  )
})

test('a holder asks again and gets what it reserved; in another scope it has none', () => {
  const reservations = createReservations()
  reservations.reserve('u1', 'v1', 'a')
  assert.equal(reservations.held('u1', 'v1'), 'a')
  assert.equal(reservations.held('u1', 'v2'), undefined)
  reservations.reserve('u1', 'v2', 'b')
  assert.equal(reservations.isTaken('v1', 'a', 'u2'), false)
  assert.equal(reservations.size, 1)
})
