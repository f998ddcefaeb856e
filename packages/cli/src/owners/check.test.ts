import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkInterface } from '@nso/api'
import { type ApiRequest, type ApiResponse, ConnectionBroken, createClient, systemClock, type Transport } from 'kube-control-loop'
import { plain } from '../tree.ts'
import { checkOwners, isRight } from './check.ts'
import { renderChecked } from './show.ts'
import { type Row, rowOf } from './table.ts'

const signal = AbortSignal.timeout(10_000)
const row = (kind: string): Row => {
  const found = rowOf({ apiVersion: `${NetworkInterface.group}/v1`, kind })
  assert.ok(found)
  return found
}

const foreign = (name: string) => ({
  metadata: {
    namespace: 'a',
    name,
    managedFields: [{ manager: 'evil', operation: 'Apply', subresource: 'status', fieldsV1: { 'f:status': { 'f:phase': {} } } }],
  },
})
const status = (code: number, message: string): ApiResponse => ({
  status: code,
  headers: {},
  body: { kind: 'Status', code, message, reason: '' },
})

function clientOf(answer: (request: ApiRequest) => ApiResponse) {
  const transport: Transport = {
    send: async (request) => answer(request),
    stream: async () => assert.fail('nothing is watched'),
    close: async () => {},
  }
  return createClient(transport, { clock: systemClock, jitter: () => 0, retryForMs: 0 })
}

test('every page is looked at, and a list whose next page is gone is begun anew', async () => {
  let expired = false
  const asked: (string | undefined)[] = []
  const checked = await checkOwners(
    clientOf(({ query, method }) => {
      assert.equal(method, 'GET')
      asked.push(query?.continue)
      if (query?.continue === 'next' && !expired) {
        expired = true
        return status(410, 'expired')
      }
      const last = query?.continue === 'next'
      return {
        status: 200,
        headers: {},
        body: { kind: 'List', items: [foreign(last ? 'two' : 'one')], metadata: last ? {} : { continue: 'next' } },
      }
    }),
    [row('NetworkInterface')],
    signal,
  )
  assert.deepEqual(asked, [undefined, 'next', undefined, 'next'])
  assert.deepEqual(
    { objects: checked.objects, found: checked.findings.map(({ name, path }) => `${name} ${path}`) },
    { objects: 2, found: ['one status.phase', 'two status.phase'] },
  )
  assert.deepEqual(renderChecked(checked, plain), [
    'NetworkInterface a/one',
    '  status.phase: written by "evil" (Apply on status), NOT by nso-networkinterface (NSO)',
    'NetworkInterface a/two',
    '  status.phase: written by "evil" (Apply on status), NOT by nso-networkinterface (NSO)',
    '2 paths not as documented, in 2 objects of 1 kind.',
  ])
})

test('a kind that is not served is passed over, one that may not be read is told', async () => {
  const checked = await checkOwners(
    clientOf(({ path }) => {
      if (path.endsWith('/subnets')) return { status: 404, headers: {}, body: '404 page not found' }
      if (path.endsWith('/networks')) return status(403, 'networks is forbidden')
      return { status: 200, headers: {}, body: { kind: 'List', items: [] } }
    }),
    [row('Subnet'), row('Network'), row('NetworkInterface')],
    signal,
  )
  assert.deepEqual(renderChecked(checked, plain), [
    'Network: could not be read: networks is forbidden',
    'Every documented path of 0 objects of 1 kind is its documented writer’s (not served: Subnet). Of the kinds above nothing is known.',
  ])
})

test('a page of a login is not taken for a list of nothing', async () => {
  const client = clientOf(() => ({ status: 200, headers: {}, body: '<html>please log in</html>' }))
  await assert.rejects(checkOwners(client, [row('Network')], signal), { name: 'Explained', message: /no API server/ })
})

test('a cluster that serves none of the kinds is not said to be right', async () => {
  const client = clientOf(() => ({ status: 404, headers: {}, body: '404 page not found' }))
  const checked = await checkOwners(client, [row('Network')], signal)
  assert.deepEqual(renderChecked(checked, plain), ['Nothing was looked at: none of the kinds is served by this cluster.'])
  assert.equal(isRight(checked), false)
})

test('no answer at all is a sentence, not a finding', async () => {
  const client = clientOf((request) => {
    throw new ConnectionBroken(request, new Error('connect ECONNREFUSED'))
  })
  await assert.rejects(checkOwners(client, [row('Network')], signal), { name: 'Explained' })
})
