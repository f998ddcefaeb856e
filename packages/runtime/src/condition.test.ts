import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { condition, reasonPattern, reportedCondition } from './condition.ts'

const Baked = condition('Baked', { True: ['Done'], False: ['TooCold', 'NoDough'], Unknown: [] })
const Sold = reportedCondition('Sold', { True: ['Sold'], False: [], Unknown: ['Pending'] }, ['False'])

test('a condition is said with its type, status, reason and generation', () => {
  assert.deepEqual(Baked.no('TooCold', 'oven is off', 3), {
    type: 'Baked',
    status: 'False',
    reason: 'TooCold',
    message: 'oven is off',
    observedGeneration: 3,
  })
  assert.deepEqual(Baked.yes('Done', ''), { type: 'Baked', status: 'True', reason: 'Done', message: '' })
  assert.equal(Sold.unknown('Pending', '').status, 'Unknown')
})

test('an unlisted reason does not compile', () => {
  // @ts-expect-error: Burnt is not listed
  Baked.no('Burnt', '')
  // @ts-expect-error: Done is listed for True only
  Baked.no('Done', '')
  // @ts-expect-error: Baked is never Unknown
  Baked.unknown('Pending', '')
  // @ts-expect-error: another component may only say why it is not sold
  Sold.reported('True', 'Gone', '')
  assert.deepEqual(Sold.reported('False', 'NoBuyer', 'm', 1), {
    type: 'Sold',
    status: 'False',
    reason: 'NoBuyer',
    message: 'm',
    observedGeneration: 1,
  })
})

test('reasons of others are listed exactly for open statuses, and only when well formed', () => {
  assert.equal(Baked.lists('False', 'NoDough'), true)
  assert.equal(Baked.lists('True', 'NoDough'), false)
  assert.equal(Baked.lists('Unknown', 'Anything'), false)
  fc.assert(
    fc.property(fc.string(), (reason) => {
      assert.equal(Sold.lists('False', reason), reasonPattern.test(reason))
      assert.equal(Sold.lists('True', reason), reason === 'Sold')
    }),
  )
})
