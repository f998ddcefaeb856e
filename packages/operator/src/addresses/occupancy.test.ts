import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstCandidate } from './candidates.ts'
import { type Block, blockAt, contains, formatCidr, lastOf, readBlock } from './cidr.ts'
import { createIntervals, type Intervals } from './intervals.ts'
import { assignable, isAssignable, layoutOf, unitAt } from './layout.ts'
import { createOccupancy } from './occupancy.ts'

function block(text: string): Block {
  const read = readBlock(text)
  assert.ok(read)
  return read
}

/** Intervals that count what is asked of them. */
function counting() {
  const made: Intervals[] = []
  let steps = 0
  const make = (): Intervals => {
    const inner = createIntervals()
    made.push(inner)
    return {
      add: inner.add,
      remove: inner.remove,
      meets(first, last) {
        steps += 1
        return inner.meets(first, last)
      },
      get count() {
        return inner.count
      },
      get runs() {
        return inner.runs
      },
    }
  }
  const stepsOf = (act: () => void) => {
    const before = steps
    act()
    return steps - before
  }
  return { make, made, stepsOf }
}

test('intervals answer like a plain set of numbers', () => {
  const length = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 1 }) }, fc.integer({ min: 0, max: 30 }))
  const operation = fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 60 }), length)
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80 }), fc.integer({ min: 0, max: 70 }), (operations, asked) => {
      const intervals = createIntervals(4)
      const plain = new Set<number>()
      for (const [adds, from, length] of operations) {
        for (let n = from; n <= from + length; n += 1) adds ? plain.add(n) : plain.delete(n)
        if (adds) intervals.add(BigInt(from), BigInt(from + length))
        else intervals.remove(BigInt(from), BigInt(from + length))
      }
      const runs = [...plain].filter((n) => !plain.has(n - 1)).length
      assert.equal(intervals.count, runs)
      assert.ok(intervals.runs <= runs, 'no run is empty')
      let end = asked
      while (plain.has(end + 1)) end += 1
      assert.equal(intervals.meets(BigInt(asked), BigInt(asked)), plain.has(asked) ? BigInt(end) : undefined)
    }),
  )
})

test('taken is what any record holds, whatever came and went in whatever order and size', () => {
  const record = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.bigInt({ min: 0n, max: 63n }), fc.integer({ min: 26, max: 32 }))
  const layout = layoutOf(block('10.0.0.0/26'), block('10.0.0.1').start)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), record), { maxLength: 30 }), fc.bigInt({ min: 0n, max: 63n }), (steps, from) => {
      const occupancy = createOccupancy()
      const plain = new Map<string, Block>()
      for (const [adds, [source, address, length]] of steps) {
        const held = blockAt('IPv4', block('10.0.0.0').start + address, length)
        if (adds) {
          occupancy.add(`record-${source}`, [held])
          plain.set(`record-${source}`, held)
        } else {
          occupancy.remove(`record-${source}`)
          plain.delete(`record-${source}`)
        }
      }
      assert.equal(occupancy.size, plain.size)
      const isFree = (unit: Block) => ![...plain.values()].some((held) => contains(held, unit))
      const units = Array.from({ length: 64 }, (_, n) => unitAt(layout, BigInt(n)))
      for (const unit of units) assert.equal(occupancy.isTaken(unit), !isFree(unit))
      const inOrder = [...units.slice(Number(from)), ...units.slice(0, Number(from))]
      const start = from < layout.first || from > layout.last ? units : inOrder
      const want = start.find((unit) => isAssignable(layout, unit) && isFree(unit))
      assert.deepEqual(occupancy.firstFree(layout, from), want)
    }),
  )
})

test('an address stays taken while one of its two records stands', () => {
  const occupancy = createOccupancy()
  occupancy.add('lease', [block('fd00::1:0:0/96')])
  occupancy.add('interface', [block('FD00:0:0:0:0:1:0:0/96')])
  occupancy.remove('lease')
  assert.equal(occupancy.isTaken(block('fd00::1:0:5/128')), true)
  occupancy.remove('interface')
  assert.equal(occupancy.isTaken(block('fd00::1:0:5/128')), false)
  assert.equal(occupancy.size, 0)
})

test('B46: a full /112 is known to be full in two steps, and one released is found in as many', () => {
  const layout = layoutOf(block('2001:db8::/112'), block('2001:db8::1').start)
  const { make, stepsOf } = counting()
  const occupancy = createOccupancy(make)
  for (let n = layout.first; n <= layout.last; n += 1n) occupancy.add(`lease-${n}`, [unitAt(layout, n)])
  assert.equal(occupancy.size, Number(assignable(layout)))
  const from = firstCandidate(layout, 'someone')
  assert.equal(
    stepsOf(() => assert.equal(occupancy.firstFree(layout, from), undefined)),
    2,
  )
  occupancy.remove(`lease-${layout.last - 7n}`)
  const found = stepsOf(() => assert.deepEqual(occupancy.firstFree(layout, layout.first), unitAt(layout, layout.last - 7n)))
  assert.equal(found, 2)
})

