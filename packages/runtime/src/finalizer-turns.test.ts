import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache } from './cache-impl.ts'
import { createClient } from './http-client.ts'
import type { Kind } from './kind.ts'
import { silentLogger } from './log.ts'
import { createManualClock } from './manual-clock.ts'
import { createWriter } from './object-writer.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import { noWriteMetrics } from './write-metrics.ts'
import { createWriteRegistry } from './write-registry.ts'

const widget: Kind<object> = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
const never = new AbortController().signal
const path = '/apis/example.dev/v1/namespaces/default/widgets/one'
const widgetOf = (resourceVersion: string, finalizers: string[], uid = 'u1') => ({
  ...{ apiVersion: 'example.dev/v1', kind: 'Widget', spec: {} },
  metadata: { name: 'one', namespace: 'default', uid, resourceVersion, ...(finalizers.length > 0 ? { finalizers } : {}) },
})

/** Two controllers of one process, each with a writer of its own. */
function controllers() {
  const parts = { clock: createManualClock(), jitter: () => 0 }
  const wire = scriptTransport(undefined, parts)
  const client = createClient(wire, { ...parts, retryForMs: 0 })
  const cache = createCache(client, widget, {}, { ...parts, log: silentLogger })
  const writer = (controller: string) =>
    createWriter({
      client,
      metrics: noWriteMetrics,
      registry: createWriteRegistry(),
      kind: widget,
      cache,
      controller,
      manager: controller,
    })
  const patches = () => wire.sent({ method: 'PATCH', path }).map(({ request }) => request.body)
  return { wire, cache, patches, first: writer('first'), second: writer('second') }
}

test('a controller that adds a finalizer while another does waits, and adds to what stands then', async () => {
  const { wire, cache, patches, first, second } = controllers()
  cache.absorb(widgetOf('1', []))
  const gate = Promise.withResolvers<void>()
  wire.on({ method: 'PATCH', path }).answer(answers.ok(widgetOf('3', ['x.dev/a', 'x.dev/b'])))
  wire.on({ method: 'PATCH', path }).answer(async () => {
    await gate.promise
    return answers.ok(widgetOf('2', ['x.dev/a']))
  })
  const both = [first.addFinalizer(widgetOf('1', []), 'x.dev/a', never), second.addFinalizer(widgetOf('1', []), 'x.dev/b', never)]
  await new Promise(setImmediate)
  assert.equal(patches().length, 1)
  gate.resolve()
  const [, after] = await Promise.all(both)
  assert.deepEqual(after?.metadata.finalizers, ['x.dev/a', 'x.dev/b'])
  assert.deepEqual(patches()[1], [
    { op: 'test', path: '/metadata/uid', value: 'u1' },
    { op: 'test', path: '/metadata/finalizers', value: ['x.dev/a'] },
    { op: 'add', path: '/metadata/finalizers/-', value: 'x.dev/b' },
  ])
})

test('one that removes a finalizer while another removes the one before it finds its own where it is then', async () => {
  const { wire, cache, patches, first, second } = controllers()
  const before = widgetOf('1', ['x.dev/a', 'x.dev/b'])
  cache.absorb(before)
  wire.on({ method: 'PATCH', path }).answer(answers.ok(widgetOf('3', [])))
  wire.on({ method: 'PATCH', path }).answer(answers.ok(widgetOf('2', ['x.dev/b'])))
  await Promise.all([first.removeFinalizer(before, 'x.dev/a', never), second.removeFinalizer(before, 'x.dev/b', never)])
  assert.deepEqual(patches()[1], [
    { op: 'test', path: '/metadata/uid', value: 'u1' },
    { op: 'test', path: '/metadata/finalizers/0', value: 'x.dev/b' },
    { op: 'remove', path: '/metadata/finalizers/0' },
  ])
})

test('a write that fails holds nobody up, and another object under the name is not written to', async () => {
  const { wire, cache, patches, first, second } = controllers()
  cache.absorb(widgetOf('1', []))
  wire.on({ method: 'PATCH', path }).answer(answers.ok(widgetOf('2', ['x.dev/b'])))
  wire.on({ method: 'PATCH', path }).answer(() => {
    cache.absorb(widgetOf('5', ['x.dev/c'], 'u2'))
    return statusAnswer(400, 'BadRequest', 'no')
  })
  const failed = assert.rejects(first.addFinalizer(widgetOf('1', []), 'x.dev/a', never))
  await second.addFinalizer(widgetOf('1', []), 'x.dev/b', never).catch(() => undefined)
  await failed
  assert.deepEqual((patches()[1] as unknown[])[0], { op: 'test', path: '/metadata/uid', value: 'u1' })
})
