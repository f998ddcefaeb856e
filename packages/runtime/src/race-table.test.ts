import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kind } from './kind.ts'
import { narrowTransport } from './narrowed-transport.ts'
import { assertTableIsComplete, type RaceRow, requestsOf, rowId } from './race-table.ts'
import { answers } from './scripted-answers.ts'
import { matches, scriptTransport } from './scripted-transport.ts'
import type { ApiRequest } from './transport.ts'
import type { RegisteredWrite } from './write-registry.ts'

const widget: Kind = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
const step = async () => {}
const common = { controller: 'ctl', manager: 'mgr', kind: widget, name: 'a', act: step, settled: step, vanish: step }

const rows = {
  create: { ...common, verb: 'create', foreign: step, afterForeign: step, orphan: step, afterOrphan: step },
  patch: { ...common, verb: 'patch', move: step },
  'add-finalizer': { ...common, verb: 'add-finalizer', move: step },
  'remove-finalizer': { ...common, verb: 'remove-finalizer', move: step },
  delete: { ...common, verb: 'delete', replace: step, afterReplace: step },
  apply: { ...common, verb: 'apply', remake: step },
} as const satisfies Record<string, RaceRow<never>>

const collection = '/apis/example.dev/v1/namespaces/space/widgets'
const patch = {
  method: 'PATCH',
  path: `${collection}/a`,
  query: { fieldManager: 'mgr' },
  contentType: 'application/json-patch+json',
} as const
const requests: Record<keyof typeof rows, ApiRequest> = {
  create: { method: 'POST', path: collection, query: { fieldManager: 'mgr' }, body: { metadata: { name: 'a' } } },
  patch: {
    ...patch,
    body: [
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'add', path: '/spec/size', value: 1 },
    ],
  },
  'add-finalizer': { ...patch, body: [{ op: 'add', path: '/metadata/finalizers', value: ['f'] }] },
  'remove-finalizer': { ...patch, body: [{ op: 'remove', path: '/metadata/finalizers/0' }] },
  delete: { method: 'DELETE', path: `${collection}/a` },
  apply: {
    method: 'PATCH',
    path: `${collection}/a/status`,
    query: { fieldManager: 'mgr', force: 'false' },
    contentType: 'application/apply-patch+yaml',
  },
}

test('each row knows its own request from all others', () => {
  for (const [verb, row] of Object.entries(rows)) {
    const found = Object.entries(requests).filter(([, request]) => matches(requestsOf(row), request))
    assert.deepEqual(
      found.map(([of]) => of),
      [verb],
    )
  }
})

test('requests on other objects and of other managers are not the row’s', () => {
  const others: [keyof typeof rows, Partial<ApiRequest>][] = [
    ['create', { body: { metadata: { name: 'b' } } }],
    ['create', { query: { fieldManager: 'other' } }],
    ['patch', { path: `${collection}/b` }],
    ['patch', { path: '/apis/example.dev/v1/namespaces/space/others/a' }],
    ['delete', { path: `${collection}/ab` }],
    ['apply', { query: { fieldManager: 'other' } }],
  ]
  for (const [verb, change] of others) assert.equal(matches(requestsOf(rows[verb]), { ...requests[verb], ...change }), false)
  const { name: _, ...unnamed } = rows.create
  assert.ok(matches(requestsOf(unnamed), { ...requests.create, body: { metadata: { name: 'b' } } }))
})

test('a write without a row fails, a row without a write fails, and a row of another manager fails', () => {
  const write = (verb: RegisteredWrite['verb'], manager = 'mgr'): RegisteredWrite => ({
    controller: 'ctl',
    resource: verb === 'apply' ? 'widgets/status' : 'widgets',
    verb,
    manager,
  })
  const both = [rows.apply, rows.patch]
  assert.equal(rowId(rows.apply), 'ctl widgets/status apply')
  assertTableIsComplete([write('patch'), write('apply')], both)
  assert.throws(() => assertTableIsComplete([write('patch')], both), assert.AssertionError)
  assert.throws(() => assertTableIsComplete([write('patch'), write('apply'), write('create')], both), assert.AssertionError)
  assert.throws(() => assertTableIsComplete([write('patch', 'other'), write('apply')], both), assert.AssertionError)
})

test('a narrowed process lists and watches one namespace, one object of a kind without, and writes as before', async () => {
  const wire = scriptTransport()
  const seen: string[] = []
  wire.on({}, { times: 9 }).answer(({ path, query }) => {
    seen.push(`${path} ${query?.fieldSelector ?? ''}`.trim())
    return answers.ok({})
  })
  const narrow = narrowTransport(wire, 'space', { planes: { only: 'mine' }, places: 'all' })
  const { signal } = new AbortController()
  const get = (path: string) => narrow.send({ method: 'GET', path }, signal)
  await get('/apis/example.dev/v1/widgets')
  await get('/apis/example.dev/v1/planes')
  await get('/apis/example.dev/v1/places')
  await get('/apis/example.dev/v1')
  await get(`${collection}/a`)
  await narrow.send({ method: 'POST', path: '/apis/example.dev/v1/reviews' }, signal)
  await narrow.stream({ method: 'GET', path: '/apis/example.dev/v1/widgets', query: { watch: 'true' } }, signal)
  assert.deepEqual(seen, [
    collection,
    '/apis/example.dev/v1/planes metadata.name=mine',
    '/apis/example.dev/v1/places',
    '/apis/example.dev/v1',
    `${collection}/a`,
    '/apis/example.dev/v1/reviews',
    collection,
  ])
})
