import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Controller } from './controller.ts'
import { watch } from './controller.ts'
import { LeadershipLost } from './fenced-transport.ts'
import type { Kind } from './kind.ts'
import { silentLogger } from './log.ts'
import { createManager, type ManagerOptions } from './manager.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { createMetrics } from './metrics.ts'
import { settled } from './outcome.ts'
import { answers } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'

const widgets: Kind<{ size?: number }> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Cluster',
}
const gadgets: Kind = { ...widgets, kind: 'Gadget', plural: 'gadgets' }
const pathOf = (kind: Kind) => `/apis/example.dev/v1/${kind.plural}`
const item = (name: string, resourceVersion = '5') => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name, uid: name, resourceVersion },
  spec: {},
})

function setUp(options: Partial<ManagerOptions> = {}) {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  let closed = 0
  const transport = {
    ...script,
    async close() {
      closed += 1
    },
  }
  for (const kind of [widgets, gadgets]) {
    const list = { kind: 'List', metadata: { resourceVersion: '10' }, items: [item('a'), item('b')] }
    script.on({ path: pathOf(kind) }, { times: 1_000 }).answer(answers.ok(list))
    script.on({ path: pathOf(kind), query: { watch: 'true' } }, { times: 1_000 }).stream([], 'stays')
  }
  const metrics = createMetrics({ prefix: 'sample_', process: false })
  const common = { name: 'sample', metricPrefix: 'sample_', eventController: 'example.dev/sample', identity: 'sample-1' }
  const manager = createManager({
    ...{ ...common, transport, clock, metrics, jitter: () => 0.5, log: silentLogger, reflector: { streamingLists: false } },
    ...options,
  })
  const stop = new AbortController()
  let running = Promise.resolve()
  return {
    clock,
    script,
    manager,
    metrics,
    closed: () => closed,
    start() {
      running = manager.run(stop.signal)
      running.catch(() => {})
      return turns(10)
    },
    async stop() {
      stop.abort(new Error('the process stops'))
      await turns(10)
      return running
    },
    stopping: stop,
    running: () => running,
  }
}

function controllerOf(world: ReturnType<typeof setUp>, more: Partial<Controller> = {}) {
  const cache = world.manager.cache(widgets)
  const keys: string[] = []
  const controller: Controller = {
    name: 'sample',
    watches: [watch(cache, ({ key }) => [key])],
    needs: [{ cache }],
    async reconcile({ key }) {
      keys.push(key)
      return settled
    },
    ...more,
  }
  return { cache, controller, keys }
}

/** A lease that this process finds free, and whose writes are all taken. */
function freeLease(world: ReturnType<typeof setUp>) {
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sample'
  const lease = (version: number, spec: unknown) => ({
    metadata: { name: 'sample', namespace: 'default', uid: 'l', resourceVersion: `${version}` },
    spec,
  })
  world.script.on({ path, method: 'GET' }, { times: 1_000 }).answer(answers.ok(lease(1, { holderIdentity: '' })))
  let version = 1
  world.script.on({ path, method: 'PATCH' }, { times: 1_000 }).answer(({ body }) => {
    version += 1
    return answers.ok(lease(version, (body as { value: unknown }[])[1]?.value))
  })
  return {
    writes: () =>
      world.script
        .sent({ path, method: 'PATCH' })
        .map(({ request }) => (request.body as { value: { holderIdentity: string } }[])[1]?.value.holderIdentity),
  }
}

test('a process without a lease fills its caches, works, and closes its transport when it stops', async () => {
  const world = setUp()
  const { controller, keys } = controllerOf(world)
  world.manager.add(controller)
  assert.equal(world.script.requests.length, 0, 'nothing happens before run')
  await world.start()
  assert.deepEqual(keys, ['a', 'b'])
  assert.equal(world.manager.leads, true)
  await world.stop()
  assert.equal(world.manager.leads, false)
  assert.equal(world.closed(), 1)
  assert.equal(world.clock.timers, 0)
  await assert.rejects(world.manager.run(AbortSignal.abort()), /runs once/)
})

