import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Block, contains, endOf, firstFree, formatBlock, overlaps, readBlock, requireBlock, sizeOf } from './block.ts'

const blocks = (...texts: string[]) => texts.map(requireBlock)

const choices: {
  says: string
  range: string
  taken: string[]
  length: number
  leading?: [number, number]
  want: string | undefined
}[] = [
  { says: 'an empty range gives its first block', range: 'fd00::/64', taken: [], length: 96, want: 'fd00::/96' },
  {
    says: 'a reserved first block is passed over',
    range: 'fd00::/64',
    taken: [],
    length: 96,
    leading: [1, 96],
    want: 'fd00::1:0:0/96',
  },
  {
    says: 'the first gap is taken',
    range: '10.0.0.0/24',
    taken: ['10.0.0.0/32', '10.0.0.2/32'],
    length: 32,
    want: '10.0.0.1/32',
  },
  {
    says: 'a gap that is too small is passed over',
    range: '10.0.0.0/24',
    taken: ['10.0.0.1/32'],
    length: 31,
    want: '10.0.0.2/31',
  },
  {
    says: 'what is taken lies in no order',
    range: '10.0.0.0/30',
    taken: ['10.0.0.2/32', '10.0.0.0/31'],
    length: 32,
    want: '10.0.0.3/32',
  },
  {
    says: 'a larger block hides smaller ones',
    range: '10.0.0.0/29',
    taken: ['10.0.0.0/30', '10.0.0.1/32'],
    length: 32,
    want: '10.0.0.4/32',
  },
  {
    says: 'what is taken elsewhere does not count',
    range: '10.0.0.0/30',
    taken: ['10.1.0.0/16', 'fd00::/16'],
    length: 32,
    want: '10.0.0.0/32',
  },
  {
    says: 'a full range gives nothing',
    range: '10.0.0.0/31',
    taken: ['10.0.0.0/32', '10.0.0.1/32'],
    length: 32,
    want: undefined,
  },
  { says: 'nothing is larger than its range', range: '10.0.0.0/24', taken: [], length: 23, want: undefined },
  { says: 'nothing is longer than an address', range: '10.0.0.0/24', taken: [], length: 33, want: undefined },
  { says: 'all of it may be reserved', range: '10.0.0.0/31', taken: [], length: 32, leading: [2, 32], want: undefined },
]

for (const { says, range, taken, length, leading, want } of choices) {
  test(says, () => {
    const reserved = leading && { leading: leading[0], unitPrefixLength: leading[1] }
    const found = firstFree({ range: requireBlock(range), taken: blocks(...taken), reserved }, length)
    assert.equal(found && formatBlock(found), want)
  })
}

test('the choice is the lowest free block, as trying all of them one by one finds it', () => {
  const range = requireBlock('10.0.0.0/25')
  const inRange = fc
    .tuple(fc.integer({ min: 25, max: 32 }), fc.integer({ min: 0, max: 127 }))
    .map(([prefixLength, offset]): Block => {
      const host = BigInt(32 - prefixLength)
      return { family: 'IPv4', prefixLength, start: ((range.start + BigInt(offset)) >> host) << host }
    })
  const property = fc.property(
    fc.array(inRange, { maxLength: 24 }),
    fc.integer({ min: 25, max: 32 }),
    fc.integer({ min: 0, max: 5 }),
    (taken, length, leading) => {
      const size = sizeOf({ family: 'IPv4', prefixLength: length })
      let want: Block | undefined
      for (let start = range.start; !want && start < endOf(range); start += size) {
        const block: Block = { family: 'IPv4', start, prefixLength: length }
        const isFree = start >= range.start + BigInt(leading) && !taken.some((other) => overlaps(other, block))
        if (isFree) want = block
      }
      const found = firstFree({ range, taken, reserved: { leading, unitPrefixLength: 32 } }, length)
      assert.deepEqual(found, want)
      if (found) assert.ok(contains(range, found))
    },
  )
  fc.assert(property)
})

const spellings: [text: string, want: string | undefined][] = [
  ['FD20:1000:0:0::/64', 'fd20:1000::/64'],
  ['fd20:1000::5', 'fd20:1000::5/128'],
  ['10.128.3.4/16', '10.128.0.0/16'],
  ['10.128.0.9', '10.128.0.9/32'],
  ['fe80::1%eth0', undefined],
  ['default', undefined],
  ['', undefined],
]

for (const [text, want] of spellings) {
  test(`${JSON.stringify(text)} is ${want ?? 'no range'}`, () => {
    const read = readBlock(text)
    assert.equal(read && formatBlock(read), want)
  })
}
