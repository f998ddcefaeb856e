import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from './api-error.ts'
import type { Cache } from './cache.ts'
import { createClient } from './http-client.ts'
import { type Kind, type KubeObject, keyOf } from './kind.ts'
import { createManualClock } from './manual-clock.ts'
import { createWriter } from './object-writer.ts'
import type { Classify } from './races.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import type { ApiResponse } from './transport.ts'
import type { WriteLabels } from './write-metrics.ts'
import { createWriteRegistry } from './write-registry.ts'
import { KindUnserved, WriteGone, WriteRaced } from './write-signals.ts'
import type { ChildWriter } from './writer.ts'

type Widget = KubeObject<{ size: number }>
const widget: Kind<{ size: number }> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}
const at = { name: 'a', namespace: 'space' }
const path = '/apis/example.dev/v1/namespaces/space/widgets/a'
const never = new AbortController().signal

function widgetOf(metadata: Partial<Widget['metadata']> = {}): Widget {
  return {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { ...at, uid: 'u1', resourceVersion: '1', ...metadata },
    spec: { size: 1 },
  }
}

function bed(options: { mayBeUnserved?: boolean; strict?: boolean; classify?: Classify; cache?: undefined } = {}) {
  const wire = scriptTransport()
  const client = createClient(wire, { clock: createManualClock(), jitter: () => 0, retryForMs: 0 })
  const counted: string[] = []
  const count = (what: string) => (labels: WriteLabels) =>
    counted.push(`${what} ${labels.controller} ${labels.resource} ${labels.verb} ${labels.cause}`)
  const metrics = {
    raceRequeue: count('raced'),
    gone: count('gone'),
    ownershipConflict: () => assert.fail('no status here'),
    ownershipRound: () => assert.fail('no status here'),
  }
  const told: string[] = []
  const cache = {
    absorb: (object: Widget) => told.push(`absorbed ${keyOf(object)} ${object.metadata.uid} ${object.metadata.resourceVersion}`),
    absorbGone: (object: Widget) => told.push(`gone ${keyOf(object)} ${object.metadata.uid}`),
    writing: (key: string) => {
      told.push(`writing ${key}`)
      return () => told.push(`written ${key}`)
    },
  } as unknown as Cache<{ size: number }>
  const registry = createWriteRegistry()
  const writer = createWriter({ client, metrics, registry, kind: widget, controller: 'ctl', manager: 'mgr', cache, ...options })
  return { wire, counted, told, writer, registry, client, metrics }
}

type Method = keyof ChildWriter<unknown, unknown>
const methods: Record<Method, { verb: string; run(writer: ChildWriter<{ size: number }, unknown>): Promise<unknown> }> = {
  create: { verb: 'create', run: (writer) => writer.create(widgetOf(), never) },
  patch: { verb: 'patch', run: (writer) => writer.patch(widgetOf(), [{ op: 'remove', path: '/spec/size' }], never) },
  addFinalizer: { verb: 'add-finalizer', run: (writer) => writer.addFinalizer(widgetOf(), 'x.dev/f', never) },
  removeFinalizer: {
    verb: 'remove-finalizer',
    run: (writer) => writer.removeFinalizer(widgetOf({ finalizers: ['x.dev/f'] }), 'x.dev/f', never),
  },
  remove: { verb: 'delete', run: (writer) => writer.remove(widgetOf(), never) },
}
const patches: Method[] = ['patch', 'addFinalizer', 'removeFinalizer']
/** Being gone is what they want: they resolve. */
const contentWithGone: Method[] = ['removeFinalizer', 'remove']

type End = `raced ${string}` | `gone ${string}` | 'unserved' | 'fault'
type Live = 'same' | 'other' | 'missing' | 'not asked'
type Row = { says: string; answer: ApiResponse; live: Live; on: Partial<Record<Method, End>> }

const each = (list: Method[], end: End): Partial<Record<Method, End>> => Object.fromEntries(list.map((method) => [method, end]))
const all = Object.keys(methods) as Method[]
const notCreate: Method[] = [...patches, 'remove']

function asked(says: string, answer: ApiResponse, on: Method[]): Row[] {
  return [
    { says: `${says}, the object stands`, answer, live: 'same', on: each(on, 'raced stale') },
    { says: `${says}, another has its name`, answer, live: 'other', on: each(on, 'gone recreated') },
    { says: `${says}, nothing is there`, answer, live: 'missing', on: each(on, 'gone not-found') },
  ]
}

