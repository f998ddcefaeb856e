import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from './http-client.ts'
import { createElector } from './leader-election.ts'
import { type LeaseSpec, leaseKind } from './lease-record.ts'
import { silentLogger } from './log.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { parseTime } from './micro-time.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import type { ApiRequest } from './transport.ts'

const at = { namespace: 'default', name: 'sample' }
const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/sample'

function lease(version: string, spec: LeaseSpec) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...at, uid: 'lease-1', resourceVersion: version },
    spec,
  }
}

/** The spec that a patch sets. */
function specOf({ body }: ApiRequest): LeaseSpec {
  return (body as { path: string; value: LeaseSpec }[]).find((each) => each.path === '/spec')?.value ?? {}
}

function setUp(options: { identity?: string; termMs?: number } = {}) {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  const failures: string[] = []
  const status: boolean[] = []
  const elector = createElector({
    client: createClient(script, { clock, jitter: () => 0, retryForMs: 0 }),
    clock,
    jitter: () => 0,
    log: silentLogger,
    metrics: { leads: (_, yes) => status.push(yes), failed: (name) => failures.push(name) },
    lease: at,
    identity: options.identity ?? 'us',
    fieldManager: 'sample',
    ...(options.termMs ? { termMs: options.termMs, renewDeadlineMs: options.termMs * 0.6, retryMs: options.termMs / 10 } : {}),
  })
  const stop = new AbortController()
  const terms: AbortSignal[] = []
  let finish = () => {}
  let running = Promise.resolve()
  return {
    clock,
    script,
    elector,
    failures,
    status,
    terms,
    /** Every read shows this lease until told otherwise. */
    shows(spec: LeaseSpec, version = '10') {
      return script.on({ method: 'GET', path }, { times: 10_000 }).answer(answers.ok(lease(version, spec)))
    },
    /** Every write is taken. */
    accepts(times = 10_000) {
      let version = 100
      return script.on({ method: 'PATCH', path }, { times }).answer((request) => {
        version += 1
        return answers.ok(lease(String(version), specOf(request)))
      })
    },
    writes: () => script.sent({ method: 'PATCH' }).map(({ request }) => specOf(request)),
    /** Campaigns; as leader works until the lease is lost or the process stops, or, if it works on, until `finish` is called. */
    start(worksOn = false) {
      running = elector.run(stop.signal, async (lost) => {
        terms.push(lost)
        await new Promise<void>((resolve) => {
          finish = resolve
          if (worksOn) return
          lost.addEventListener('abort', () => resolve(), { once: true })
          stop.signal.addEventListener('abort', () => resolve(), { once: true })
        })
      })
      return turns()
    },
    finish: () => finish(),
    async end() {
      stop.abort(new Error('the process stops'))
      await turns()
      return running
    },
    stop,
  }
}

const free: LeaseSpec = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4 }

test('a free lease is taken with six-digit times and one transition more, and released with a valid body', async () => {
  const world = setUp()
  world.shows(free)
  world.accepts()
  assert.equal(world.elector.mayWrite(), false)
  await world.start()
  assert.equal(world.elector.mayWrite(), true)
  assert.equal(world.elector.holder, 'us')
  const [taken] = world.writes()
  assert.match(taken?.renewTime ?? '', /\.\d{6}Z$/)
  assert.match(taken?.acquireTime ?? '', /\.\d{6}Z$/)
  assert.equal(taken?.leaseTransitions, 5)
  assert.equal(taken?.leaseDurationSeconds, 15)
  await world.end()
  const released = world.writes().at(-1)
  assert.equal(released?.holderIdentity, '')
  assert.equal(released?.leaseDurationSeconds, 1, 'a duration of 0 would be refused')
  assert.equal(world.elector.mayWrite(), false)
  assert.deepEqual(world.status, [false, true, false])
  assert.equal(world.clock.timers, 0)
})

test('a missing lease is created', async () => {
  const world = setUp()
  world.script.on({ method: 'GET', path }).answer(
    statusAnswer(404, 'NotFound', 'leases.coordination.k8s.io "sample" not found', {
      name: 'sample',
      group: 'coordination.k8s.io',
      kind: 'leases',
    }),
  )
  world.script.on({ method: 'POST' }).answer(({ body }) => answers.ok(lease('1', (body as { spec: LeaseSpec }).spec)))
  world.accepts()
  await world.start()
  assert.equal(world.elector.mayWrite(), true)
  await world.end()
})

