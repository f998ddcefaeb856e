import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stepsOf } from './replay.ts'

const brief = (steps: ReturnType<typeof stepsOf>) => steps.map(({ do: does, role }) => `${does} ${role}`)

test('each write is sent again in the order of owners, statuses last', () => {
  const counts = new Map([
    ['patch networkinterfaceclaims/status', 2],
    ['create vpcattachments', 1],
    ['create networkinterfaces', 1],
    ['patch networkinterfaces', 1],
    ['create networkinterfaceclaims', 1],
  ])
  assert.deepEqual(brief(stepsOf(counts, 1, 0)), [
    'create claim',
    'create interface',
    'create attachment',
    'patch interface',
    'apply claim',
    'apply claim',
  ])
})

test('the claims together send as many writes as were counted, also of kinds that are not the chain’s', () => {
  const write = fc.constantFrom('create addresslease', 'create addressleases', 'patch vpcattachments/status', 'create events')
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(write, fc.nat(500)), { selector: ([name]) => name }),
      fc.integer({ min: 1, max: 200 }),
      (pairs, claims) => {
        const sent = Array.from({ length: claims }, (_, index) => stepsOf(new Map(pairs), claims, index).length)
        assert.equal(
          sent.reduce((sum, each) => sum + each, 0),
          pairs.reduce((sum, [, count]) => sum + count, 0),
        )
      },
    ),
  )
})