const rows: Row[] = [
  { says: 'already exists', answer: answers.alreadyExists(widget, at), live: 'other', on: { create: 'raced already-exists' } },
  {
    says: 'already exists and gone again',
    answer: answers.alreadyExists(widget, at),
    live: 'missing',
    on: { create: 'raced already-exists' },
  },
  { says: 'another conflict on create', answer: answers.modified(widget, at), live: 'not asked', on: { create: 'raced stale' } },
  ...asked('modified', answers.modified(widget, at), notCreate),
  ...asked('uid precondition', answers.uidPrecondition(widget, at), notCreate),
  ...asked('uid mismatch', answers.uidMismatch(widget, at), notCreate),
  ...asked('a conflict of other words', statusAnswer(409, 'Conflict', 'whatever'), notCreate),
  ...asked('a failed test', answers.testFailed(), patches),
  ...asked('an immutable uid', answers.uidImmutable(widget, at), patches),
  { says: 'not found', answer: answers.notFound(widget, at), live: 'not asked', on: each(all, 'gone not-found') },
  {
    says: 'a finalizer on a deleting object',
    answer: answers.noNewFinalizers(widget, at, 'x.dev/f'),
    live: 'not asked',
    on: each(all, 'gone deleting'),
  },
  {
    says: 'namespace terminating',
    answer: answers.namespaceTerminating(widget, at),
    live: 'not asked',
    on: each(all, 'gone namespace'),
  },
  { says: 'namespace not found', answer: answers.namespaceNotFound('space'), live: 'not asked', on: each(all, 'gone namespace') },
  { says: 'CRD terminating', answer: answers.crdTerminating(widget), live: 'not asked', on: each(all, 'unserved') },
  { says: 'plain 404', answer: answers.pageNotFound(), live: 'not asked', on: each(all, 'unserved') },
  { says: 'shutting down for good', answer: answers.shuttingDown(), live: 'not asked', on: each(all, 'fault') },
  { says: 'busy for good', answer: answers.tooManyRequests(60), live: 'not asked', on: each(all, 'fault') },
  { says: 'failed typed patch', answer: answers.typedPatchFailed(), live: 'not asked', on: each(all, 'fault') },
  { says: 'internal error', answer: answers.internalError(), live: 'not asked', on: each(all, 'fault') },
  { says: 'unauthorized', answer: answers.unauthorized(), live: 'not asked', on: each(all, 'fault') },
  { says: 'invalid', answer: answers.invalid(widget, at, 'spec.size', 'no'), live: 'not asked', on: each(all, 'fault') },
  {
    says: 'not found, but another object',
    answer: answers.notFound(widget, { name: 'b' }),
    live: 'not asked',
    on: each(all, 'fault'),
  },
]

function scriptLive(wire: ReturnType<typeof scriptTransport>, live: Live): void {
  if (live === 'not asked') return
  const answer =
    live === 'missing'
      ? answers.notFound(widget, at)
      : answers.ok(widgetOf({ uid: live === 'same' ? 'u1' : 'u2', resourceVersion: '9' }))
  wire.on({ method: 'GET', path }, { times: 1 }).answer(answer)
}

describe('a refused write', () => {
  for (const { says, answer, live, on } of rows) {
    for (const method of Object.keys(on) as Method[]) {
      const want = on[method] ?? 'fault'
      test(`${says}, on ${method}: ${want}`, async () => {
        const { wire, writer, counted, told } = bed({ mayBeUnserved: true })
        scriptLive(wire, live)
        wire.on({ where: (request) => request.method !== 'GET' }).answer(answer)
        // The client asks whether a kind that refuses creates is listed.
        wire.on({ method: 'GET', path: path.slice(0, -2) }).answer(answers.pageNotFound())
        const { verb, run } = methods[method]
        const error = await run(writer).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        const [kind, why] = want.split(' ')
        const labels = `ctl widgets ${verb} ${why}`
        if (kind === 'raced')
          assert.ok(error instanceof WriteRaced && error.why === why && error.target.verb === verb, String(error))
        if (kind === 'gone' && contentWithGone.includes(method)) assert.equal(error, undefined)
        else if (kind === 'gone')
          assert.ok(error instanceof WriteGone && error.why === why && error.target.key === 'space/a', String(error))
        if (kind === 'unserved') assert.ok(error instanceof KindUnserved, String(error))
        if (error !== undefined && kind !== 'fault') assert.ok((error as Error).cause instanceof ApiError)
        if (kind === 'fault') assert.ok(error instanceof ApiError && error.status === answer.status, String(error))
        assert.deepEqual(counted, kind === 'raced' || kind === 'gone' ? [`${kind} ${labels}`] : [])
        assert.equal(wire.sent({ method: 'GET', path }).length, live === 'not asked' ? 0 : 1)
        assert.deepEqual(told, toldBy(want, live))
      })
    }
  }
})

