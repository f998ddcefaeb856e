import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError, ConnectionBroken } from './api-error.ts'
import type { Client } from './client.ts'
import { type ClientOptions, createClient } from './http-client.ts'
import type { Kind, KubeObject } from './kind.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { type ScriptedTransport, scriptTransport } from './scripted-transport.ts'
import type { ApiRequest, ApiResponse } from './transport.ts'

const widget: Kind<{ size: number }> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}
const at = { name: 'a', namespace: 'space' }
const object: KubeObject<{ size: number }> = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: at, spec: { size: 1 } }
const collection = '/apis/example.dev/v1/namespaces/space/widgets'
const never = new AbortController().signal

type Bed = { clock: ManualClock; wire: ScriptedTransport; client: Client; codes: string[] }

function bed(options: Partial<ClientOptions> = {}): Bed {
  const clock = createManualClock()
  const wire = scriptTransport()
  const codes: string[] = []
  const metrics = { request: ({ method, code }: { method: string; code: string }) => codes.push(`${method} ${code}`) }
  return { clock, wire, codes, client: createClient(wire, { clock, jitter: () => 1, metrics, ...options }) }
}

/** Lets time pass until the promise is settled; answers how it ended and after how long. */
async function settle<T>(
  clock: ManualClock,
  promise: Promise<T>,
  stepMs = 10,
): Promise<{ value?: T; error?: unknown; tookMs: number }> {
  const startedAt = clock.monotonic()
  let end: { value?: T; error?: unknown } | undefined
  promise.then(
    (value) => {
      end = { value }
    },
    (error: unknown) => {
      end = { error }
    },
  )
  for (let n = 0; n < 20_000; n++) {
    await new Promise(setImmediate)
    if (end) return { ...end, tookMs: clock.monotonic() - startedAt }
    await clock.advance(stepMs)
  }
  throw new Error('never settled')
}

type Write = { verb: string; match: { method: ApiRequest['method'] }; run(client: Client): Promise<unknown> }
const writes: Write[] = [
  { verb: 'create', match: { method: 'POST' }, run: (client) => client.create(widget, object, { fieldManager: 'me' }, never) },
  { verb: 'patch', match: { method: 'PATCH' }, run: (client) => client.jsonPatch(widget, at, [], { fieldManager: 'me' }, never) },
  {
    verb: 'apply',
    match: { method: 'PATCH' },
    run: (client) => client.apply(widget, at, {}, { fieldManager: 'me', force: false }, never),
  },
  { verb: 'delete', match: { method: 'DELETE' }, run: (client) => client.remove(widget, at, { uid: 'u' }, never) },
]