test('caches and controllers that are added while it runs join in, and can be ended one by one', async () => {
  const world = setUp()
  await world.start()
  const { controller, keys, cache } = controllerOf(world)
  const end = world.manager.add(controller)
  await turns(10)
  assert.deepEqual(keys, ['a', 'b'])
  const late = { ...controller, name: 'late', reconcile: controller.reconcile }
  world.manager.add(late)
  await turns(10)
  assert.deepEqual(keys, ['a', 'b', 'a', 'b'], 'a controller hears of what its cache holds already')
  await end()
  world.manager.dropCache(cache)
  await turns(10)
  cache.absorb(item('c', '11'))
  await turns(10)
  assert.deepEqual(keys.slice(4), ['c'], 'only the one that was not ended')
  await world.stop()
})

test('a process that does not lead follows everything, works on nothing, and its writes are refused', async () => {
  const world = setUp({ lease: { namespace: 'default', name: 'sample' } })
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sample'
  const held = {
    metadata: { name: 'sample', namespace: 'default', uid: 'l', resourceVersion: '1' },
    spec: { holderIdentity: 'other', leaseDurationSeconds: 15 },
  }
  world.script.on({ path, method: 'GET' }, { times: 1_000 }).answer(answers.ok(held))
  const { controller, keys, cache } = controllerOf(world)
  world.manager.add(controller)
  await world.start()
  assert.equal(cache.state, 'synced')
  assert.deepEqual(keys, [])
  const write = world.manager.client.create(widgets, item('c'), { fieldManager: 'sample' }, new AbortController().signal)
  await assert.rejects(write, LeadershipLost)
  assert.equal(world.script.sent({ method: 'POST' }).length, 0)
  await world.stop()
})

test('B27: on stop the pass in work ends, its events are sent, and only then the lease is given up', async () => {
  const world = setUp({ lease: { namespace: 'default', name: 'sample' } })
  const lease = freeLease(world)
  const order: string[] = []
  world.script.on({ method: 'POST' }, { times: 10 }).answer(async ({ body }) => {
    await turns(20)
    order.push(`event while ${lease.writes().at(-1) || 'nobody'} leads`)
    return answers.ok(body)
  })
  const { controller } = controllerOf(world, {
    async reconcile({ key, signal }) {
      if (key !== 'a') return settled
      await world.clock.sleep(5_000, signal)
      order.push('the pass ended')
      world.manager.events.record(item('a'), { type: 'Normal', reason: 'Done', action: 'Work', note: 'Done' })
      return settled
    },
  })
  world.manager.add(controller)
  await world.start()
  world.stopping.abort(new Error('the process stops'))
  await world.clock.advance(6_000)
  await world.running()
  assert.deepEqual(order, ['the pass ended', 'event while sample-1 leads'])
  assert.equal(lease.writes().at(-1), '')
  assert.equal(world.closed(), 1)
})

test('B27: a pass that does not end in time is cut off; one that ignores even that is left behind, and the process still ends', async () => {
  const world = setUp({ drainMs: 10_000, lease: { namespace: 'default', name: 'sample' } })
  const lease = freeLease(world)
  const cut: unknown[] = []
  const { controller } = controllerOf(world, {
    async reconcile({ key, signal }) {
      if (key === 'b') await new Promise(() => {})
      await world.clock.sleep(3_600_000, signal).catch((reason) => cut.push(reason))
      return settled
    },
  })
  world.manager.add(controller)
  await world.start()
  world.stopping.abort(new Error('the process stops'))
  await world.clock.advance(9_999)
  assert.equal(cut.length, 0)
  await world.clock.advance(1)
  assert.equal(cut.length, 1)
  assert.equal(lease.writes().at(-1), 'sample-1')
  await world.clock.advance(6_000)
  await world.running()
  assert.equal(lease.writes().at(-1), '')
})