/** What the cache learns: the mark around the write, the live object, and what is known to be gone. */
function toldBy(want: End, live: Live): string[] {
  const learnt: string[] = []
  if (live === 'same') learnt.push('absorbed space/a u1 9')
  if (live === 'other') learnt.push('absorbed space/a u2 9')
  if (want === 'gone not-found' || want === 'gone recreated') learnt.push('gone space/a u1')
  return ['writing space/a', ...learnt, 'written space/a']
}

describe('a kind that must be served', () => {
  for (const method of all) {
    test(`plain 404 on ${method} is a fault`, async () => {
      const { wire, writer } = bed()
      wire.on({}, { times: 9 }).answer(answers.pageNotFound())
      await assert.rejects(methods[method].run(writer), (error) => error instanceof ApiError && error.status === 404)
    })
  }
})

for (const mayBeUnserved of [true, false]) {
  test(`the live read that fails is the error, of a kind that may ${mayBeUnserved ? '' : 'not '}be absent`, async () => {
    const { wire, writer, counted } = bed({ mayBeUnserved })
    wire.on({ method: 'GET' }).answer(answers.internalError())
    wire.on({ method: 'PATCH' }).answer(answers.testFailed())
    await assert.rejects(methods.patch.run(writer), (error) => error instanceof ApiError && error.status === 500)
    assert.deepEqual(counted, [])
  })
}

test('a kind that must be served and goes between refusal and live read is a fault', async () => {
  const { wire, writer } = bed()
  wire.on({ method: 'GET' }).answer(answers.pageNotFound())
  wire.on({ method: 'PATCH' }).answer(answers.testFailed())
  await assert.rejects(methods.patch.run(writer), ApiError)
})

test('a kind that goes between refusal and live read is told as that', async () => {
  const { wire, writer } = bed({ mayBeUnserved: true })
  wire.on({ method: 'GET' }).answer(answers.pageNotFound())
  wire.on({ method: 'PATCH' }).answer(answers.testFailed())
  await assert.rejects(methods.patch.run(writer), KindUnserved)
})

test('an aborted write is neither raced nor gone: the reason comes out', async () => {
  const { wire, writer, counted } = bed()
  const stop = new AbortController()
  const reason = new Error('stop')
  wire.on({ method: 'DELETE' }).answer(() => {
    stop.abort(reason)
    return answers.notFound(widget, at)
  })
  await assert.rejects(writer.remove(widgetOf(), stop.signal), (error) => error === reason)
  assert.deepEqual(counted, [])
})

test('a write that is aborted while the live object is read is not counted either', async () => {
  const { wire, writer, counted } = bed()
  const stop = new AbortController()
  const reason = new Error('stop')
  wire.on({ method: 'DELETE' }).answer(answers.modified(widget, at))
  wire.on({ method: 'GET' }).answer(() => {
    stop.abort(reason)
    return answers.ok(widgetOf({ resourceVersion: '9' }))
  })
  await assert.rejects(writer.remove(widgetOf(), stop.signal), (error) => error === reason)
  assert.deepEqual(counted, [])
})

test('only an answer is judged: a broken connection means nothing, whatever answers mean', async () => {
  const { wire, writer, counted } = bed({ classify: () => ({ is: 'gone', why: 'not-found' }) })
  wire.on({}, { times: 9 }).dropBefore()
  await assert.rejects(methods.patch.run(writer), { code: 'CONNECTION_BROKEN' })
  wire.on({}).answer(answers.internalError())
  await assert.rejects(methods.patch.run(writer), WriteGone)
  assert.deepEqual(counted, ['gone ctl widgets patch not-found'])
})

