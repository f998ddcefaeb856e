/** The cache against a server that restarts and a kind that goes and comes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache, silentLogger, systemClock } from 'kube-control-loop'
import { startPlane } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { background, openClient, openTransport, Widget, type Widget as WidgetObject, widget, widgetCrd } from './widget.ts'

const by = { fieldManager: 'tests' }

test('a cache follows its kind through changes, a restart of the server, and the end and return of the kind', async (t) => {
  await using plane = await startPlane({ name: 'cache-tests', controllers: false, audit: false })
  await plane.apply([widgetCrd])
  await using namespace = await testNamespace(plane, 'cache')
  const transport = openTransport(plane.kubeconfigPath, 'cache-tests')
  const client = openClient(transport)
  const signal = AbortSignal.timeout(110_000)
  const cache = createCache(
    client,
    Widget,
    { indexes: { color: ({ spec }) => (spec.color ? [spec.color] : []) } },
    { clock: systemClock, jitter: Math.random, log: silentLogger },
  )
  const told = new Map<string, string>()
  cache.subscribe(({ key, after }) => {
    if (after) told.set(key, after.metadata.resourceVersion ?? '')
    else told.delete(key)
  })
  await using _ = background((until) => cache.run(until))
  await cache.ready(signal)

  /** Both what is held and what was told are exactly what the server lists. */
  const equalsServer = async () => {
    const { items } = await client.list(Widget, {}, signal)
    const want = Object.fromEntries(
      items.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]),
    )
    const held = Object.fromEntries(
      [...cache.values()].map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.resourceVersion]),
    )
    assert.deepEqual(held, want)
    assert.deepEqual(Object.fromEntries(told), want)
    assert.equal(cache.held.graves, 0)
    return true
  }
  const create = (name: string, color = 'red') =>
    client.create(Widget, widget(namespace.name, name, { size: 1, color }), by, signal)
  const recolor = (object: WidgetObject, color: string) =>
    client.jsonPatch(Widget, object.metadata, [{ op: 'replace', path: '/spec/color', value: color }], by, signal)

  await t.test('creates, changes and deletes arrive, and indexes follow', async () => {
    const [first, second] = await Promise.all(['a', 'b', 'c'].map((name) => create(name)))
    assert.ok(first && second)
    await recolor(first, 'blue')
    await client.remove(Widget, second.metadata, {}, signal)
    await eventually('the cache is equal to the server', equalsServer)
    assert.deepEqual(
      cache.by('color', 'blue').map(({ metadata }) => metadata.name),
      ['a'],
    )
  })

  await t.test('after a restart it goes on, without an object lost or left over', async () => {
    await plane.restart()
    await create('after-restart')
    const gone = cache.get(`${namespace.name}/c`)
    assert.ok(gone)
    await client.remove(Widget, gone.metadata, {}, signal)
    await eventually('the cache is equal to the server again', equalsServer, { timeoutMs: 30_000 })
    assert.equal(cache.state, 'synced')
  })

  await t.test('when the kind is deleted it empties and says so; when it is back it comes to life', async () => {
    await client.raw(
      { method: 'DELETE', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.dev' },
      signal,
    )
    await eventually('unserved', () => cache.state === 'unserved' || undefined, { timeoutMs: 30_000 })
    assert.equal(cache.size, 0)
    assert.deepEqual([...told], [])
    assert.deepEqual(cache.by('color', 'red'), [])
    await plane.apply([widgetCrd])
    cache.poke()
    await eventually('synced', () => cache.state === 'synced' || undefined, { timeoutMs: 30_000 })
    await create('reborn')
    await eventually('the cache is equal to the server once more', equalsServer)
  })
  await transport.close()
})
