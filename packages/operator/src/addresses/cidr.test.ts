import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Block,
  blockAt,
  contains,
  countBlocks,
  formatAddress,
  formatBareOrCidr,
  formatCidr,
  lastOf,
  nthBlock,
  overlaps,
  readAddress,
  readBlock,
  readRange,
  sameBlock,
  sizeOf,
} from './cidr.ts'

const address6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })
const address4 = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n })
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.tuple(address6, fc.integer({ min: 0, max: 128 })).map(([address, length]) => blockAt('IPv6', address, length)),
  fc.tuple(address4, fc.integer({ min: 0, max: 32 })).map(([address, length]) => blockAt('IPv4', address, length)),
)

const spellings: { says: string; text: string; want: string | undefined }[] = [
  { says: 'B45: upper case and leading zeros are the same address', text: '2001:DB8:0:0::0005', want: '2001:db8::5/128' },
  { says: 'B45: a host prefix is the same address', text: '2001:db8::5/128', want: '2001:db8::5/128' },
  { says: 'B45: an IPv4-mapped address is the IPv4 address', text: '::ffff:10.0.0.5', want: '10.0.0.5/32' },
  { says: 'B45: also in hexadecimal', text: '::FFFF:a00:5/128', want: '10.0.0.5/32' },
  { says: 'a mapped range is the IPv4 range', text: '::ffff:10.0.0.0/120', want: '10.0.0.0/24' },
  { says: 'a range wider than all of IPv4 stays IPv6', text: '::ffff:0:0/95', want: '::fffe:0:0/95' },
  { says: 'an IPv4-compatible address stays IPv6', text: '::10.0.0.5', want: '::a00:5/128' },
  { says: 'host bits are dropped from a block', text: '10.1.2.3/8', want: '10.0.0.0/8' },
  { says: 'the first longest run of zeros is shortened', text: '1:0:0:2:0:0:0:3', want: '1:0:0:2::3/128' },
  { says: 'a single zero group is written out', text: '1:0:2:3:4:5:6:7', want: '1:0:2:3:4:5:6:7/128' },
  { says: 'a zone means nothing here', text: 'fe80::1%eth0', want: undefined },
  { says: 'leading zeros in IPv4 are ambiguous', text: '010.0.0.1', want: undefined },
  { says: 'too long a prefix', text: '10.0.0.0/33', want: undefined },
  { says: 'words', text: 'default', want: undefined },
  { says: 'nothing', text: '', want: undefined },
]

for (const { says, text, want } of spellings) {
  test(`reading ${JSON.stringify(text)}: ${says}`, () => {
    const read = readBlock(text)
    assert.equal(read && formatCidr(read), want)
  })
}

test('canonical text of any block reads back as that block', () => {
  fc.assert(
    fc.property(block, (given) => {
      const read = readBlock(formatCidr(given))
      const mapped = given.family === 'IPv6' && given.prefixLength >= 96 && given.start >> 32n === 0xffffn
      assert.ok(read && (mapped || sameBlock(read, given)))
      assert.equal(formatCidr(read), formatCidr(readBlock(formatCidr(read)) ?? given))
    }),
  )
})

test('any spelling of an IPv6 address is one address', () => {
  const spelled = (address: bigint, upper: boolean, padded: boolean) => {
    const groups = Array.from({ length: 8 }, (_, n) => ((address >> BigInt(112 - 16 * n)) & 0xffffn).toString(16))
    const text = groups.map((group) => (padded ? group.padStart(4, '0') : group)).join(':')
    return upper ? text.toUpperCase() : text
  }
  fc.assert(
    fc.property(address6, fc.boolean(), fc.boolean(), (address, upper, padded) => {
      const mapped = address >> 32n === 0xffffn
      const read = readAddress(spelled(address, upper, padded))
      assert.equal(read?.address, mapped ? address & 0xffffffffn : address)
      assert.equal(readAddress(formatAddress('IPv6', address))?.address, read?.address)
    }),
  )
})

test('two blocks are nested or have no address in common', () => {
  fc.assert(
    fc.property(block, block, (one, other) => {
      const common = one.family === other.family && one.start <= lastOf(other) && other.start <= lastOf(one)
      assert.equal(overlaps(one, other), common)
      assert.equal(contains(one, other) && contains(other, one), sameBlock(one, other))
    }),
  )
})

test('the n-th blocks of a range lie inside it, side by side', () => {
  fc.assert(
    fc.property(block, fc.integer({ min: 0, max: 128 }), address6, (range, longer, seed) => {
      const length = Math.min(range.prefixLength + longer, range.family === 'IPv4' ? 32 : 128)
      const count = countBlocks(range, length)
      const n = seed % count
      const nth = nthBlock(range, length, n)
      assert.ok(contains(range, nth))
      assert.equal(nth.start, range.start + n * sizeOf(nth))
      assert.equal(count * sizeOf(nth), sizeOf(range))
      assert.throws(() => nthBlock(range, length, count), RangeError)
    }),
  )
})

test('B46: offsets beyond 64 bits neither wrap nor share a slot', () => {
  const range = readBlock('fd00::/48')
  assert.ok(range)
  assert.equal(formatCidr(nthBlock(range, 128, 1n << 79n)), 'fd00:0:0:8000::/128')
  assert.notEqual(readAddress('fd00:0:0:1::5')?.address, readAddress('fd00:0:0:2::5')?.address)
  assert.equal(countBlocks(range, 40), 0n)
})

test('a range in two fields is read like its text, mapped spellings included', () => {
  const texts = [
    [readRange('10.128.0.0', 20), '10.128.0.0/20'],
    [readRange('::ffff:10.0.0.0', 120), '10.0.0.0/24'],
    [readRange('::ffff:10.0.0.0', 24), '10.0.0.0/24'],
    [readRange('fd20::1', 64), 'fd20::/64'],
  ] as const
  for (const [read, want] of texts) assert.equal(read && formatCidr(read), want)
  assert.equal(readRange('10.0.0.0', 33), undefined)
  assert.equal(readRange('10.0.0.0', 1.5), undefined)
  assert.equal(readRange('nowhere', 24), undefined)
})

test('a host prefix is written bare, a longer range with its length', () => {
  assert.deepEqual(
    ['10.0.0.5/32', 'fd00::/96'].map((text) => formatBareOrCidr(readBlock(text) ?? blockAt('IPv4', 0n, 0))),
    ['10.0.0.5', 'fd00::/96'],
  )
})