describe('a writer of a kind that nobody caches', () => {
  for (const method of all) {
    test(`${method} goes through`, async () => {
      const { wire, writer } = bed({ cache: undefined })
      wire.on({}, { times: 2 }).answer(answers.ok(widgetOf({ resourceVersion: '2' })))
      await methods[method].run(writer)
      wire.on({}, { times: 2 }).answer(answers.ok({ kind: 'Status', status: 'Success' }))
      if (method === 'remove') await methods[method].run(writer)
    })

    for (const { says, answer, live, on } of rows) {
      const want = on[method]
      if (!want?.startsWith('gone') && !want?.startsWith('raced')) continue
      test(`${says}, on ${method}: ${want}`, async () => {
        const { wire, writer, counted } = bed({ cache: undefined })
        scriptLive(wire, live)
        wire.on({ where: (request) => request.method !== 'GET' }).answer(answer)
        const signal = await methods[method].run(writer).catch((error: unknown) => error)
        assert.ok(signal === undefined || signal instanceof WriteGone || signal instanceof WriteRaced, String(signal))
        const [kind, why] = want.split(' ')
        assert.deepEqual(counted, [`${kind} ctl widgets ${methods[method].verb} ${why}`])
      })
    }
  }
})

test('a broken connection is the error, and the mark is taken off', async () => {
  const { wire, writer, told } = bed()
  wire.on({}, { times: 9 }).dropBefore()
  await assert.rejects(writer.create(widgetOf(), never), { code: 'CONNECTION_BROKEN' })
  assert.deepEqual(told, ['writing space/a', 'written space/a'])
})

