import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Block, blockAt, contains, formatCidr, overlaps, readBlock } from '../addresses/cidr.ts'
import { createOccupancy } from '../addresses/occupancy.ts'
import { type HeldBlocks, pickPrefix, pickSubnet, subnetLength } from './ranges.ts'

function block(text: string): Block {
  const read = readBlock(text)
  assert.ok(read, text)
  return read
}

function holding(blocks: readonly Block[]): HeldBlocks {
  const occupancy = createOccupancy()
  for (const held of blocks) occupancy.add(formatCidr(held), [held])
  return occupancy
}

const lengths: { says: string; range: string; want: number }[] = [
  { says: 'a /20 of the default IPv4 range', range: '10.128.0.0/9', want: 20 },
  { says: 'a /20 of a /16', range: '10.1.0.0/16', want: 20 },
  { says: 'a sixteenth of a smaller range', range: '10.1.0.0/20', want: 24 },
  { says: 'a /28 of a /24', range: '10.1.0.0/24', want: 28 },
  { says: 'nothing smaller than a /28', range: '10.1.0.0/26', want: 28 },
  { says: 'all of a /28', range: '10.1.0.0/28', want: 28 },
  { says: 'a /64 of a /48', range: 'fd00::/48', want: 64 },
  { says: 'all of a /64', range: 'fd00::/64', want: 64 },
]
for (const { says, range, want } of lengths) {
  test(`a context gets ${says}`, () => assert.equal(subnetLength(block(range)), want))
}

const range4 = fc
  .tuple(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), fc.integer({ min: 8, max: 28 }))
  .map(([address, length]) => blockAt('IPv4', address, length))
const range6 = fc
  .tuple(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.integer({ min: 16, max: 64 }))
  .map(([address, length]) => blockAt('IPv6', address, length))
const context = fc.stringMatching(/^[a-z]{1,8}\/[a-z]{1,8}-[a-z]{1,8}$/)
const madeByHand = fc.tuple(fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }), fc.integer({ min: 12, max: 32 }))

test('carved Subnets never overlap, each other or one made by hand, and lie in the range', () => {
  const range = fc.oneof(range4, range6)
  fc.assert(
    fc.property(
      range,
      fc.uniqueArray(context, { maxLength: 24 }),
      fc.array(madeByHand, { maxLength: 4 }),
      (of, contexts, byHand) => {
        const held: Block[] = byHand.map(([address, length]) => blockAt('IPv4', address, length))
        for (const key of contexts) {
          const carved = pickSubnet(of, key, held)
          if (!carved) continue
          assert.ok(contains(of, carved) && carved.prefixLength === subnetLength(of))
          assert.ok(!held.some((other) => overlaps(other, carved)), formatCidr(carved))
          held.push(carved)
        }
      },
    ),
  )
})

test('a range is carved to its last block, and only then refused', () => {
  const held: Block[] = []
  for (let n = 0; n < 16; n += 1) {
    const carved = pickSubnet(block('10.0.0.0/24'), `default/net-${n}`, held)
    assert.ok(carved, `block ${n}`)
    held.push(carved)
  }
  assert.equal(pickSubnet(block('10.0.0.0/24'), 'default/net-16', held), undefined)
})

test('the same context gets the same block again, and the same network the same prefix', () => {
  assert.deepEqual(
    pickSubnet(block('10.128.0.0/9'), 'default/net-dfw', []),
    pickSubnet(block('10.128.0.0/9'), 'default/net-dfw', []),
  )
  assert.deepEqual(pickPrefix('uid-1', holding([])), pickPrefix('uid-1', holding([])))
})

test('a prefix is a /48 of fd20::/20 that no other network holds', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 8 }), (uids) => {
      const held: Block[] = []
      for (const uid of uids) {
        const wished = pickPrefix(uid, holding([]))
        assert.ok(wished)
        const prefix = pickPrefix(uid, holding([...held, wished]))
        assert.ok(prefix && contains(block('fd20::/20'), prefix) && prefix.prefixLength === 48)
        assert.ok(![...held, wished].some((other) => overlaps(other, prefix)))
        held.push(prefix)
      }
    }),
  )
  assert.equal(pickPrefix('uid', holding([block('fd20::/20')])), undefined)
})