test('B28: a lease that keeps changing is never taken, whatever the clocks say', async () => {
  for (const shift of [60_000, -60_000]) {
    const world = setUp({ termMs: 10_000 })
    world.accepts()
    await world.start()
    for (let n = 0; n < 60; n += 1) {
      const renewTime = new Date(Date.UTC(2020, 0, 1, 0, 0, n)).toISOString().replace('.000Z', 'Z')
      world.shows({ holderIdentity: 'other', leaseDurationSeconds: 30, renewTime }, String(n))
      if (n === 30) world.clock.shiftWall(shift)
      await world.clock.advance(2_000)
    }
    assert.deepEqual(world.writes(), [])
    await world.end()
  }
})

test("B28: a lease that stands still is taken after its holder's own term, not after ours, and a jump of the wall clock is no time", async () => {
  const world = setUp({ termMs: 10_000 })
  world.shows({ holderIdentity: 'other', leaseDurationSeconds: 30, renewTime: '2020-01-01T00:00:00Z', leaseTransitions: 1 })
  world.accepts()
  await world.start()
  world.clock.shiftWall(3_600_000)
  await world.clock.advance(29_000)
  assert.deepEqual(world.writes(), [])
  await world.clock.advance(2_500)
  assert.equal(world.writes()[0]?.holderIdentity, 'us')
  assert.equal(world.writes()[0]?.leaseTransitions, 2)
  await world.end()
})

for (const renewTime of ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5+02:00']) {
  test(`B26: a foreign lease renewed at ${renewTime} is understood`, async () => {
    assert.ok(parseTime(renewTime))
    const world = setUp()
    world.shows({ holderIdentity: 'other', leaseDurationSeconds: 3, renewTime })
    world.accepts()
    await world.start()
    assert.equal(world.elector.holder, 'other')
    await world.clock.advance(8_000)
    assert.equal(world.elector.holder, 'us')
    await world.end()
  })
}

test('B26: an elector whose writes are refused shows in health and metrics', async () => {
  const world = setUp()
  world.shows(free)
  world.script
    .on({ method: 'PATCH', path }, { times: 10_000 })
    .answer(statusAnswer(422, 'Invalid', 'spec.renewTime: Invalid value', { causes: [{ field: 'spec.renewTime' }] }))
  await world.start()
  await world.clock.advance(20_000)
  assert.equal(world.elector.problem(), undefined, 'not for a short trouble')
  await world.clock.advance(20_000)
  assert.match(world.elector.problem() ?? '', /lease.*Invalid value/)
  assert.ok(world.failures.length > 10)
  assert.equal(world.elector.mayWrite(), false)
  await world.end()
})

test('B21: a lease that cannot be read is tried again; nothing is rejected without an owner, and health says so meanwhile', async () => {
  const unowned: unknown[] = []
  const record = (error: unknown) => unowned.push(error)
  process.on('unhandledRejection', record)
  const world = setUp()
  const broken = world.script.on({ path }, { times: 10_000 }).answer(statusAnswer(500, 'InternalError', 'etcd is away'))
  await world.start()
  await world.clock.advance(60_000)
  assert.match(world.elector.problem() ?? '', /etcd is away/)
  broken.remove()
  world.shows(free)
  world.accepts()
  await world.clock.advance(3_000)
  assert.equal(world.elector.mayWrite(), true)
  assert.equal(world.elector.problem(), undefined)
  process.off('unhandledRejection', record)
  assert.deepEqual(unowned, [])
  await world.end()
})

