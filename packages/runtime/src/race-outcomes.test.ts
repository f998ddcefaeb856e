/** Writers and loop together: what a refused write costs, from the answer on the wire to the next pass. Clock and wire are the test's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Controller } from './controller.ts'
import { createClient } from './http-client.ts'
import type { Kind, KubeObject } from './kind.ts'
import { createLoop } from './loop.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { createMetrics } from './metrics.ts'
import { createWriter } from './object-writer.ts'
import { settled } from './outcome.ts'
import { createRecordingLog } from './recording-log.ts'
import { answers } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import { createStatusWriter } from './status-writer.ts'
import type { ApiResponse } from './transport.ts'
import { createWriteRegistry } from './write-registry.ts'

type Widget = KubeObject<{ size: number }, { phase?: string }>
const widget: Kind<{ size: number }, { phase?: string }> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}
const owner = { writer: 'mgr', identity: 'sample', owns: ['phase'], when: 'always' } as const
const at = { name: 'a', namespace: 'space' }
const path = '/apis/example.dev/v1/namespaces/space/widgets/a'
const key = 'space/a'
const stored: Widget = {
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { ...at, uid: 'u1', resourceVersion: '1' },
  spec: { size: 1 },
}
const done: Widget = { ...stored, metadata: { ...stored.metadata, resourceVersion: '2' }, status: { phase: 'Done' } }

type Write = 'create' | 'patch' | 'add-finalizer' | 'remove-finalizer' | 'delete' | 'apply'

/** A controller whose every pass makes one write, over a scripted wire. */
function bed(write: Write) {
  const clock = createManualClock()
  const wire = scriptTransport()
  const metrics = createMetrics({ prefix: 'sample_', process: false })
  const { log, lines } = createRecordingLog()
  const client = createClient(wire, { clock, jitter: () => 1, retryForMs: 0 })
  const env = { client, metrics, registry: createWriteRegistry(), log, kind: widget, controller: 'sample' }
  const writer = createWriter({ ...env, manager: 'mgr' })
  const status = createStatusWriter({ ...env, owner, clock })
  const held: Widget = { ...stored, metadata: { ...stored.metadata, finalizers: ['f'] } }
  const writes: Record<Write, (signal: AbortSignal) => Promise<unknown>> = {
    create: (signal) => writer.create(stored, signal),
    patch: (signal) => writer.patch(stored, [{ op: 'add', path: '/spec/size', value: 2 }], signal),
    'add-finalizer': (signal) => writer.addFinalizer(stored, 'f', signal),
    'remove-finalizer': (signal) => writer.removeFinalizer(held, 'f', signal),
    delete: (signal) => writer.remove(stored, signal),
    apply: (signal) => status.status(stored, { phase: 'Done' }, signal),
  }
  const begun: number[] = []
  const controller: Controller = {
    name: 'sample',
    watches: [],
    needs: [],
    async reconcile({ signal }) {
      begun.push(clock.monotonic())
      await writes[write](signal)
      return settled
    },
  }
  const loop = createLoop(controller, { clock, jitter: () => 1, log, metrics })
  const stop = new AbortController()
  const running = loop.run(stop.signal, stop.signal)
  const total = async (name: string) => {
    const { values } = (await metrics.registry.getSingleMetric(name)?.get()) ?? { values: [] }
    return values.reduce((sum, { value }) => sum + value, 0)
  }
  return {
    clock,
    wire,
    lines,
    begun,
    loop,
    /** The live object that the writer finds when it asks. */
    live: (object: Widget | undefined) =>
      wire.on({ method: 'GET', path }, { times: 100 }).answer(object ? answers.ok(object) : answers.notFound(widget, at)),
    refuse: (answer: ApiResponse, times: number) =>
      wire.on({ where: ({ method }) => method !== 'GET' }, { times }).answer(answer),
    accept: () => wire.on({ where: ({ method }) => method !== 'GET' }, { times: 100 }).answer(answers.ok(done)),
    counts: async () => ({
      raced: await total('sample_write_race_requeues_total'),
      gone: await total('sample_write_gone_total'),
      errors: await total('controller_runtime_reconcile_errors_total'),
      retries: await total('workqueue_retries_total'),
    }),
    loud: () => lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => `${level} ${message}`),
    async end() {
      stop.abort(new Error('the test is over'))
      await running
      loop.close()
    },
  }
}

