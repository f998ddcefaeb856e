import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from 'kube-control-loop'
import { type Running, supervise } from './supervise.ts'

/** A clock whose sleeps end at once and are noted; `passes` moves it. */
function fastClock() {
  let now = 0
  const sleeps: number[] = []
  const clock: Clock = {
    now: () => new Date(now),
    monotonic: () => now,
    async sleep(ms, signal) {
      signal.throwIfAborted()
      sleeps.push(ms)
      now += ms
    },
    after: () => () => {},
  }
  return { clock, sleeps, passes: (ms: number) => (now += ms) }
}

type Body = Running & { die(how: string): void; readonly stopped: boolean }

function body(): Body {
  const end = Promise.withResolvers<string>()
  let stopped = false
  return {
    ended: end.promise,
    die: end.resolve,
    get stopped() {
      return stopped
    },
    async stop() {
      stopped = true
      end.resolve('stopped')
    },
  }
}

/** Parts in the order in which they were started; a start that meets a string fails with it. */
function world(bodies: (Body | string)[]) {
  const log: string[] = []
  const waiting: { count: number; reached: () => void }[] = []
  let started = 0
  const start = async () => {
    const next = bodies[started++]
    for (const { count, reached } of waiting) if (count <= started) reached()
    if (typeof next === 'string') throw new Error(next)
    return next ?? body()
  }
  const hasStarted = (count: number) =>
    new Promise<void>((reached) => {
      if (started >= count) reached()
      else waiting.push({ count, reached })
    })
  return { log, start, hasStarted, tell: (line: string) => void log.push(line) }
}

const never = () => new AbortController().signal

test('until it is to heal, the end of a part is told once and for all', async () => {
  const part = body()
  const { start, tell } = world([part])
  const kept = await supervise({ name: 'x', start, signal: never(), clock: fastClock().clock, log: tell })
  part.die('x fell over')
  assert.equal(await kept.failed, 'x fell over')
})

test('a part that dies again and again is started again after growing delays, up to a minute', async () => {
  const bodies = Array.from({ length: 9 }, body)
  const { clock, sleeps } = fastClock()
  const { start, hasStarted, tell } = world(bodies)
  const kept = await supervise({ name: 'x', start, signal: never(), clock, log: tell })
  kept.healFromNowOn()
  for (const [index, one] of bodies.slice(0, 8).entries()) {
    one.die('died')
    await hasStarted(index + 2)
  }
  assert.deepEqual(sleeps, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  await kept.stop()
})

test('a start that fails is told and tried again', async () => {
  const [first, last] = [body(), body()]
  const { clock, sleeps } = fastClock()
  const { start, hasStarted, log, tell } = world([first, 'no luck', last])
  const kept = await supervise({ name: 'x', start, signal: never(), clock, log: tell })
  kept.healFromNowOn()
  first.die('x was killed')
  await hasStarted(3)
  assert.deepEqual(sleeps, [1000, 2000])
  assert.deepEqual(log, ['x was killed', 'starting x again in 1 s', 'no luck', 'starting x again in 2 s'])
  await kept.stop()
  assert.ok(kept.current === last || last.stopped)
})

test('after a minute of health the first delay is short again', async () => {
  const bodies = [body(), body(), body()]
  const { clock, sleeps, passes } = fastClock()
  const { start, hasStarted, tell } = world(bodies)
  const kept = await supervise({ name: 'x', start, signal: never(), clock, log: tell })
  kept.healFromNowOn()
  bodies[0]?.die('died')
  await hasStarted(2)
  // The supervisor looks at its clock when it watches the new one.
  while (kept.current !== bodies[1]) await Promise.resolve()
  await new Promise(setImmediate)
  passes(60_000)
  bodies[1]?.die('died')
  await hasStarted(3)
  assert.deepEqual(sleeps, [1000, 1000])
  await kept.stop()
})

test('a stop while it is being started again ends what comes up then', async () => {
  const [first, second] = [body(), body()]
  const gate = Promise.withResolvers<void>()
  const { clock } = fastClock()
  const begun = Promise.withResolvers<void>()
  let starts = 0
  const start = async () => {
    if (starts++ === 0) return first
    begun.resolve()
    await gate.promise
    return second
  }
  const kept = await supervise({ name: 'x', start, signal: never(), clock, log: () => {} })
  kept.healFromNowOn()
  first.die('died')
  await begun.promise
  const stopping = kept.stop()
  gate.resolve()
  await stopping
  assert.ok(second.stopped)
})
