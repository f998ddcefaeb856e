import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import type { Cache } from './cache.ts'
import type { Controller, Pass } from './controller.ts'
import { createLoop, type LoopParts, runController } from './loop.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { createMetrics } from './metrics.ts'
import { again, type Outcome, settled, waiting } from './outcome.ts'
import { createRecordingLog } from './recording-log.ts'
import { KindUnserved, WriteGone, WriteRaced, type WriteTarget } from './write-signals.ts'

const target: WriteTarget = { controller: 'sample', resource: 'widgets', verb: 'patch', key: 'a' }
const over = new Error('the test is over')

/** A loop without metrics unless they are given, whose passes are told apart by their number. */
function setUp(
  reconcile: (pass: Pass, times: number) => Promise<Outcome> | Outcome,
  more: Partial<Controller> = {},
  parts: Partial<LoopParts> = {},
) {
  const clock = createManualClock()
  const { log, lines } = createRecordingLog()
  const begun: { key: string; at: number }[] = []
  let enqueue: Parameters<Controller['watches'][number]['subscribe']>[0] | undefined
  const controller: Controller = {
    name: 'sample',
    watches: [
      {
        subscribe(to) {
          enqueue = to
          return () => {
            enqueue = undefined
          }
        },
      },
    ],
    needs: [],
    async reconcile(pass) {
      begun.push({ key: pass.key, at: clock.monotonic() })
      return reconcile(pass, begun.length)
    },
    ...more,
  }
  const all: LoopParts = { clock, jitter: () => 1, log, ...parts }
  const wake = (key: string, options?: { urgent?: boolean; afterMs?: number }) => enqueue?.(key, options)
  return { clock, lines, begun, controller, parts: all, wake, isWatching: () => enqueue !== undefined }
}

function run(world: ReturnType<typeof setUp>) {
  const loop = createLoop(world.controller, world.parts)
  const stop = new AbortController()
  const kill = new AbortController()
  const running = loop.run(stop.signal, kill.signal)
  const end = async () => {
    kill.abort(over)
    stop.abort(over)
    await running
    loop.close()
  }
  return { loop, stop, kill, running, end }
}

const cacheOf = (objects: ReadonlySet<string>) =>
  ({ ready: async () => {}, get: (key: string) => (objects.has(key) ? {} : undefined) }) as unknown as Cache

test('a controller that is run works until it is stopped, and lets go of its watches', async () => {
  const world = setUp(() => settled)
  const stop = new AbortController()
  const running = runController(world.controller, world.parts, stop.signal)
  world.wake('a')
  await turns()
  assert.equal(world.begun.length, 1)
  assert.equal(world.isWatching(), true)
  stop.abort(over)
  await running
  assert.equal(world.isWatching(), false)
})

test('a closed loop holds no key and no timer', async () => {
  const world = setUp(() => settled)
  const { loop } = run(world)
  world.wake('a', { afterMs: 1_000 })
  assert.equal(loop.queue.held.timers, 1)
  loop.close()
  assert.deepEqual([loop.queue.held.timers, world.clock.timers, world.isWatching()], [0, 0, false])
})

test('a pass leaves neither a timer nor a listener', async () => {
  const world = setUp(() => settled)
  const { kill, end } = run(world)
  world.wake('a')
  await turns()
  assert.equal(world.begun.length, 1)
  assert.deepEqual([world.clock.timers, getEventListeners(kill.signal, 'abort').length], [0, 0])
  await end()
})

test('a cache that cannot be filled is the end of the run; a run that is stopped before has none', async () => {
  for (const isStopped of [false, true]) {
    const broken = new Error('cannot be filled')
    const gate = Promise.withResolvers<void>()
    const cache = { ready: () => gate.promise, get: () => undefined } as unknown as Cache
    const { running, stop } = run(setUp(() => settled, { needs: [{ cache }] }))
    if (isStopped) stop.abort(over)
    gate.reject(broken)
    if (isStopped) await running
    else await assert.rejects(running, broken)
  }
})

test('only a cache of a kind that may be absent is not waited for when it is', async () => {
  const absent = {
    ready: (_: AbortSignal, options: { orUnserved?: boolean }) =>
      options.orUnserved ? Promise.resolve() : new Promise(() => {}),
    get: () => undefined,
  } as unknown as Cache
  for (const optional of [true, false]) {
    const world = setUp(() => settled, { needs: [{ cache: absent, optional }] })
    run(world)
    world.wake('a')
    await turns()
    assert.equal(world.begun.length, optional ? 1 : 0)
  }
})

const endings: { says: string; stands: boolean; wakes?: boolean; ends: () => Outcome; forgotten: number }[] = [
  { says: 'settled, and the object stands', stands: true, ends: () => settled, forgotten: 0 },
  { says: 'settled, and the object is gone', stands: false, ends: () => settled, forgotten: 1 },
  { says: 'settled and gone, but something came meanwhile', stands: false, wakes: true, ends: () => settled, forgotten: 0 },
  {
    says: 'gone during the pass',
    stands: false,
    ends: () => {
      throw new WriteGone(target, 'not-found')
    },
    forgotten: 1,
  },
  { says: 'waiting', stands: false, ends: () => waiting('a part'), forgotten: 0 },
]
for (const { says, stands, wakes = false, ends, forgotten } of endings) {
  test(`what a controller keeps of a key is forgotten ${forgotten} times: ${says}`, async () => {
    const kept: string[] = []
    const world = setUp(
      ({ key }, times) => {
        if (times > 1) return waiting('the second pass')
        if (wakes) world.wake(key)
        return ends()
      },
      { primary: cacheOf(new Set(stands ? ['a'] : [])), forget: (key) => kept.push(key) },
    )
    const { end } = run(world)
    world.wake('a')
    await turns()
    assert.deepEqual(kept, forgotten === 1 ? ['a'] : [])
    await end()
  })
}