const conflictOn: Record<Write, ApiResponse> = {
  create: answers.alreadyExists(widget, at),
  patch: answers.testFailed(),
  'add-finalizer': answers.testFailed(),
  'remove-finalizer': answers.testFailed(),
  delete: answers.modified(widget, at),
  apply: answers.modified(widget, at),
}
const all = Object.keys(conflictOn) as Write[]

for (const write of all) {
  test(`B29: ${write}: six conflicts in a row are retried within seconds, ever later; an hour on, one conflict starts low`, async () => {
    const one = bed(write)
    one.live(stored)
    one.accept()
    one.refuse(conflictOn[write], 6)
    one.loop.queue.add(key)
    await one.clock.advance(10_000)
    assert.deepEqual(one.begun, [0, 20, 60, 140, 300, 620, 1260], 'each delay is twice the last')
    assert.deepEqual(await one.counts(), { raced: 6, gone: 0, errors: 0, retries: 6 })

    await one.clock.advance(3_600_000)
    assert.equal(one.begun.length, 7, 'nothing follows success')
    const later = one.clock.monotonic()
    one.refuse(conflictOn[write], 1)
    one.loop.queue.add(key)
    await one.clock.advance(10_000)
    assert.deepEqual(one.begun.slice(7), [later, later + 20])
    assert.deepEqual(await one.counts(), { raced: 7, gone: 0, errors: 0, retries: 7 })
    assert.deepEqual(one.loud(), [], 'a lost race is said at debug only')
    await one.end()
  })

  test(`${write}: the object went during the pass: one request, counted, nothing follows`, async () => {
    const one = bed(write)
    one.live(undefined)
    one.accept()
    const gone = write === 'create' ? answers.namespaceTerminating(widget, at) : answers.notFound(widget, at)
    one.refuse(gone, 1)
    one.loop.queue.add(key)
    await one.clock.advance(3_600_000)
    assert.deepEqual(one.begun, [0])
    assert.deepEqual(await one.counts(), { raced: 0, gone: 1, errors: 0, retries: 0 })
    assert.deepEqual(one.loud(), [])
    await one.end()
  })

  test(`${write}: a fault is an error each time, with delays that grow, and is over when it is over`, async () => {
    const one = bed(write)
    one.accept()
    for (const fault of [answers.internalError(), answers.typedPatchFailed(), answers.invalid(widget, at, 'spec.size', 'no')])
      one.refuse(fault, 1)
    one.loop.queue.add(key)
    await one.clock.advance(10_000)
    assert.deepEqual(one.begun, [0, 20, 60, 140])
    assert.deepEqual(await one.counts(), { raced: 0, gone: 0, errors: 3, retries: 3 })
    assert.deepEqual(one.loud(), ['error the pass failed', 'error the pass failed', 'error the pass failed'])
    await one.end()
  })
}

test('races of one key do not slow down another', async () => {
  const one = bed('patch')
  one.live(stored)
  one.accept()
  one.refuse(conflictOn.patch, 5)
  one.loop.queue.add(key)
  await one.clock.advance(300)
  assert.equal(one.loop.queue.failures(key), 5)
  one.loop.queue.add('space/b')
  await turns()
  await one.clock.advance(0)
  assert.equal(one.begun.at(-1), one.clock.monotonic(), 'the other key is taken at once')
  assert.equal(one.loop.queue.failures('space/b'), 0)
  await one.end()
})

test('what refusals mean can be given: then nothing is a race', async () => {
  const one = bed('patch')
  one.accept()
  one.refuse(conflictOn.patch, 1)
  const { log } = createRecordingLog()
  const counted: string[] = []
  const count = (what: string) => () => void counted.push(what)
  const writer = createWriter({
    client: createClient(one.wire, { clock: one.clock, jitter: () => 1, retryForMs: 0 }),
    metrics: {
      raceRequeue: count('raced'),
      gone: count('gone'),
      ownershipConflict: count('conflict'),
      ownershipRound: count('round'),
    },
    registry: createWriteRegistry(),
    log,
    kind: widget,
    controller: 'sample',
    manager: 'mgr',
    classify: (refusal, verb, addressed, controller) => {
      assert.deepEqual([refusal.status, verb, addressed.name, controller], [422, 'patch', 'a', 'sample'])
      return { is: 'fault' }
    },
  })
  const write = writer.patch(stored, [{ op: 'add', path: '/spec/size', value: 2 }], new AbortController().signal)
  await assert.rejects(write, { code: 'API_ERROR' })
  assert.deepEqual(counted, [])
  await one.end()
})