test('past the renew deadline nothing may be written, even before anyone notices; then the term ends and a new campaign begins', async () => {
  const world = setUp()
  world.shows(free)
  const taken = world.accepts(1)
  const silence = world.script.on({ method: 'PATCH', path }, { skip: 1, times: 10_000 })
  const held = silence.hold()
  await world.start()
  assert.equal(taken.count, 1)
  await world.clock.advance(9_999)
  assert.equal(world.elector.mayWrite(), true)
  assert.equal(world.terms[0]?.aborted, false)
  await world.clock.advance(1)
  assert.equal(world.elector.mayWrite(), false)
  assert.equal(world.terms[0]?.aborted, true)
  held.remove()
  world.accepts()
  await world.clock.advance(5_000)
  assert.equal(world.terms.length, 2, 'it campaigns again')
  assert.equal(world.elector.mayWrite(), true)
  await world.end()
})

test('a process that was frozen past its deadline may not write in the moment it wakes up', async () => {
  const world = setUp()
  world.shows(free)
  world.accepts()
  await world.start()
  world.clock.freeze(9_999)
  assert.equal(world.elector.mayWrite(), true)
  world.clock.freeze(1)
  assert.equal(world.elector.mayWrite(), false)
  assert.equal(world.terms[0]?.aborted, false, 'nobody has noticed yet')
  await world.clock.advance(0)
  assert.equal(world.terms[0]?.aborted, true)
  await world.end()
})

test('a renewal whose test fails because another process leads ends the term at once, and takes nothing from it', async () => {
  const world = setUp()
  const first = world.shows(free)
  const accepting = world.accepts()
  await world.start(true)
  first.remove()
  accepting.remove()
  world.shows({ holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' }, '500')
  world.script
    .on({ method: 'PATCH', path }, { times: 100 })
    .answer(statusAnswer(422, 'Invalid', 'the server rejected our request due to an error in our request', {}))
  await world.clock.advance(2_100)
  assert.equal(world.terms[0]?.aborted, true)
  assert.equal(world.elector.mayWrite(), false, 'although the work has not ended yet')
  world.finish()
  const writes = world.writes().length
  await world.clock.advance(10_000)
  assert.equal(world.writes().length, writes, 'a lost lease is not released')
  await world.end()
})

test('a renewal whose answer was lost is found to be ours', async () => {
  const world = setUp()
  const first = world.shows(free)
  const accepting = world.accepts()
  await world.start()
  first.remove()
  accepting.remove()
  world.shows({ holderIdentity: 'us', leaseDurationSeconds: 15, renewTime: '2030-01-01T00:00:01.000000Z' }, '500')
  world.accepts()
  world.script
    .on({ method: 'PATCH', path })
    .answer(statusAnswer(422, 'Invalid', 'the server rejected our request due to an error in our request', {}))
  await world.clock.advance(60_000)
  assert.equal(world.terms.length, 1)
  assert.equal(world.elector.mayWrite(), true)
  await world.end()
})

test('B27: the lease is kept while work is still ending, and given up only afterwards', async () => {
  const world = setUp()
  world.shows(free)
  world.accepts()
  await world.start(true)
  world.stop.abort(new Error('the process stops'))
  await world.clock.advance(5_000)
  assert.ok(world.writes().every(({ holderIdentity }) => holderIdentity === 'us'))
  assert.ok(world.writes().length >= 3, 'it is renewed meanwhile')
  assert.equal(world.elector.mayWrite(), true, 'the work may still write')
  world.finish()
  await world.end()
  assert.equal(world.writes().at(-1)?.holderIdentity, '')
})

test('two processes that both see a free lease: the one that was not first goes on following', async () => {
  const world = setUp()
  world.shows(free)
  world.script.on({ method: 'PATCH', path }).answer(statusAnswer(409, 'Conflict', 'the object has been modified'))
  await world.start()
  assert.equal(world.elector.mayWrite(), false)
  assert.deepEqual(world.failures, [])
  await world.end()
})

test('settings that could let two processes write are refused', () => {
  const clock = createManualClock()
  const client = createClient(scriptTransport(), { clock, jitter: () => 0 })
  const common = { client, clock, jitter: () => 0, log: silentLogger, lease: at, identity: 'us', fieldManager: 'sample' }
  assert.throws(() => createElector({ ...common, termMs: 10_000, renewDeadlineMs: 10_000 }), RangeError)
  assert.throws(() => createElector({ ...common, retryMs: 10_000 }), RangeError)
  assert.equal(leaseKind.plural, 'leases')
})