describe('requests in Kubernetes’ shapes', () => {
  test('create', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'POST' }).answer(answers.ok({ ...object, metadata: { ...at, uid: 'u' } }))
    const made = await client.create(widget, object, { fieldManager: 'me', dryRun: true }, never)
    assert.equal(made.metadata.uid, 'u')
    assert.deepEqual(wire.requests[0]?.request, {
      method: 'POST',
      path: collection,
      query: { fieldManager: 'me', dryRun: 'All' },
      body: object,
    })
  })

  test('strict: a field that the server does not know is refused, not dropped', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'POST' }).answer(answers.ok(object))
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    await client.create(widget, object, { fieldManager: 'me', strict: true }, never)
    await client.jsonPatch(widget, at, [{ op: 'remove', path: '/spec/size' }], { fieldManager: 'me', strict: true }, never)
    const queries = wire.requests.map(({ request }) => request.query)
    assert.deepEqual(queries[0], { fieldManager: 'me', dryRun: undefined, fieldValidation: 'Strict' })
    assert.deepEqual(queries[1], { fieldManager: 'me', fieldValidation: 'Strict' })
  })

  test('JSON patch', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    const operations = [{ op: 'remove', path: '/spec/size' }] as const
    await client.jsonPatch(widget, { ...at, subresource: 'status' }, operations, { fieldManager: 'me' }, never)
    assert.deepEqual(wire.requests[0]?.request, {
      method: 'PATCH',
      path: `${collection}/a/status`,
      query: { fieldManager: 'me' },
      contentType: 'application/json-patch+json',
      body: operations,
    })
  })

  test('apply', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    await client.apply(widget, { ...at, subresource: 'status' }, { status: {} }, { fieldManager: 'me', force: true }, never)
    assert.deepEqual(wire.requests[0]?.request, {
      method: 'PATCH',
      path: `${collection}/a/status`,
      query: { fieldManager: 'me', force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: { status: {} },
    })
  })

  test('delete answers the object that a finalizer holds, and nothing for one that went', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'DELETE' }).answer(answers.ok({ kind: 'Status', status: 'Success' }))
    wire.on({ method: 'DELETE' }).answer(answers.ok(object))
    assert.deepEqual(await client.remove(widget, at, { uid: 'u' }, never), object)
    assert.equal(await client.remove(widget, at, { uid: 'u' }, never), undefined)
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' }, propagationPolicy: 'Background' }
    assert.deepEqual(wire.requests[0]?.request.body, body)
  })

  test('delete takes only a success for gone: after a torn or strange answer a finalizer may hold the object still', async () => {
    const { wire, client } = bed()
    const strange = ['{"kind":"Wid', undefined, { kind: 'Status', status: 'Failure' }, { kind: 'Widget' }, []]
    for (const body of strange) {
      wire.on({ method: 'DELETE' }).answer({ status: 200, headers: {}, body })
      await assert.rejects(client.remove(widget, at, { uid: 'u' }, never), ApiError, JSON.stringify(body))
    }
  })

  test('find answers nothing for a missing object only', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'GET' }).answer(answers.pageNotFound())
    wire.on({ method: 'GET' }).answer(answers.notFound(widget, at))
    assert.equal(await client.find(widget, at, never), undefined)
    await assert.rejects(client.find(widget, at, never), ApiError)
  })

  test('items of a list that come without their kind get it', async () => {
    const { wire, client } = bed()
    wire.on({ method: 'GET' }).answer(answers.ok({ metadata: { resourceVersion: '7' }, items: [{ metadata: at, spec: {} }] }))
    const { items, resourceVersion } = await client.list(widget, { labelSelector: 'a=b', resourceVersion: '0' }, never)
    assert.deepEqual(items, [{ apiVersion: 'example.dev/v1', kind: 'Widget', metadata: at, spec: {} }])
    assert.equal(resourceVersion, '7')
    const query = { labelSelector: 'a=b', fieldSelector: undefined, resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' }
    assert.deepEqual(wire.requests[0]?.request, { method: 'GET', path: '/apis/example.dev/v1/widgets', query })
  })

  test('a list in pages is answered whole, with the version of all of them', async () => {
    const { wire, client } = bed()
    const named = (name: string) => ({ ...object, metadata: { ...at, name } })
    const page = (names: string[], next?: string) =>
      answers.ok({
        metadata: { resourceVersion: '7', ...(next === undefined ? {} : { continue: next }) },
        items: names.map(named),
      })
    wire.on({ query: { continue: 'two' } }).answer(page(['c', 'd'], 'three'))
    wire.on({ query: { continue: 'three' } }).answer(page(['e'], ''))
    wire.on({ query: { limit: '2' } }).answer(page(['a', 'b'], 'two'))
    const { items, resourceVersion } = await client.list(
      widget,
      { resourceVersion: '5', labelSelector: 'a=b', pageSize: 2 },
      never,
    )
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['a', 'b', 'c', 'd', 'e'],
    )
    assert.equal(resourceVersion, '7')
    const [first, second] = wire.requests.map(({ request }) => request.query)
    assert.deepEqual([first?.resourceVersion, first?.continue, second?.labelSelector], ['5', undefined, 'a=b'])
    assert.deepEqual([second?.resourceVersion, second?.resourceVersionMatch, second?.limit], [undefined, undefined, '2'])
  })

  test('a list whose pages expire under way is an error', async () => {
    const { wire, client } = bed()
    wire.on({ query: { continue: 'two' } }).answer(answers.expired())
    wire.on({ query: { limit: '2' } }).answer(answers.ok({ metadata: { continue: 'two' }, items: [object] }))
    await assert.rejects(client.list(widget, { pageSize: 2 }, never), { status: 410 })
  })

  test('an answer that is no object is an error', async () => {
    for (const body of ['fine', null, 1, { kind: 'Odd' }]) {
      const { wire, client } = bed()
      wire.on({ method: 'POST' }).answer(answers.ok(body))
      wire.on({ method: 'GET' }).answer(answers.ok(body))
      await assert.rejects(client.create(widget, object, { fieldManager: 'me' }, never), ApiError)
      await assert.rejects(client.list(widget, {}, never), ApiError)
    }
  })

  test('raw throws like the rest', async () => {
    const { wire, client } = bed()
    wire.on({ path: '/version' }).answer(answers.internalError())
    wire.on({ path: '/version' }).answer(answers.ok({ minor: '36' }))
    assert.deepEqual(await client.raw({ method: 'GET', path: '/version' }, never), { minor: '36' })
    await assert.rejects(client.raw({ method: 'GET', path: '/version' }, never), ApiError)
  })
})