test('B46: a /48 with a thousand holders at its start answers in two steps, also 2^79 addresses in', () => {
  const range = block('fd00::/48')
  const layout = layoutOf(range)
  const { make, stepsOf } = counting()
  const occupancy = createOccupancy(make)
  for (let n = 0n; n < 1000n; n += 1n) occupancy.add(`lease-${n}`, [unitAt(layout, layout.first + n)])
  const far = (1n << 79n) >> 32n
  const steps = stepsOf(() => {
    assert.deepEqual(occupancy.firstFree(layout, layout.first), unitAt(layout, layout.first + 1000n))
    assert.equal(formatCidr(occupancy.firstFree(layout, far) ?? range), 'fd00:0:0:8000::/96')
  })
  assert.equal(steps, 3)
})

test('a range whose every second unit is held is searched one run at a time, and no further than to the first gap', () => {
  const layout = layoutOf(block('10.0.0.0/16'))
  const { make, stepsOf } = counting()
  const occupancy = createOccupancy(make)
  for (let n = layout.first; n <= layout.last; n += 2n) occupancy.add(`lease-${n}`, [unitAt(layout, n)])
  assert.equal(
    stepsOf(() => assert.deepEqual(occupancy.firstFree(layout, 4_001n), unitAt(layout, 4_002n))),
    2,
  )
})

test('ten thousand addresses that come and go leave nothing behind', () => {
  const layout = layoutOf(block('fd00::/48'))
  const { make, made } = counting()
  const occupancy = createOccupancy(make)
  occupancy.add('stays', [unitAt(layout, 7n)])
  for (let n = 0; n < 10_000; n += 1) {
    const unit = occupancy.firstFree(layout, firstCandidate(layout, `holder-${n}`))
    assert.ok(unit)
    occupancy.add(`lease-${n}`, [unit])
    occupancy.add(`interface-${n}`, [unit])
    if (n >= 100) {
      assert.deepEqual(occupancy.remove(`lease-${n - 100}`), [])
      assert.equal(occupancy.remove(`interface-${n - 100}`).length, 1)
    }
  }
  for (let n = 9_900; n < 10_000; n += 1) {
    occupancy.remove(`lease-${n}`)
    occupancy.remove(`interface-${n}`)
  }
  assert.deepEqual([occupancy.size, made.length, made[0]?.count, made[0]?.runs], [1, 1, 1, 1])
})

test('a record that gives up one of its blocks answers that it is free, and not one that another record holds', () => {
  const occupancy = createOccupancy()
  occupancy.add('interface', [block('10.0.0.5/32'), block('10.0.0.6/32')])
  occupancy.add('lease', [block('10.0.0.5/32')])
  assert.deepEqual(occupancy.add('interface', [block('10.0.0.6/32')]), [])
  assert.deepEqual(occupancy.add('interface', [block('10.0.0.7/32')]), [block('10.0.0.6/32')])
  assert.deepEqual(occupancy.add('interface', []), [block('10.0.0.7/32')])
  assert.deepEqual(occupancy.remove('lease'), [block('10.0.0.5/32')])
})

test('B46: blocks with equal low 64 bits do not share a slot', () => {
  const occupancy = createOccupancy()
  occupancy.add('a', [block('fd00:0:0:1::5')])
  assert.equal(occupancy.isTaken(block('fd00:0:0:2::5')), false)
  occupancy.add('b', [block('fd00:0:0:2::5')])
  occupancy.remove('a')
  assert.equal(occupancy.isTaken(block('fd00:0:0:2::5')), true)
})

test('B48: what is held outside the present range stays held when the range grows back', () => {
  const occupancy = createOccupancy()
  occupancy.add('lease', [block('10.0.0.10')])
  const small = layoutOf(block('10.0.0.0/29'), block('10.0.0.1').start)
  assert.equal(occupancy.firstFree(small, 2n)?.start, block('10.0.0.2').start)
  const grown = layoutOf(block('10.0.0.0/28'), block('10.0.0.1').start)
  assert.equal(occupancy.firstFree(grown, 10n)?.start, block('10.0.0.11').start)
})

test('a holder always tries the same units first, and different holders spread', () => {
  const layout = layoutOf(block('10.0.0.0/20'), block('10.0.0.1').start)
  assert.equal(firstCandidate(layout, 'uid-1/IPv4'), firstCandidate(layout, 'uid-1/IPv4'))
  const first = new Set(Array.from({ length: 1000 }, (_, n) => firstCandidate(layout, `uid-${n}/IPv4`)))
  assert.ok(first.size > 800, `${first.size} of 1000 differ`)
  for (const n of first) assert.ok(n >= layout.first && n <= layout.last)
  assert.ok(lastOf(layout.range) > 0n)
})
