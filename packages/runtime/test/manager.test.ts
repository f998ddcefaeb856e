/** Whole processes on the real API server: the example of the README, events, reading one's own writes. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createCache, createEventRecorder, createWriteRegistry, createWriter, silentLogger, systemClock } from 'kube-control-loop'
import { readAudit, tailAudit } from 'kube-localplane'
import { eventually, installManifests, sharedPlane, testNamespace } from 'kube-localplane/testing'
import { widgetManager } from './example-controller.ts'
import { background, openClient, openTransport, Widget, widget, widgetCrd } from './widget.ts'

const plane = await sharedPlane()
await installManifests(plane, [widgetCrd])
const signal = AbortSignal.timeout(120_000)
const transport = openTransport(plane.kubeconfigPath, 'runtime-tests')
const client = openClient(transport)
const by = { fieldManager: 'tests' }
test.after(() => transport.close())

async function writesOf(userAgent: string, range: { from: number; to?: number }) {
  assert.ok(plane.auditLogPath)
  const entries = await readAudit(plane.auditLogPath, range)
  return entries.filter(
    (entry) =>
      entry.stage === 'ResponseComplete' &&
      entry.userAgent === userAgent &&
      entry.resource !== 'leases' &&
      !['get', 'list', 'watch'].includes(entry.verb),
  )
}

test('the README shows the example as it runs', async () => {
  const [readme, example] = await Promise.all(
    ['../README.md', './example-controller.ts'].map((path) => readFile(new URL(path, import.meta.url), 'utf8')),
  )
  assert.ok(readme?.includes(`\`\`\`ts\n${example}\`\`\``))
})

test('the example settles fifty objects with one write each, and writes nothing at rest', async () => {
  await using namespace = await testNamespace(plane, 'example')
  const identity = `example-${namespace.name}`
  const from = await tailAudit(plane)
  const manager = widgetManager({
    kubeconfig: plane.kubeconfigPath,
    identity,
    namespace: namespace.name,
  })
  await using running = background(manager.run)
  const names = Array.from({ length: 50 }, (_, n) => `w${n}`)
  await Promise.all(names.map((name, n) => client.create(Widget, widget(namespace.name, name, { size: n }), by, signal)))
  await eventually('all settled', async () => {
    const { items } = await client.list(Widget, { namespace: namespace.name }, signal)
    return items.every(({ spec, status }) => status?.doubled === 2 * spec.size) || undefined
  })
  const settledAt = await tailAudit(plane)
  const written = await writesOf(identity, { from, to: settledAt })
  const told = written.map(({ name, verb, code, message }) => `${verb} ${name} ${code} ${message}`).sort()
  assert.equal(written.length, 50, told.join('\n'))
  assert.ok(
    written.every(({ code, subresource }) => code === 200 && subresource === 'status'),
    told.join('\n'),
  )

  const address = manager.address
  assert.ok(address)
  const page = async (path: string) => (await fetch(`http://${address.host}:${address.port}${path}`)).text()
  assert.match(await page('/readyz'), /caches ok/)
  assert.match(await page('/healthz'), /leader-election ok/)
  const metrics = await page('/metrics')
  for (const line of [
    'controller_runtime_reconcile_errors_total{controller="widget"} 0',
    'leader_election_master_status{name="widget"} 1',
    'rest_client_requests_total{method="PATCH",code="200",host="widget"} 50',
  ]) {
    assert.ok(metrics.includes(line), line)
  }
  assert.ok(!metrics.includes(namespace.name), 'no name of an object, or of where it lives, is a label')

  await new Promise((resolve) => setTimeout(resolve, 5_000))
  assert.deepEqual(await writesOf(identity, { from: settledAt }), [])
  await running.stop()
})

test('an own write is read at once, although its event may not have come', async () => {
  await using namespace = await testNamespace(plane, 'own-writes')
  const cache = createCache(
    client,
    Widget,
    { namespace: namespace.name },
    { clock: systemClock, jitter: Math.random, log: silentLogger },
  )
  await using _ = background((until) => cache.run(until))
  await cache.ready(signal)
  const metrics = { raceRequeue() {}, gone() {}, ownershipConflict() {}, ownershipRound() {} }
  const writer = createWriter({
    client,
    metrics,
    registry: createWriteRegistry(),
    kind: Widget,
    controller: 'tests',
    manager: 'tests',
    cache,
  })
  const versions: string[] = []
  cache.subscribe(({ after }) => versions.push(after?.metadata.resourceVersion ?? 'gone'))
  let told = 0
  for (let n = 0; n < 50; n += 1) {
    const made = await writer.create(widget(namespace.name, `w${n}`), signal)
    assert.equal(cache.get(`${namespace.name}/w${n}`)?.metadata.resourceVersion, made.metadata.resourceVersion)
    const changed = await writer.patch(made, [{ op: 'replace', path: '/spec/size', value: n + 2 }], signal)
    assert.equal(cache.get(`${namespace.name}/w${n}`)?.spec.size, n + 2)
    await writer.remove(changed, signal)
    assert.equal(cache.get(`${namespace.name}/w${n}`), undefined)
    told += 3
  }
  // A marker behind all the events: when it is here, they were.
  await client.create(Widget, widget(namespace.name, 'marker'), by, signal)
  await eventually('the marker', () => cache.get(`${namespace.name}/marker`))
  assert.equal(versions.length, told + 1, 'each write is told once, whichever of answer and event came first')
  assert.equal(cache.size, 1)
  assert.equal(cache.held.graves, 0)
})

test('B53: repeated events become one stored Event with a series', async () => {
  await using namespace = await testNamespace(plane, 'events')
  const object = await client.create(Widget, widget(namespace.name, 'noisy'), by, signal)
  const counts: Record<string, number> = {}
  const recorder = createEventRecorder({
    client,
    clock: systemClock,
    log: silentLogger,
    metrics: {
      counted(what) {
        counts[what] = (counts[what] ?? 0) + 1
      },
    },
    controller: 'example.dev/widget',
    instance: 'widget-1',
    fieldManager: 'widget',
  })
  await using _ = background((until) => recorder.run(until))
  const note = { type: 'Warning', reason: 'NoSpace', action: 'Place', note: 'No space is left' } as const
  recorder.record(object, note)
  await recorder.flush(10_000)
  for (let n = 0; n < 20; n += 1) recorder.record(object, note)
  await recorder.flush(10_000)
  assert.deepEqual(counts, { created: 1, repeated: 1 })
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace.name}/events`
  const { items } = (await client.raw({ method: 'GET', path }, signal)) as {
    items: (Record<string, unknown> & { series?: { count: number } })[]
  }
  assert.equal(items.length, 1)
  assert.equal(items[0]?.note, 'No space is left')
  assert.equal(items[0]?.reportingController, 'example.dev/widget')
  assert.ok((items[0]?.series?.count ?? 0) >= 2)
})
