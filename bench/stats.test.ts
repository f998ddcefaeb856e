import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { median, quantile, share } from './stats.ts'

test('the median of an even number lies between the two in the middle', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([9]), 9)
  assert.equal(Number.isNaN(median([])), true)
})

test('quantiles lie within the samples and do not fall', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1 }), (samples) => {
      const steps = [0, 0.25, 0.5, 0.9, 1].map((q) => quantile(samples, q))
      assert.equal(steps[0], Math.min(...samples))
      assert.equal(steps.at(-1), Math.max(...samples))
      for (const [index, step] of steps.entries()) assert.ok(index === 0 || step >= (steps[index - 1] ?? 0))
    }),
  )
})

test('shares add up to the whole and differ by at most one', () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.integer({ min: 1, max: 300 }), (total, count) => {
      const shares = Array.from({ length: count }, (_, index) => share(total, count, index))
      assert.equal(
        shares.reduce((sum, each) => sum + each, 0),
        total,
      )
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1)
    }),
  )
})
