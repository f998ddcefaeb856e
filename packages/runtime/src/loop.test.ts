import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from './cache.ts'
import type { Controller, Pass } from './controller.ts'
import { LeadershipLost } from './fenced-transport.ts'
import { type Logger, silentLogger } from './log.ts'
import { createLoop, type LoopParts, type PassResult } from './loop.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { createMetrics } from './metrics.ts'
import { again, type Outcome, settled, waiting } from './outcome.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced, type WriteTarget } from './write-signals.ts'

const target: WriteTarget = { controller: 'sample', resource: 'widgets', verb: 'patch', key: 'default/a' }

/** A log that keeps its lines. */
function recordingLog() {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = []
  const make = (bindings: object): Logger => {
    const at =
      (level: string) =>
      (fields: object | string, message = '') =>
        typeof fields === 'string'
          ? lines.push({ level, fields: { ...bindings }, message: fields })
          : lines.push({ level, fields: { ...bindings, ...fields }, message })
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (more) => make({ ...bindings, ...more }),
    }
  }
  return { log: make({}), lines }
}

function setUp(
  reconcile: (pass: Pass, times: number) => Promise<Outcome> | Outcome,
  more: Partial<Controller> = {},
  parts: Partial<LoopParts> = {},
) {
  const clock = createManualClock()
  const metrics = createMetrics({ prefix: 'sample_', process: false })
  const { log, lines } = recordingLog()
  const passes = new Map<string, number>()
  const begun: { key: string; at: number }[] = []
  let enqueue: (key: string, options?: { urgent?: boolean; afterMs?: number }) => void = () => {}
  const controller: Controller = {
    name: 'sample',
    watches: [
      {
        subscribe(to) {
          enqueue = to
          return () => {
            enqueue = () => {}
          }
        },
      },
    ],
    needs: [],
    async reconcile(pass) {
      const times = (passes.get(pass.key) ?? 0) + 1
      passes.set(pass.key, times)
      begun.push({ key: pass.key, at: clock.monotonic() })
      return reconcile(pass, times)
    },
    ...more,
  }
  const loop = createLoop(controller, { clock, jitter: () => 1, log, metrics, ...parts })
  const stop = new AbortController()
  const kill = new AbortController()
  const running = loop.run(stop.signal, kill.signal)
  return {
    clock,
    loop,
    lines,
    begun,
    metrics,
    running,
    stop,
    kill,
    wake: (key: string, options?: { urgent?: boolean; afterMs?: number }) => enqueue(key, options),
    passes: (key: string) => passes.get(key) ?? 0,
    results: async () => {
      const { values } = (await metrics.registry.getSingleMetric('controller_runtime_reconcile_total')?.get()) ?? { values: [] }
      return Object.fromEntries(values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value]))
    },
    errors: async () => {
      const metric = await metrics.registry.getSingleMetric('controller_runtime_reconcile_errors_total')?.get()
      return metric?.values[0]?.value
    },
    async end() {
      kill.abort(new Error('the test is over'))
      stop.abort(new Error('the test is over'))
      await running
      loop.close()
    },
  }
}

const ends: {
  says: string
  first: () => Outcome
  result: PassResult
  errors: number
  level: string | undefined
  again: boolean
}[] = [
  { says: 'settled: nothing follows', first: () => settled, result: 'success', errors: 0, level: undefined, again: false },
  {
    says: 'waiting: nothing follows',
    first: () => waiting('a part'),
    result: 'success',
    errors: 0,
    level: 'debug',
    again: false,
  },
  {
    says: 'again: follows after its delay',
    first: () => again(500, 'no watch'),
    result: 'requeue_after',
    errors: 0,
    level: 'debug',
    again: true,
  },
  {
    says: 'a lost race: requeued, no error, said at debug only',
    first: () => {
      throw new WriteRaced(target, 'stale')
    },
    result: 'requeue',
    errors: 0,
    level: 'debug',
    again: true,
  },
  {
    says: 'a write that was held back: follows in a moment, no error, no race',
    first: () => {
      throw new WriteHeldBack(target, 500)
    },
    result: 'requeue_after',
    errors: 0,
    level: 'debug',
    again: true,
  },
  {
    says: 'deleted during the pass: a no-op',
    first: () => {
      throw new WriteGone(target, 'not-found')
    },
    result: 'success',
    errors: 0,
    level: 'debug',
    again: false,
  },
  {
    says: 'a kind that is not served: waits',
    first: () => {
      throw new KindUnserved(target)
    },
    result: 'success',
    errors: 0,
    level: 'debug',
    again: false,
  },
  {
    says: 'leadership lost: quiet, and the key stays queued',
    first: () => {
      throw new LeadershipLost()
    },
    result: 'requeue',
    errors: 0,
    level: 'debug',
    again: true,
  },
  {
    says: 'anything else: an error',
    first: () => {
      throw new Error('unexpected')
    },
    result: 'error',
    errors: 1,
    level: 'error',
    again: true,
  },
  {
    says: 'a delay that is no number: an error, and the key is not lost',
    first: () => again(Number.NaN, 'a bug'),
    result: 'error',
    errors: 1,
    level: 'error',
    again: true,
  },
]