describe('watches', () => {
  const line = (type: string, fields: object) => JSON.stringify({ type, object: fields })

  test('objects and bookmarks come as they are, a bookmark never as an object', async () => {
    const { wire, client } = bed()
    const end = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } }
    wire
      .on({ query: { watch: 'true' } })
      .stream([line('ADDED', object), line('BOOKMARK', { metadata: { resourceVersion: '8' } }), line('BOOKMARK', end)])
    const events = []
    for await (const event of await client.watch(widget, { resourceVersion: '5' }, never)) events.push(event)
    assert.deepEqual(events, [
      { type: 'ADDED', object },
      { type: 'BOOKMARK', resourceVersion: '8', initialEventsEnd: false },
      { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true },
    ])
  })

  test('B16: an ERROR inside a 200 stream is an error with its status, never an object', async () => {
    const { wire, client } = bed()
    wire.on({ query: { watch: 'true' } }).stream([line('ADDED', object), line('ERROR', answers.expired().body as object)])
    const seen: unknown[] = []
    const read = async () => {
      for await (const event of await client.watch(widget, { resourceVersion: '5' }, never)) seen.push(event)
    }
    await assert.rejects(read(), (error) => error instanceof ApiError && error.status === 410 && error.reason === 'Expired')
    assert.equal(seen.length, 1)
  })

  test('asks for bookmarks, resumes where told, ends after five to ten minutes', async () => {
    const { wire, client } = bed({ jitter: () => 0.5 })
    wire.on({ query: { watch: 'true' } }, { times: 3 }).stream([])
    await client.watch(widget, { resourceVersion: '5', namespace: 'space' }, never)
    await client.watch(widget, { resourceVersion: '', sendInitialEvents: true }, never)
    await client.watch(widget, { resourceVersion: '7', sendInitialEvents: true }, never)
    const [resume, fresh, atLeast] = wire.requests.map(({ request }) => request)
    assert.equal(resume?.path, collection)
    const common = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '450',
      labelSelector: undefined,
      fieldSelector: undefined,
    }
    assert.deepEqual(resume?.query, { ...common, resourceVersion: '5' })
    assert.equal(atLeast?.query?.resourceVersion, '7')
    assert.deepEqual(fresh?.query, {
      ...common,
      resourceVersion: undefined,
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    })
  })

  test('a kind that is just appearing is tried again', async () => {
    const { wire, client, clock } = bed()
    wire.on({ query: { watch: 'true' } }).stream([])
    wire.on({ query: { watch: 'true' } }).answer(answers.initializing())
    const { error } = await settle(clock, client.watch(widget, { resourceVersion: '5' }, never))
    assert.equal(error, undefined)
    assert.equal(wire.requests.length, 2)
  })
})

