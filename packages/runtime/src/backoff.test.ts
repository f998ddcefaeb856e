import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backoff } from './backoff.ts'

test('B25: every delay is finite, positive and at most the cap, whatever the count of failures and the jitter are', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.1, max: 1e6, noNaN: true }),
      fc.double({ min: 1, max: 1e4, noNaN: true }),
      fc.oneof(fc.integer(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5)),
      fc.oneof(fc.double(), fc.double({ min: 0, max: 1 })),
      (base, factor, failures, jitter) => {
        const delay = backoff(base, base * factor, () => jitter)(failures)
        assert.ok(delay > 0 && delay <= base * factor, `${delay}`)
      },
    ),
  )
})

test('the next delay is never below the last until the cap is reached', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 20, maxLength: 20 }), (chances) => {
      let at = 0
      const delay = backoff(10, 5_000, () => chances[at++] ?? 0)
      const delays = Array.from({ length: 9 }, (_, n) => delay(n + 1))
      for (let n = 1; n < delays.length; n += 1) assert.ok((delays[n] ?? 0) >= (delays[n - 1] ?? 0), delays.join(' '))
    }),
  )
})

test('doubles from the base to the cap', () => {
  const delay = backoff(100, 1_000, () => 1)
  assert.deepEqual([1, 2, 3, 4, 5, 80].map(delay), [100, 200, 400, 800, 1_000, 1_000])
})

test('a cap at the base makes every delay the same', () => {
  assert.deepEqual([1, 2, 9].map(backoff(100, 100, () => 1)), [100, 100, 100])
})

test('chance takes away up to half of a step; one that is no chance takes nothing', () => {
  const delays = [0, 0.5, 1, -1, 2, Number.NaN].map((chance) => backoff(100, 1_000, () => chance)(1))
  assert.deepEqual(delays, [50, 75, 100, 100, 100, 100])
})

for (const [base, cap] of [
  [0, 10],
  [10, 5],
  [Number.NaN, 10],
  [10, Number.POSITIVE_INFINITY],
] as const) {
  test(`refuses to go from ${base} to ${cap} ms`, () => assert.throws(() => backoff(base, cap, Math.random), RangeError))
}