test('a lost lease cuts the pass in work off at once; when the lease is won again, the key is done and writers start from nothing', async () => {
  const world = setUp({ lease: { namespace: 'default', name: 'sample' } })
  freeLease(world)
  let terms = 0
  world.manager.registry.add({ controller: 'sample', resource: 'widgets', verb: 'patch', manager: 'sample' }, () => {
    terms += 1
  })
  const cut: unknown[] = []
  let done = 0
  const { controller, cache } = controllerOf(world, {
    async reconcile({ key, signal }) {
      if (key === 'a' && cut.length === 0) {
        await world.clock.sleep(3_600_000, signal).catch((reason) => {
          cut.push(reason)
          throw reason
        })
      }
      done += 1
      return settled
    },
  })
  world.manager.add(controller)
  await world.start()
  assert.deepEqual([terms, done], [1, 1])
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sample'
  const refusal = world.script.on({ path, method: 'PATCH' }, { times: 1_000 }).answer({ status: 500, headers: {}, body: 'no' })
  await world.clock.advance(10_000)
  assert.ok(cut[0] instanceof LeadershipLost)
  assert.equal(world.manager.leads, false)
  cache.absorb(item('while-following', '11'))
  await turns(10)
  assert.equal(done, 1)
  refusal.remove()
  await world.clock.advance(5_000)
  assert.deepEqual([terms, done], [2, 3])
  await world.stop()
})

test('pages are served on every replica; readiness names what is missing', async () => {
  const world = setUp({ server: { port: 0 }, lease: { namespace: 'default', name: 'sample' } })
  const { controller } = controllerOf(world)
  world.manager.add({ ...controller, needs: [...controller.needs, { cache: world.manager.cache(gadgets) }] })
  const list = world.script.on({ path: pathOf(gadgets), where: ({ query }) => !query?.watch }, { times: 1_000 })
  const refusal = list.answer({ status: 500, headers: {}, body: 'no' })
  world.manager.health('own', () => undefined)
  const running = world.start()
  while (!world.manager.address) await turns(1)
  const { host, port } = world.manager.address
  const page = async (path: string) => (await fetch(`http://${host}:${port}${path}`)).text()
  assert.match(await page('/readyz'), /\[-\]caches failed: gadgets is starting/)
  assert.match(await page('/healthz'), /\[\+\]leader-election ok\n\[\+\]own ok/)
  refusal.remove()
  await world.clock.advance(11_000)
  assert.match(await page('/readyz'), /\[\+\]caches ok/)
  assert.match(await page('/metrics'), /leader_election_master_status\{name="sample"\} 0/)
  await running
  await world.stop()
  await assert.rejects(page('/healthz'))
})

test('a port that is taken ends the start, and nothing is left behind', async () => {
  const first = setUp({ server: { port: 0 } })
  await first.start()
  while (!first.manager.address) await turns(1)
  const second = setUp({ server: { port: first.manager.address.port } })
  await second.start()
  await assert.rejects(second.running(), { code: 'EADDRINUSE' })
  assert.equal(second.closed(), 1)
  assert.equal(second.clock.timers, 0)
  await first.stop()
})

test('the connection to another server takes no write either before the lease is held', async () => {
  const world = setUp({ lease: { namespace: 'default', name: 'sample' } })
  const other = scriptTransport(undefined, { clock: world.clock })
  other.on({ path: '/other' }, { times: 10 }).answer(answers.ok({}))
  const fenced = world.manager.fence(other)
  const write = () => fenced.send({ method: 'POST', path: '/other', body: {} }, world.stopping.signal)
  await assert.rejects(write(), LeadershipLost)
  assert.equal((await fenced.send({ method: 'GET', path: '/other' }, world.stopping.signal)).status, 200)
  freeLease(world)
  await world.start()
  assert.equal((await write()).status, 200)
  await world.stop()
  await assert.rejects(write())
  assert.equal(other.sent({ method: 'POST' }).length, 1)
})