describe('a server that starts, stops or is busy', () => {
  const busy: { says: string; answer: ApiResponse }[] = [
    { says: 'storage is (re)initializing', answer: answers.initializing() },
    { says: 'resource kind not found', answer: answers.kindNotFound(widget) },
    { says: 'shutting down', answer: answers.shuttingDown() },
    { says: 'too many requests', answer: statusAnswer(429, 'TooManyRequests', 'later') },
    { says: 'bad gateway', answer: { status: 502, headers: {}, body: '' } },
  ]
  for (const { says, answer } of busy) {
    for (const { verb, match, run } of writes) {
      test(`${says}: ${verb} is tried again, and succeeds when the server is back`, async () => {
        const { wire, client, clock } = bed()
        wire.on(match).answer(answers.ok(object))
        wire.on(match, { times: 3 }).answer(answer)
        const { error, tookMs } = await settle(clock, run(client))
        assert.equal(error, undefined)
        assert.equal(wire.requests.length, 4)
        assert.ok(tookMs >= 300 && tookMs < 1000, `${tookMs} ms`)
      })
    }
    test(`${says}: a fault when it lasts`, async () => {
      const { wire, client, clock } = bed()
      wire.on({}, { times: 1000 }).answer(answer)
      const { error, tookMs } = await settle(clock, client.create(widget, object, { fieldManager: 'me' }, never))
      assert.ok(error instanceof ApiError && error.status === answer.status)
      assert.ok(tookMs > 5_000 && tookMs <= 10_500, `${tookMs} ms`)
      assert.ok(wire.requests.length < 25, `${wire.requests.length} requests`)
    })
  }

  test('waits as long as the server asks', async () => {
    const { wire, client, clock } = bed()
    wire.on({}).answer(answers.ok(object))
    wire.on({}).answer(answers.tooManyRequests(3))
    const { tookMs } = await settle(clock, client.find(widget, at, never))
    assert.ok(tookMs >= 3_000 && tookMs < 3_100, `${tookMs} ms`)
  })

  test('does not wait longer than a call may last', async () => {
    const { wire, client, clock } = bed()
    wire.on({}).answer(answers.tooManyRequests(60))
    const { error, tookMs } = await settle(clock, client.find(widget, at, never))
    assert.ok(error instanceof ApiError && error.status === 429 && tookMs < 100)
  })

  test('B23: a call whose answer was lost is repeated at once, a POST too', async () => {
    for (const { match, run } of writes) {
      const { wire, client, clock, codes } = bed()
      wire.on(match).answer(answers.ok(object))
      wire.on(match).dropBefore()
      const { error, tookMs } = await settle(clock, run(client))
      assert.equal(error, undefined)
      assert.ok(tookMs <= 10)
      assert.deepEqual(codes, [`${match.method} <error>`, `${match.method} 200`])
    }
  })

  test('B23: a POST that was committed before its answer was lost ends in AlreadyExists', async () => {
    const { wire, client, clock } = bed()
    wire.on({ method: 'POST' }).answer(answers.alreadyExists(widget, at))
    wire.on({ method: 'POST' }).dropBefore()
    const { error } = await settle(clock, client.create(widget, object, { fieldManager: 'me' }, never))
    assert.ok(error instanceof ApiError && error.reason === 'AlreadyExists')
  })

  test('a server that stays away is a broken connection in the end', async () => {
    const { wire, client, clock } = bed()
    wire.on({}, { times: 1000 }).dropBefore()
    const { error, tookMs } = await settle(clock, client.find(widget, at, never))
    assert.ok(error instanceof ConnectionBroken && tookMs > 5_000 && tookMs <= 10_500)
  })

  test('an aborted call stops waiting, with the reason', async () => {
    const { wire, client, clock } = bed()
    wire.on({}, { times: 1000 }).answer(answers.shuttingDown())
    const stop = new AbortController()
    const reason = new Error('stop')
    const end = client.find(widget, at, stop.signal)
    const rejected = assert.rejects(end, (error) => error === reason)
    await clock.advance(500)
    stop.abort(reason)
    await rejected
    assert.equal(clock.timers, 0)
  })
})

describe('what is not tried again', () => {
  const once: { says: string; answer: ApiResponse }[] = [
    { says: 'failed to create typed patch object', answer: answers.typedPatchFailed() },
    { says: 'another 500', answer: answers.internalError() },
    { says: 'a manager conflict', answer: answers.fieldManagerConflict([{ manager: 'x', field: '.status.y' }]) },
    { says: 'a stale write', answer: answers.modified(widget, at) },
    { says: 'already exists', answer: answers.alreadyExists(widget, at) },
    { says: 'an invalid object', answer: answers.invalid(widget, at, 'spec', 'no') },
    { says: 'unauthorized', answer: answers.unauthorized() },
    { says: 'not found', answer: answers.notFound(widget, at) },
    { says: 'a terminating namespace', answer: answers.namespaceTerminating(widget, at) },
  ]
  for (const { says, answer } of once) {
    for (const { verb, match, run } of writes) {
      test(`${says}, on ${verb}`, async () => {
        const { wire, client, clock } = bed()
        wire.on(match).answer(answer)
        const { error } = await settle(clock, run(client))
        assert.ok(error instanceof ApiError && error.status === answer.status)
        assert.equal(wire.requests.length, 1)
      })
    }
  }
})