for (const { says, first, result, errors, level, again: follows } of ends) {
  test(says, async () => {
    const world = setUp((_, times) => (times === 1 ? first() : settled))
    world.wake('default/a')
    await turns()
    assert.deepEqual(await world.results(), { [result]: 1 })
    assert.equal(await world.errors(), errors)
    assert.equal(world.lines[0]?.level, level)
    assert.ok(world.lines.every((line) => line.level === level))
    await world.clock.advance(60_000)
    assert.equal(world.passes('default/a'), follows ? 2 : 1)
    assert.deepEqual(world.loop.queue.held, { waiting: 0, working: 0, timers: 0, failing: 0 })
    await world.end()
  })
}

test('B29: six lost races in a row are retried within seconds, ever later, and forgotten on success', async () => {
  let races = 6
  const world = setUp(() => {
    if (races > 0) {
      races -= 1
      throw new WriteRaced(target, 'stale')
    }
    return settled
  })
  world.wake('default/a')
  await world.clock.advance(5_000)
  assert.equal(world.passes('default/a'), 7)
  const gaps = world.begun.map(({ at }) => at).flatMap((at, n, all) => (n === 0 ? [] : [at - (all[n - 1] ?? 0)]))
  assert.deepEqual(gaps, [20, 40, 80, 160, 320, 640])
  assert.equal(await world.errors(), 0)
  assert.ok(world.lines.every(({ level }) => level === 'debug'))
  await world.clock.advance(3_600_000)
  races = 1
  world.wake('default/a')
  await world.clock.advance(20)
  assert.equal(world.passes('default/a'), 9, 'the later race starts from the shortest delay')
  await world.end()
})

test('B25: a key that always fails is tried ever less, never more often than its cap allows', async () => {
  const world = setUp(() => {
    throw new Error('always')
  })
  world.wake('a')
  await world.clock.advance(10 * 60_000)
  const before = world.passes('a')
  await world.clock.advance(60_000)
  assert.equal(world.passes('a') - before, 2)
  assert.equal(await world.errors(), world.passes('a'))
  await world.end()
})

test('B30: one pass of a key at a time, many keys at once up to the number of workers', async () => {
  let now = 0
  let most = 0
  const perKey = new Map<string, number>()
  const world = setUp(
    async ({ key, signal }) => {
      now += 1
      most = Math.max(most, now)
      assert.equal(perKey.get(key) ?? 0, 0, 'two passes of one key')
      perKey.set(key, 1)
      await world.clock.sleep(100, signal)
      perKey.set(key, 0)
      now -= 1
      return settled
    },
    { workers: 4 },
  )
  for (let n = 0; n < 10; n += 1) world.wake(`k${n}`)
  await world.clock.advance(50)
  for (let n = 0; n < 10; n += 1) world.wake(`k${n}`)
  await world.clock.advance(5_000)
  assert.equal(most, 4)
  assert.equal(world.passes('k0'), 2)
  assert.equal(world.passes('k9'), 1, 'it waited when the second request came')
  await world.end()
})

test('a pass that takes too long is aborted and counts as an error', async () => {
  const world = setUp(
    async ({ signal }, times) => {
      if (times === 1) await world.clock.sleep(3_600_000, signal)
      return settled
    },
    {},
    { passLimitMs: 1_000 },
  )
  world.wake('a')
  await world.clock.advance(2_000)
  assert.deepEqual(await world.results(), { error: 1, success: 1 })
  assert.match(String(world.lines[0]?.fields.err), /longer than 1000 ms/)
  await world.end()
})

test('B27: stopping takes no new key, lets the pass in work end, then resolves', async () => {
  const world = setUp(async ({ key, signal }) => {
    if (key === 'slow') await world.clock.sleep(5_000, signal)
    return settled
  })
  world.wake('slow')
  await turns()
  world.stop.abort(new Error('the process stops'))
  world.wake('late')
  let over = false
  void world.running.then(() => {
    over = true
  })
  await world.clock.advance(4_999)
  assert.equal(over, false)
  await world.clock.advance(1)
  assert.equal(over, true)
  assert.equal(world.passes('late'), 0)
  assert.deepEqual(await world.results(), { success: 1 })
  await world.end()
})