test('a controller without a primary cache, and one that keeps nothing, have nothing to forget', async () => {
  for (const more of [{ forget: () => assert.fail('of what?') }, { primary: cacheOf(new Set()) }]) {
    const world = setUp(() => settled, more)
    const { end } = run(world)
    world.wake('a')
    await turns()
    assert.deepEqual(world.lines, [])
    await end()
  }
})

const race = () => {
  throw new WriteRaced(target, 'stale')
}
const good: { says: string; ends: () => Outcome }[] = [
  { says: 'settled', ends: () => settled },
  { says: 'waiting', ends: () => waiting('a part') },
  { says: 'again', ends: () => again(1_000, 'no watch') },
]
for (const { says, ends } of good) {
  test(`after a pass that ends as ${says} a lost race is retried from the shortest delay`, async () => {
    const world = setUp((_, times) => (times === 3 ? ends() : times === 5 ? settled : race()))
    const { end } = run(world)
    world.wake('a')
    await world.clock.advance(500)
    world.wake('a')
    await world.clock.advance(19)
    assert.equal(world.begun.length, 4)
    await world.clock.advance(1)
    assert.equal(world.begun.length, 5)
    await end()
  })
}

for (const { says, fails } of [
  { says: 'lost a race', fails: race },
  {
    says: 'failed',
    fails: () => {
      throw new Error('fails')
    },
  },
]) {
  test(`an urgent key that ${says} is urgent again`, async () => {
    const world = setUp(
      async ({ key, signal }, times) => {
        if (key === 'busy') await world.clock.sleep(100, signal)
        return key === 'urgent' && times === 1 ? fails() : settled
      },
      { workers: 1 },
    )
    const { end } = run(world)
    world.wake('urgent', { urgent: true })
    await turns()
    world.wake('busy')
    await turns()
    world.wake('calm')
    await world.clock.advance(100)
    assert.deepEqual(
      world.begun.map(({ key }) => key),
      ['urgent', 'busy', 'urgent', 'calm'],
    )
    await end()
  })
}

test('a pass that took too long is told as that, whatever it made of the abort', async () => {
  const made = new Error('what it made of it')
  const world = setUp(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(made))))
  const { end } = run(world)
  world.wake('a')
  await world.clock.advance(60_000)
  const error = world.lines[0]?.fields.err as Error
  assert.deepEqual([error.name, error.cause], ['PassTooLong', made])
  await end()
})

test('the time of a pass is told in seconds', async () => {
  const metrics = createMetrics({ prefix: 'sample_', process: false })
  const world = setUp(
    async ({ signal }) => {
      await world.clock.sleep(2_500, signal)
      return settled
    },
    {},
    { metrics },
  )
  const { end } = run(world)
  await world.clock.advance(7_000)
  world.wake('a')
  await world.clock.advance(2_500)
  assert.ok((await metrics.page()).includes('controller_runtime_reconcile_time_seconds_sum{controller="sample"} 2.5'))
  await end()
})

test('each pass has a name of its own in the log', async () => {
  const world = setUp(() => waiting('a part'))
  const { end } = run(world)
  world.wake('a')
  world.wake('b')
  await turns()
  const names = new Set(world.lines.map(({ fields }) => fields.reconcileID))
  assert.equal(names.size, 2)
  assert.ok(![...names].includes(undefined))
  await end()
})

test('a watch that asks for an impossible delay is named by its key', async () => {
  const world = setUp(() => settled)
  const { end } = run(world)
  world.wake('default/a', { afterMs: Number.NaN })
  assert.equal(world.lines[0]?.fields.key, 'default/a')
  assert.ok(world.lines[0]?.fields.err instanceof RangeError)
  await end()
})

const gone = new WriteGone(target, 'not-found')
const unserved = new KindUnserved(target)
const said: { says: string; ends: () => Outcome; fields: Record<string, unknown> }[] = [
  { says: 'waiting', ends: () => waiting('a part'), fields: { on: 'a part' } },
  {
    says: 'waiting: a kind is not served',
    ends: () => {
      throw unserved
    },
    fields: { err: unserved },
  },
  { says: 'again', ends: () => again(500, 'no watch'), fields: { afterMs: 500, because: 'no watch' } },
  {
    says: 'deleted during the pass',
    ends: () => {
      throw gone
    },
    fields: { err: gone },
  },
]
for (const { says, ends, fields } of said) {
  test(`the log says of a pass: ${says}, and why`, async () => {
    const world = setUp(ends, {}, { newId: () => 'p1' })
    const { end } = run(world)
    world.wake('default/a')
    await turns()
    const bindings = { controller: 'sample', namespace: 'default', name: 'a', reconcileID: 'p1' }
    assert.deepEqual(world.lines[0], { level: 'debug', fields: { ...bindings, ...fields }, message: says })
    await end()
  })
}