describe('a plain 404', () => {
  const create = (client: Client) => client.create(widget, object, { fieldManager: 'me' }, never)

  test('on a create of a kind that is listed: it is on its way, and tried again', async () => {
    const { wire, client, clock } = bed()
    wire.on({ method: 'GET', path: collection }, { times: 10 }).answer(answers.ok({ items: [] }))
    wire.on({ method: 'POST' }).answer(answers.ok(object))
    wire.on({ method: 'POST' }, { times: 3 }).answer(answers.pageNotFound())
    assert.equal((await settle(clock, create(client))).error, undefined)
  })

  test('on a create of a kind that is not listed either: surfaces at once', async () => {
    const { wire, client, clock } = bed()
    wire.on({}, { times: 10 }).answer(answers.pageNotFound())
    const { error, tookMs } = await settle(clock, create(client))
    assert.ok(error instanceof ApiError && !error.isStatus && tookMs <= 10)
    assert.equal(wire.sent({ method: 'POST' }).length, 1)
  })

  test('on a create that stays: surfaces after a few seconds', async () => {
    const { wire, client, clock } = bed()
    wire.on({ method: 'GET' }, { times: 100 }).answer(answers.ok({ items: [] }))
    wire.on({ method: 'POST' }, { times: 100 }).answer(answers.pageNotFound())
    const { error, tookMs } = await settle(clock, create(client))
    assert.ok(error instanceof ApiError && tookMs > 3_000 && tookMs < 6_000, `${tookMs} ms`)
  })

  test('on anything else: surfaces at once', async () => {
    for (const { match, run } of writes.slice(1)) {
      const { wire, client, clock } = bed()
      wire.on(match).answer(answers.pageNotFound())
      const { error } = await settle(clock, run(client))
      assert.ok(error instanceof ApiError)
      assert.equal(wire.requests.length, 1)
    }
  })
})

describe('a 403', () => {
  const patch = (client: Client) => client.jsonPatch(widget, at, [], { fieldManager: 'me' }, never)
  const denied = answers.forbidden(widget, at, 'patch')

  test('of a server that has just been seen starting waits until it is ready, and is asked once more', async () => {
    const { wire, client, clock } = bed()
    wire.on({ path: '/readyz' }).answer({ status: 200, headers: {}, body: 'ok' })
    wire.on({ path: '/readyz' }, { times: 3 }).answer(denied)
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    wire.on({ method: 'PATCH' }).answer(denied)
    assert.equal((await settle(clock, patch(client))).error, undefined)
    assert.equal(wire.sent({ path: '/readyz' }).length, 4)
  })

  test('is asked about also where the connection was refused first', async () => {
    const { wire, client, clock } = bed()
    wire.on({ path: '/readyz' }).answer({ status: 200, headers: {}, body: 'ok' })
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    wire.on({ method: 'PATCH' }).answer(denied)
    wire.on({ method: 'PATCH' }, { times: 3 }).dropBefore()
    assert.equal((await settle(clock, patch(client))).error, undefined)
  })

  test('after a refused connection is doubted again', async () => {
    const { wire, client, clock } = bed()
    await clock.advance(60_000)
    wire.on({ path: '/readyz' }).answer({ status: 200, headers: {}, body: 'ok' })
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    wire.on({ method: 'PATCH' }).answer(denied)
    wire.on({ method: 'PATCH' }).answer((request) => {
      throw new ConnectionBroken(request, Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
    })
    assert.equal((await settle(clock, patch(client))).error, undefined)
  })

  test('by an admission policy is meant, whatever the server is doing', async () => {
    const { wire, client, clock } = bed()
    wire.on({ method: 'PATCH' }).answer(statusAnswer(403, 'Forbidden', 'denied', { causes: [{ message: 'denied' }] }))
    assert.ok((await settle(clock, patch(client))).error instanceof ApiError)
    assert.equal(wire.requests.length, 1)
  })

  test('that is meant surfaces', async () => {
    const { wire, client, clock } = bed()
    wire.on({ path: '/readyz' }, { times: 9 }).answer({ status: 200, headers: {}, body: 'ok' })
    wire.on({ method: 'PATCH' }, { times: 9 }).answer(denied)
    const { error } = await settle(clock, patch(client))
    assert.ok(error instanceof ApiError && error.status === 403)
    assert.equal(wire.sent({ method: 'PATCH' }).length, 2)
  })

  test('of a server that has long been up surfaces at once', async () => {
    const { wire, client, clock } = bed()
    await clock.advance(60_000)
    wire.on({ method: 'PATCH' }).answer(denied)
    const { error } = await settle(clock, patch(client))
    assert.ok(error instanceof ApiError)
    assert.equal(wire.requests.length, 1)
  })

  test('after a sign of a restart is doubted again', async () => {
    const { wire, client, clock } = bed()
    await clock.advance(60_000)
    wire.on({ path: '/readyz' }).answer({ status: 200, headers: {}, body: 'ok' })
    wire.on({ method: 'PATCH' }).answer(answers.ok(object))
    wire.on({ method: 'PATCH' }).answer(denied)
    wire.on({ method: 'GET', path: `${collection}/a` }).answer(answers.ok(object))
    wire.on({ method: 'GET', path: `${collection}/a` }).answer(answers.shuttingDown())
    await settle(clock, client.find(widget, at, never))
    assert.equal((await settle(clock, patch(client))).error, undefined)
  })
})