test('B27: a pass that does not end in time is cut off, quietly', async () => {
  const world = setUp(async ({ signal }) => {
    await world.clock.sleep(3_600_000, signal)
    return settled
  })
  world.wake('slow')
  await turns()
  world.stop.abort(new Error('the process stops'))
  world.kill.abort(new Error('the time to finish is over'))
  await world.running
  assert.equal(await world.errors(), 0)
  assert.ok(world.lines.every(({ level }) => level === 'debug'))
  await world.end()
})

test('a loop that ran before goes on where it was, as after a lost and regained lease', async () => {
  const world = setUp(async ({ key, signal }, times) => {
    if (key === 'slow' && times === 1) await world.clock.sleep(3_600_000, signal)
    return settled
  })
  world.wake('slow')
  await turns()
  world.kill.abort(new LeadershipLost())
  world.stop.abort(new LeadershipLost())
  await world.running
  world.wake('while-following')
  const stop = new AbortController()
  const second = world.loop.run(stop.signal, stop.signal)
  await world.clock.advance(2_000)
  assert.equal(world.passes('slow'), 2)
  assert.equal(world.passes('while-following'), 1)
  stop.abort(new Error('the test is over'))
  await second
  await world.end()
})

test('no pass begins before the caches it needs are ready', async () => {
  const gate = Promise.withResolvers<void>()
  const cache = { ready: () => gate.promise, get: () => undefined } as unknown as Cache
  const world = setUp(() => settled, { needs: [{ cache }] })
  world.wake('a')
  await turns()
  assert.equal(world.passes('a'), 0)
  gate.resolve()
  await turns()
  assert.equal(world.passes('a'), 1)
  await world.end()
})

test('B31: two thousand keys that fail once and then are gone leave no state and no new series', async () => {
  const objects = new Set<string>()
  const state = new Map<string, number>()
  const cache = { ready: async () => {}, get: (key: string) => (objects.has(key) ? {} : undefined) } as unknown as Cache
  const world = setUp(
    ({ key }, times) => {
      if (times === 1) {
        state.set(key, 1)
        throw new Error('fails once')
      }
      return settled
    },
    { primary: cache, forget: (key) => state.delete(key) },
    { log: silentLogger },
  )
  world.wake('first')
  await world.clock.advance(1_000)
  const lines = async () => (await world.metrics.page()).split('\n').length
  const before = await lines()
  for (let n = 0; n < 2_000; n += 1) {
    objects.add(`k${n}`)
    world.wake(`k${n}`)
  }
  await world.clock.advance(0)
  objects.clear()
  while (world.loop.queue.held.timers + world.loop.queue.held.waiting > 0) await world.clock.advance(1_000)
  assert.equal(state.size, 0)
  assert.deepEqual(world.loop.queue.held, { waiting: 0, working: 0, timers: 0, failing: 0 })
  assert.equal(await lines(), before)
  await world.end()
})

test('B21: a `forget` that throws, and a watch that asks for an impossible delay, are faults like any other', async () => {
  const cache = { ready: async () => {}, get: () => undefined } as unknown as Cache
  let forgets = 0
  const world = setUp(() => settled, {
    primary: cache,
    forget() {
      forgets += 1
      if (forgets === 1) throw new Error('a broken forget')
    },
  })
  world.wake('a', { afterMs: Number.NaN })
  await world.clock.advance(1_000)
  assert.equal(world.passes('a'), 2)
  assert.equal(await world.errors(), 1)
  await world.end()
})

test('the log of a pass names controller, object and the pass', async () => {
  const world = setUp(() => waiting('something'), {}, { newId: () => 'pass-1' })
  world.wake('default/a')
  await turns()
  assert.deepEqual(world.lines[0]?.fields, {
    controller: 'sample',
    namespace: 'default',
    name: 'a',
    reconcileID: 'pass-1',
    on: 'something',
  })
  await world.end()
})

test('metrics carry the names that dashboards of controller-runtime ask for', async () => {
  const world = setUp(() => settled)
  world.wake('a')
  await turns()
  const page = await world.metrics.page()
  for (const line of [
    'controller_runtime_reconcile_total{controller="sample",result="success"} 1',
    'controller_runtime_reconcile_errors_total{controller="sample"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="sample"} 32',
    'controller_runtime_active_workers{controller="sample"} 0',
    'controller_runtime_reconcile_time_seconds_count{controller="sample"} 1',
    'workqueue_adds_total{name="sample",controller="sample"} 1',
    'workqueue_depth{name="sample",controller="sample"} 0',
    'workqueue_retries_total{name="sample",controller="sample"} 0',
    'workqueue_queue_duration_seconds_count{name="sample",controller="sample"} 1',
    'workqueue_work_duration_seconds_count{name="sample",controller="sample"} 1',
    'workqueue_unfinished_work_seconds{name="sample",controller="sample"} 0',
    'workqueue_longest_running_processor_seconds{name="sample",controller="sample"} 0',
  ]) {
    assert.ok(page.includes(line), line)
  }
  await world.end()
})
