/** A kind whose converter is away when the process starts, and an object that nobody expected, on the real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Clock,
  createCache,
  createClient,
  createManager,
  type KubeObject,
  settled,
  silentLogger,
  systemClock,
  watch,
} from 'kube-control-loop'
import { readAudit, startPlane, tailAudit } from 'kube-localplane'
import { eventually, startConverter, testNamespace } from 'kube-localplane/testing'
import { background, openClient, openTransport, Widget, type WidgetSpec, type WidgetStatus, widget, widgetCrd } from './widget.ts'

const Widget2 = { ...Widget, version: 'v2' }

test('B54: a converter that answers 500 at start, and one stored object of an unknown shape', async (t) => {
  await using plane = await startPlane({ name: 'conversion-tests', controllers: false, audit: true })
  /** What `odd` has for a spec in the second version. */
  await using converter = await startConverter(plane, (object) =>
    (object.metadata as { name: string }).name === 'odd' && object.apiVersion === 'example.dev/v2'
      ? { ...object, spec: 'as nobody expects' }
      : object,
  )
  const [first] = widgetCrd.spec.versions
  const open = { openAPIV3Schema: { type: 'object', properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true } } } }
  const versions = [first, { ...first, name: 'v2', storage: false, schema: open }]
  const { conversion } = converter
  await plane.apply([{ ...widgetCrd, spec: { ...widgetCrd.spec, conversion, versions } } as never])
  await using namespace = await testNamespace(plane, 'conversion')
  const transport = openTransport(plane.kubeconfigPath, 'conversion-admin')
  const client = openClient(transport)
  const signal = AbortSignal.timeout(110_000)
  const by = { fieldManager: 'tests' }
  for (const name of ['a', 'b', 'odd']) await client.create(Widget, widget(namespace.name, name), by, signal)

  const watched = openTransport(plane.kubeconfigPath, 'conversion-process')
  const manager = createManager({
    name: 'conversion',
    transport: watched,
    metricPrefix: 'conversion_',
    eventController: 'example.dev/conversion',
    identity: 'conversion',
    log: silentLogger,
    server: { port: 0 },
  })
  const indexes = { size: ({ spec }: KubeObject<WidgetSpec, WidgetStatus>) => [spec.size.toFixed(0)] }
  const widgets = manager.cache(Widget2, { namespace: namespace.name, indexes })
  const gone: string[] = []
  const seen = new Set<string>()
  widgets.subscribe(({ key, after }) => {
    if (after) seen.add(after.metadata.name)
    else gone.push(key)
  })
  const passes = new Map<string, number>()
  manager.add({
    name: 'conversion',
    needs: [{ cache: widgets }],
    watches: [watch(widgets, ({ key }) => [key])],
    async reconcile({ key }) {
      passes.set(key, (passes.get(key) ?? 0) + 1)
      const found = widgets.get(key)
      if (found) found.spec.size.toFixed(0)
      return settled
    },
  })
  const page = async (path: string) => {
    const { host, port } = manager.address ?? assert.fail('no server')
    return await fetch(`http://${host}:${port}${path}`)
  }
  const attempts = async (from: number) => {
    const entries = await readAudit(plane.auditLogPath ?? '', { from, to: await tailAudit(plane) })
    return entries.filter(({ userAgent, resource }) => userAgent === 'conversion-lists' && resource === 'widgets').length
  }

  converter.behave('fails')
  // Else the server may have all in memory already.
  await plane.restart()
  await using _ = background(manager.run)
  await eventually('the server of the process', () => manager.address !== undefined)

  await t.test(
    'it is not ready, and takes the kind for unknown and not for empty, while the server holds its streaming list back',
    async () => {
      await eventually('the server to try twice', () => converter.asked >= 2, { timeoutMs: 60_000 })
      assert.equal(widgets.state, 'starting')
      assert.equal((await page('/readyz')).status, 503)
      assert.equal((await page('/healthz')).status, 200, 'a restart would help nobody')
      assert.equal(passes.size, 0, 'no pass before the kind is known')
    },
  )

  const listing = openTransport(plane.kubeconfigPath, 'conversion-lists')
  const pauses: number[] = []
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      pauses.push(ms)
      return systemClock.sleep(ms, signal)
    },
  }
  const parts = { clock, jitter: () => 1, log: silentLogger, reflector: { streamingLists: false } }
  const listed = createCache(createClient(listing, { ...parts, retryForMs: 0 }), Widget2, { namespace: namespace.name }, parts)
  await using __ = background(listed.run)
  await t.test('lists that fail are tried again, less and less often', async () => {
    const from = await tailAudit(plane)
    await eventually('four lists', async () => (await attempts(from)) >= 4, { timeoutMs: 60_000 })
    assert.deepEqual(pauses.slice(0, 3), [100, 200, 400], 'the delay doubles')
    assert.equal(listed.state, 'starting')
  })

  await t.test(
    'it is ready as soon as the converter is back, and the odd object is reported while the others are served',
    async () => {
      converter.behave('converts')
      await Promise.all([widgets.ready(signal), listed.ready(signal)])
      await eventually('readiness', async () => (await page('/readyz')).status === 200)
      await eventually('a pass for each', () => passes.size === 3)
      assert.deepEqual([...seen].sort(), ['a', 'b', 'odd'])
      assert.deepEqual(gone, [])
      assert.deepEqual(
        widgets
          .by('size', '1')
          .map(({ metadata }) => metadata.name)
          .sort(),
        ['a', 'b'],
        'what no index can hold is held all the same',
      )
      assert.equal(widgets.get(`${namespace.name}/odd`)?.spec as unknown, 'as nobody expects')
      const failed = async () => {
        const text = await (await page('/metrics')).text()
        return Number(/controller_runtime_reconcile_errors_total\{controller="conversion"\} (\d+)/.exec(text)?.[1] ?? 0)
      }
      await eventually('its pass to fail', async () => (await failed()) >= 2)
      assert.equal(passes.get(`${namespace.name}/a`), 1)
      assert.equal(passes.get(`${namespace.name}/b`), 1)
    },
  )

  await t.test('one that fails later takes nothing away: what was last known stands', async () => {
    converter.behave('fails')
    await client.jsonPatch(
      Widget,
      { namespace: namespace.name, name: 'a' },
      [{ op: 'replace', path: '/spec/size', value: 2 }],
      by,
      signal,
    )
    await client.remove(Widget, { namespace: namespace.name, name: 'b' }, {}, signal)
    const before = converter.asked
    await eventually('the server to ask the converter', () => converter.asked > before, { timeoutMs: 60_000 })
    assert.deepEqual(gone, [])
    assert.equal(widgets.size, 3)
    converter.behave('converts')
    await eventually('both changes', () => widgets.size === 2 && widgets.get(`${namespace.name}/a`)?.spec.size === 2, {
      timeoutMs: 60_000,
    })
    assert.deepEqual(gone, [`${namespace.name}/b`])
  })
  await transport.close()
  await watched.close()
  await listing.close()
})
