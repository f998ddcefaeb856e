import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from './api-error.ts'
import { createClient } from './http-client.ts'
import { createLeaseRecord, isLostRace, type LeaseSpec } from './lease-record.ts'
import { createManualClock } from './manual-clock.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import type { ApiResponse } from './transport.ts'

const at = { namespace: 'default', name: 'sample' }
const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const never = new AbortController().signal
const start = '2030-01-01T00:00:00.000000Z'
const later = '2030-01-01T00:00:05.000000Z'

const leaseOf = (spec: LeaseSpec | undefined, version = '10') => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...at, uid: 'l1', resourceVersion: version },
  ...(spec ? { spec } : {}),
})

function bed() {
  const clock = createManualClock()
  const wire = scriptTransport()
  const client = createClient(wire, { clock, jitter: () => 0, retryForMs: 0 })
  const record = createLeaseRecord({ client, clock, lease: at, identity: 'us', fieldManager: 'mgr', termMs: 15_000 })
  return {
    clock,
    wire,
    record,
    async sees(answer: LeaseSpec | ApiResponse | undefined) {
      const response = answer && 'status' in answer ? answer : answers.ok(leaseOf(answer))
      wire.on({ method: 'GET', path: `${path}/sample` }).answer(response)
      await record.read(never)
    },
    takesWrites() {
      wire.on({ method: 'PATCH' }, { times: 9 }).answer(({ body }) => answers.ok(leaseOf(specIn(body), '11')))
      wire.on({ method: 'POST' }).answer(({ body }) => answers.ok({ ...leaseOf((body as { spec: LeaseSpec }).spec, '11') }))
    },
    writes: () => wire.requests.map(({ request }) => request).filter(({ method }) => method !== 'GET'),
  }
}

const specIn = (body: unknown) => (body as { value: LeaseSpec }[])[1]?.value

const refusal = (answer: ApiResponse) => new ApiError({ method: 'PATCH', path }, answer)
const races: { says: string; error: unknown; want: boolean }[] = [
  { says: 'a taken name', error: refusal(statusAnswer(409, 'AlreadyExists', 'x')), want: true },
  { says: 'a failed test', error: refusal(answers.testFailed()), want: true },
  { says: 'an invalid body', error: refusal(statusAnswer(422, 'Invalid', 'x', { causes: [{ field: 'spec' }] })), want: false },
  { says: 'a server in trouble', error: refusal(answers.internalError()), want: false },
  { says: 'a bare refusal', error: refusal(statusAnswer(403, 'Forbidden', 'x')), want: false },
  { says: 'no answer', error: new Error('broken'), want: false },
]
for (const { says, error, want } of races)
  test(`${says} is ${want ? '' : 'not '}a sign that somebody else was first`, () => assert.equal(isLostRace(error), want))

test('a missing lease is free, and made as a whole', async () => {
  const { record, sees, takesWrites, writes, clock } = bed()
  assert.deepEqual([record.holder, record.isFree()], [undefined, true])
  for (const kind of ['leases', 'Lease']) await sees(statusAnswer(404, 'NotFound', 'not found', { name: 'sample', kind }))
  assert.deepEqual([record.holder, record.isFree()], [undefined, true])
  takesWrites()
  await record.claim(never)
  const spec = { holderIdentity: 'us', leaseDurationSeconds: 15, acquireTime: start, renewTime: start, leaseTransitions: 0 }
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: at, spec }
  assert.deepEqual(
    writes().map(({ method, path: to, query, body: sent }) => ({ method, to, query, sent })),
    [{ method: 'POST', to: path, query: { fieldManager: 'mgr', dryRun: undefined }, sent: body }],
  )
  await clock.advance(5_000)
  await record.claim(never)
  assert.deepEqual(specIn(writes()[1]?.body), { ...spec, renewTime: later }, 'from then on it is renewed')
  assert.deepEqual([record.holder, record.isFree()], ['us', true])
})

test('a lease of somebody else is taken, as it was seen, with one transition more', async () => {
  const { record, sees, takesWrites, writes } = bed()
  await sees({ holderIdentity: 'they', acquireTime: 'then', renewTime: 'then', leaseTransitions: 3 })
  takesWrites()
  await record.claim(never)
  const spec = { holderIdentity: 'us', leaseDurationSeconds: 15, acquireTime: start, renewTime: start, leaseTransitions: 4 }
  assert.deepEqual(writes()[0]?.query, { fieldManager: 'mgr' })
  assert.deepEqual(writes()[0]?.body, [
    { op: 'test', path: '/metadata/resourceVersion', value: '10' },
    { op: 'add', path: '/spec', value: spec },
  ])
})

test('an own lease keeps its beginning and its transitions, and is free to its holder', async () => {
  const { record, sees, takesWrites, writes, clock } = bed()
  await sees({ holderIdentity: 'us', leaseDurationSeconds: 15, acquireTime: start, renewTime: start, leaseTransitions: 3 })
  assert.equal(record.isFree(), true)
  await clock.advance(5_000)
  takesWrites()
  await record.claim(never)
  assert.deepEqual(specIn(writes()[0]?.body), {
    holderIdentity: 'us',
    leaseDurationSeconds: 15,
    acquireTime: start,
    renewTime: later,
    leaseTransitions: 3,
  })
})

test('an own lease that does not say since when begins now', async () => {
  const { record, sees, takesWrites, writes } = bed()
  await sees({ holderIdentity: 'us' })
  takesWrites()
  await record.claim(never)
  assert.equal(specIn(writes()[0]?.body)?.acquireTime, start)
})

const terms: { says: string; leaseDurationSeconds?: number; termMs: number }[] = [
  { says: 'its holder’s own term', leaseDurationSeconds: 60, termMs: 60_000 },
  { says: 'our term, where the holder names none', termMs: 15_000 },
]
for (const { says, termMs, ...duration } of terms) {
  test(`a lease is free when it stands unchanged for ${says}, no sooner`, async () => {
    const { record, sees, clock } = bed()
    const spec = { holderIdentity: 'they', renewTime: 'x', ...duration }
    await sees(spec)
    await clock.advance(termMs - 1)
    await sees(spec)
    assert.equal(record.isFree(), false)
    await clock.advance(1)
    assert.equal(record.isFree(), true)
    await sees({ ...spec, renewTime: 'y' })
    assert.equal(record.isFree(), false)
  })
}

test('a lease that nobody holds, or that says nothing at all, is free', async () => {
  for (const spec of [{ holderIdentity: '' }, undefined]) {
    const { record, sees } = bed()
    await sees(spec)
    assert.deepEqual([record.holder, record.isFree()], [undefined, true])
  }
})

test('an own lease is given up as a valid one that nobody holds', async () => {
  const { record, sees, takesWrites, writes } = bed()
  await sees({ holderIdentity: 'us', leaseDurationSeconds: 15, leaseTransitions: 3 })
  takesWrites()
  await record.giveUp(never)
  const freed = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: start, renewTime: start, leaseTransitions: 3 }
  assert.deepEqual(specIn(writes()[0]?.body), freed)
})

test('what is not ours, or was never seen, is not given up', async () => {
  for (const spec of [{ holderIdentity: 'they' }, undefined]) {
    const { record, sees, writes } = bed()
    await record.giveUp(never)
    await sees(spec)
    await record.giveUp(never)
    assert.deepEqual(writes(), [])
  }
})
