import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventNote } from './event-body.ts'
import { createEventRecorder, type EventRecorderOptions } from './events.ts'
import { createClient } from './http-client.ts'
import type { KubeObject } from './kind.ts'
import { silentLogger } from './log.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'

const widget = (name: string): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: {},
})
const note: EventNote = { type: 'Warning', reason: 'NoSpace', action: 'Place', note: 'no space is left' }

function setUp(options: Partial<EventRecorderOptions> = {}) {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  const counts: Record<string, number> = {}
  const recorder = createEventRecorder({
    client: createClient(script, { clock, jitter: () => 0, retryForMs: 0 }),
    clock,
    log: silentLogger,
    metrics: {
      counted(what) {
        counts[what] = (counts[what] ?? 0) + 1
      },
    },
    controller: 'example.dev/sample',
    instance: 'sample-1',
    fieldManager: 'sample',
    ...options,
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  const posts = () => script.sent({ method: 'POST' }).map(({ request }) => request.body as Record<string, unknown>)
  const patches = () => script.sent({ method: 'PATCH' }).map(({ request }) => (request.body as { value: unknown }[])[0]?.value)
  script.on({ method: 'POST' }, { times: 100_000 }).answer(({ body }) => answers.ok(body))
  script.on({ method: 'PATCH' }, { times: 100_000 }).answer(answers.ok({ metadata: {} }))
  return {
    clock,
    script,
    counts,
    recorder,
    posts,
    patches,
    async end() {
      stop.abort(new Error('the test is over'))
      await running
    },
  }
}

test('an event names who, what and about which object, with a six-digit time', async () => {
  const world = setUp()
  world.recorder.record(widget('a'), { ...note, related: widget('b') })
  await turns()
  const [body] = world.posts()
  assert.match(String(body?.eventTime), /\.\d{6}Z$/)
  assert.deepEqual(
    { ...body, eventTime: undefined, metadata: undefined },
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: undefined,
      spec: undefined,
      eventTime: undefined,
      reportingController: 'example.dev/sample',
      reportingInstance: 'sample-1',
      action: 'Place',
      reason: 'NoSpace',
      type: 'Warning',
      note: 'no space is left',
      regarding: { apiVersion: 'example.dev/v1', kind: 'Widget', name: 'a', namespace: 'default', uid: 'uid-a' },
      related: { apiVersion: 'example.dev/v1', kind: 'Widget', name: 'b', namespace: 'default', uid: 'uid-b' },
    },
  )
  await world.end()
})

test('B53: one object that fails for an hour makes one event, and a few writes of its series', async () => {
  const world = setUp()
  for (let minute = 0; minute < 60; minute += 1) {
    world.recorder.record(widget('a'), note)
    await world.clock.advance(60_000)
  }
  assert.equal(world.posts().length, 1)
  assert.ok(world.patches().length >= 10 && world.patches().length <= 13, `${world.patches().length} series writes`)
  assert.deepEqual((world.patches().at(-1) as { count: number }).count >= 56, true)
  await world.end()
})

test('B53: five hundred objects failing at once are capped, what is too much is dropped and counted, and the cap recovers', async () => {
  const world = setUp({ perSecond: 5, burst: 50 })
  for (let n = 0; n < 500; n += 1) world.recorder.record(widget(`w${n}`), note)
  await turns(200)
  assert.equal(world.posts().length, 50)
  assert.equal(world.counts.dropped, 450)
  await world.clock.advance(10_000)
  for (let n = 500; n < 600; n += 1) world.recorder.record(widget(`w${n}`), note)
  await turns(200)
  assert.equal(world.posts().length, 100)
  await world.end()
})

test('recording never waits and never throws, whatever the server says; what failed is counted and can be tried again', async () => {
  const world = setUp()
  await world.clock.advance(11_000)
  world.script.on({ method: 'POST' }).answer(statusAnswer(403, 'Forbidden', 'the namespace is being terminated'))
  world.recorder.record(widget('a'), note)
  await turns()
  assert.equal(world.counts.failed, 1)
  world.recorder.record(widget('a'), note)
  await turns()
  assert.equal(world.counts.created, 1)
  await world.end()
})

test('what varies in its note is one series with the first note, where its reporter says so', async () => {
  const world = setUp()
  for (const text of ['a is full', 'b is full']) world.recorder.record(widget('a'), { ...note, note: text, noteVaries: true })
  for (const text of ['c is full', 'd is full']) world.recorder.record(widget('b'), { ...note, note: text })
  await turns()
  const notes = world.posts().map((body) => body.note)
  assert.deepEqual(notes, ['a is full', 'c is full', 'd is full'])
  await world.end()
})

test('flush waits for what is queued, but not for ever', async () => {
  const world = setUp()
  const held = world.script.on({ method: 'POST' }).hold()
  world.recorder.record(widget('a'), note)
  await turns()
  let over = false
  const flushed = world.recorder.flush(2_000).then(() => {
    over = true
  })
  await world.clock.advance(1_999)
  assert.equal(over, false)
  await world.clock.advance(1)
  await flushed
  held.release()
  await turns()
  await world.recorder.flush(2_000)
  assert.equal(world.recorder.held.waiting, 0)
  await world.end()
})

test('B31: what is remembered of old events ends with their series', async () => {
  const world = setUp({ perSecond: 10_000, burst: 10_000 })
  for (let n = 0; n < 1_000; n += 1) world.recorder.record(widget(`w${n}`), note)
  await turns(3_000)
  assert.equal(world.recorder.held.remembered, 1_000)
  await world.clock.advance(11 * 60_000)
  world.recorder.record(widget('last'), note)
  await turns()
  assert.equal(world.recorder.held.remembered, 1)
  await world.end()
})

test('texts that are too long are cut to what the server takes', async () => {
  const world = setUp({ instance: 'i'.repeat(200) })
  world.recorder.record(widget('n'.repeat(253)), { ...note, note: 'ü😀'.repeat(400) })
  await turns()
  const [body] = world.posts()
  assert.ok(Buffer.byteLength(String(body?.note)) <= 1024)
  assert.ok(!String(body?.note).includes('\uFFFD') && String(body?.note).isWellFormed())
  assert.ok(String(body?.reportingInstance).length <= 128)
  assert.ok((body as unknown as KubeObject).metadata.name.length <= 253)
  await world.end()
})