describe('what is sent', () => {
  const testUid = { op: 'test', path: '/metadata/uid', value: 'u1' }
  const body = (wire: ReturnType<typeof scriptTransport>) => wire.requests[0]?.request.body

  test('a patch tests the uid first', async () => {
    const { wire, writer, told } = bed()
    wire.on({ method: 'PATCH' }).answer(answers.ok(widgetOf({ resourceVersion: '2' })))
    await methods.patch.run(writer)
    assert.deepEqual(body(wire), [testUid, { op: 'remove', path: '/spec/size' }])
    assert.equal(wire.requests[0]?.request.query?.fieldManager, 'mgr')
    assert.deepEqual(told, ['writing space/a', 'absorbed space/a u1 2', 'written space/a'])
  })

  test('strictly: creates and patches alone, never what holds or lets go of an object', async () => {
    const asked = async (method: Method, strict: boolean) => {
      const { wire, writer } = bed({ strict })
      wire.on({}).answer(answers.ok(widgetOf()))
      await methods[method].run(writer)
      return wire.requests[0]?.request.query?.fieldValidation
    }
    for (const method of Object.keys(methods) as Method[]) {
      assert.equal(await asked(method, true), method === 'create' || method === 'patch' ? 'Strict' : undefined, method)
      assert.equal(await asked(method, false), undefined, method)
    }
  })

  test('a create sends the object as it is, and what stands is absorbed', async () => {
    const { wire, writer, told } = bed()
    wire.on({ method: 'POST' }).answer(answers.ok(widgetOf({ resourceVersion: '2' })))
    assert.equal(((await methods.create.run(writer)) as Widget).metadata.resourceVersion, '2')
    assert.deepEqual(body(wire), widgetOf())
    assert.equal(wire.requests[0]?.request.query?.fieldManager, 'mgr')
    assert.deepEqual(told, ['writing space/a', 'absorbed space/a u1 2', 'written space/a'])
  })

  const additions = [
    {
      says: 'none stands',
      standing: undefined,
      want: [
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: ['x.dev/f'] },
      ],
    },
    {
      says: 'an empty list stands',
      standing: [],
      want: [
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: ['x.dev/f'] },
      ],
    },
    {
      says: 'others stand',
      standing: ['a', 'b'],
      want: [
        { op: 'test', path: '/metadata/finalizers', value: ['a', 'b'] },
        { op: 'add', path: '/metadata/finalizers/-', value: 'x.dev/f' },
      ],
    },
  ]
  for (const { says, standing, want } of additions) {
    test(`a finalizer is added where ${says}`, async () => {
      const { wire, writer } = bed()
      wire.on({ method: 'PATCH' }).answer(answers.ok(widgetOf()))
      await writer.addFinalizer(widgetOf(standing ? { finalizers: standing } : {}), 'x.dev/f', never)
      assert.deepEqual(body(wire), [testUid, ...want])
    })
  }

  test('a finalizer is removed at its place, with a test on it', async () => {
    const { wire, writer } = bed()
    wire.on({ method: 'PATCH' }).answer(answers.ok(widgetOf()))
    await writer.removeFinalizer(widgetOf({ finalizers: ['a', 'x.dev/f', 'b'] }), 'x.dev/f', never)
    assert.deepEqual(body(wire), [
      testUid,
      { op: 'test', path: '/metadata/finalizers/1', value: 'x.dev/f' },
      { op: 'remove', path: '/metadata/finalizers/1' },
    ])
  })

  test('nothing, where nothing is to be done', async () => {
    const { wire, writer } = bed()
    const object = widgetOf({ finalizers: ['x.dev/f'] })
    assert.equal(await writer.addFinalizer(object, 'x.dev/f', never), object)
    await writer.removeFinalizer(object, 'x.dev/other', never)
    await writer.removeFinalizer(widgetOf(), 'x.dev/other', never)
    assert.equal(await writer.patch(object, [], never), object)
    assert.deepEqual(wire.requests, [])
  })

  test('no finalizer for a deleting object; one that has it already keeps it', async () => {
    const { wire, writer, counted } = bed()
    const deleting = widgetOf({ deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['x.dev/f'] })
    assert.equal(await writer.addFinalizer(deleting, 'x.dev/f', never), deleting)
    await assert.rejects(
      writer.addFinalizer(deleting, 'x.dev/g', never),
      (error) => error instanceof WriteGone && error.why === 'deleting',
    )
    assert.deepEqual(counted, ['gone ctl widgets add-finalizer deleting'])
    assert.deepEqual(wire.requests, [])
  })

  test('a delete carries the uid; what a finalizer holds stands, what went is gone', async () => {
    const { wire, writer, told } = bed()
    wire.on({ method: 'DELETE' }).answer(answers.ok({ kind: 'Status', status: 'Success' }))
    wire.on({ method: 'DELETE' }).answer(answers.ok(widgetOf({ resourceVersion: '5' })))
    await writer.remove(widgetOf(), never)
    await writer.remove(widgetOf(), never)
    assert.deepEqual((body(wire) as { preconditions: unknown }).preconditions, { uid: 'u1' })
    const marks = (learnt: string) => ['writing space/a', learnt, 'written space/a']
    assert.deepEqual(told, [...marks('absorbed space/a u1 5'), ...marks('gone space/a u1')])
  })

  test('an object that was never read is refused', async () => {
    const { wire, writer } = bed()
    const { uid: _, ...metadata } = widgetOf().metadata
    const unread = { ...widgetOf(), metadata }
    await assert.rejects(writer.remove(unread, never), TypeError)
    await assert.rejects(async () => writer.addFinalizer(unread, 'x.dev/f', never), TypeError)
    assert.deepEqual(wire.requests, [])
  })
})

describe('the registry', () => {
  test('lists the writes that a writer can make, and only those', () => {
    const { client, metrics } = bed()
    const registry = createWriteRegistry()
    const make = (controller: string, writes: readonly Method[]) =>
      createWriter({ client, metrics, registry, kind: widget, controller, manager: 'mgr', writes })
    make('b', ['remove', 'create'])
    make('a', ['patch', 'addFinalizer', 'removeFinalizer'])
    make('a', ['patch'])
    assert.deepEqual(
      registry
        .registeredWrites()
        .map(({ controller, resource, verb, manager }) => `${controller} ${resource} ${verb} ${manager}`),
      [
        'a widgets add-finalizer mgr',
        'a widgets patch mgr',
        'a widgets remove-finalizer mgr',
        'b widgets create mgr',
        'b widgets delete mgr',
      ],
    )
  })

  test('a new term is nothing to writers that remember nothing', () => bed().registry.newTerm())

  test('a writer that names no writes has all of them', () => {
    assert.deepEqual(
      bed()
        .registry.registeredWrites()
        .map(({ verb }) => verb),
      ['add-finalizer', 'create', 'delete', 'patch', 'remove-finalizer'],
    )
  })
})
