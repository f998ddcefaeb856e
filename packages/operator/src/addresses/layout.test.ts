import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCidr, readAddress, readBlock } from './cidr.ts'
import { assignable, isAssignable, layoutOf, unitAt } from './layout.ts'
import { createOccupancy } from './occupancy.ts'

function layout(range: string, gateway?: string) {
  const block = readBlock(range)
  assert.ok(block)
  return layoutOf(block, gateway === undefined ? undefined : readAddress(gateway)?.address)
}

/** All units of a small range that can be handed out, in order, as the allocator would find them. */
function handedOut(range: string, gateway?: string): string[] {
  const of = layout(range, gateway)
  const taken = createOccupancy()
  const found: string[] = []
  for (let unit = taken.firstFree(of, 0n); unit; unit = taken.firstFree(of, 0n)) {
    taken.add(formatCidr(unit), [unit])
    found.push(formatCidr(unit))
  }
  assert.equal(BigInt(found.length), assignable(of))
  return found
}

const hosts = (from: number, to: number, length = 32) =>
  Array.from({ length: to - from + 1 }, (_, n) => `10.0.0.${from + n}/${length}`)

const table: { says: string; range: string; gateway?: string; want: string[] }[] = [
  { says: '/29 with its gateway gives .2 to .6', range: '10.0.0.0/29', gateway: '10.0.0.1', want: hosts(2, 6) },
  { says: '/29 with the last address as gateway', range: '10.0.0.0/29', gateway: '10.0.0.6', want: hosts(1, 5) },
  { says: '/29 with a gateway in the middle', range: '10.0.0.0/29', gateway: '10.0.0.3', want: [...hosts(1, 2), ...hosts(4, 6)] },
  { says: '/29 with a gateway outside', range: '10.0.0.0/29', gateway: '10.0.1.1', want: hosts(1, 6) },
  { says: '/29 without a gateway', range: '10.0.0.0/29', want: hosts(1, 6) },
  { says: '/30 with its gateway gives one', range: '10.0.0.0/30', gateway: '10.0.0.1', want: hosts(2, 2) },
  { says: '/31 gives both (RFC 3021)', range: '10.0.0.0/31', gateway: '10.0.0.1', want: hosts(0, 1) },
  { says: '/32 gives its one', range: '10.0.0.7/32', gateway: '10.0.0.8', want: hosts(7, 7) },
  {
    says: '/126 skips the anycast address and the gateway',
    range: '2001:db8::/126',
    gateway: '2001:db8::1',
    want: ['2001:db8::2/128', '2001:db8::3/128'],
  },
  { says: '/127 gives both (RFC 6164)', range: '2001:db8::/127', want: ['2001:db8::/128', '2001:db8::1/128'] },
  { says: '/128 gives its one', range: '2001:db8::9/128', want: ['2001:db8::9/128'] },
  {
    says: '/94 in /96 units: the first is set aside',
    range: 'fd00::/94',
    gateway: 'fd00::1',
    want: ['fd00::1:0:0/96', 'fd00::2:0:0/96', 'fd00::3:0:0/96'],
  },
  { says: '/95 has two units, and the first is set aside', range: 'fd00::/95', gateway: 'fd00::1', want: ['fd00::1:0:0/96'] },
]

for (const { says, range, gateway, want } of table) {
  test(`B47: ${says}`, () => assert.deepEqual(handedOut(range, gateway), want))
}

test('B47: a /23 includes its inner .255 and .0', () => {
  const given = handedOut('10.0.0.0/23', '10.0.0.1')
  assert.equal(given.length, 509)
  assert.ok(given.includes('10.0.0.255/32') && given.includes('10.0.1.0/32'))
  assert.ok(!given.includes('10.0.0.0/32') && !given.includes('10.0.1.255/32') && !given.includes('10.0.0.1/32'))
})

test("a /64 is handed out in /96 units, and its first one is nobody's", () => {
  const of = layout('fd20:1:2:3::/64', 'fd20:1:2:3::1')
  assert.equal(assignable(of), (1n << 32n) - 1n)
  assert.equal(formatCidr(unitAt(of, of.first)), 'fd20:1:2:3:0:1::/96')
  const reserved = readBlock('fd20:1:2:3::/96')
  const inside = readBlock('fd20:1:2:3:0:1::/96')
  const address = readBlock('fd20:1:2:3:0:1::5/128')
  assert.ok(reserved && inside && address)
  assert.deepEqual(
    [reserved, inside, address].map((block) => isAssignable(of, block)),
    [false, true, false],
  )
})
