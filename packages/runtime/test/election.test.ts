/** Replicas that share one Lease on the real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, createElector, createManager, leaseKind, settled, silentLogger, systemClock, watch } from 'kube-control-loop'
import { readAudit, tailAudit } from 'kube-localplane'
import { eventually, installManifests, sharedPlane, testNamespace } from 'kube-localplane/testing'
import { background, openClient, openTransport, Widget, widget, widgetCrd } from './widget.ts'

const plane = await sharedPlane()
await installManifests(plane, [widgetCrd])
const signal = AbortSignal.timeout(120_000)
const transport = openTransport(plane.kubeconfigPath, 'election-tests')
const client = openClient(transport)
const by = { fieldManager: 'tests' }
test.after(() => transport.close())

function shifted(ms: number): Clock {
  return { ...systemClock, now: () => new Date(Date.now() + ms) }
}

type Options = { identity: string; clock?: Clock; termMs?: number; onLead?: (lost: AbortSignal) => void }

/** An elector that leads until it is stopped. */
function replica(namespace: string, { identity, clock = systemClock, termMs = 3_000, onLead }: Options) {
  const lease = { namespace, name: 'sample' }
  const terms = { renewDeadlineMs: termMs * 0.6, retryMs: termMs / 6, termMs }
  const elector = createElector({
    client,
    clock,
    jitter: Math.random,
    log: silentLogger,
    lease,
    identity,
    fieldManager: 'sample',
    ...terms,
  })
  const running = background((until) =>
    elector.run(until, (lost) => {
      onLead?.(lost)
      return new Promise((resolve) => {
        for (const each of [lost, until]) each.addEventListener('abort', () => resolve(), { once: true })
      })
    }),
  )
  return { elector, stop: running.stop, [Symbol.asyncDispose]: running.stop }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('B26: of three replicas exactly one leads, within a retry period', async () => {
  await using namespace = await testNamespace(plane, 'election')
  await using a = replica(namespace.name, { identity: 'a' })
  await using b = replica(namespace.name, { identity: 'b' })
  await using c = replica(namespace.name, { identity: 'c' })
  const all = [a, b, c]
  await eventually('a leader', () => all.some(({ elector }) => elector.mayWrite()) || undefined, {
    timeoutMs: 2_000,
    everyMs: 20,
  })
  for (let n = 0; n < 40; n += 1) {
    assert.equal(all.filter(({ elector }) => elector.mayWrite()).length, 1)
    await pause(50)
  }
  assert.ok(all.every(({ elector }) => elector.problem() === undefined))
  const stored = await client.find(leaseKind, { namespace: namespace.name, name: 'sample' }, signal)
  assert.match(stored?.spec.renewTime ?? '', /\.\d{6}Z$/)
})

for (const shiftMs of [60_000, -60_000]) {
  test(`B28: a standby whose clock is ${shiftMs / 1000} s off, with a shorter term of its own, never takes over from a live leader`, async () => {
    await using namespace = await testNamespace(plane, 'skew')
    await using leader = replica(namespace.name, { identity: 'leader', termMs: 6_000 })
    await eventually('the leader', () => leader.elector.mayWrite() || undefined)
    await using standby = replica(namespace.name, { identity: 'standby', clock: shifted(shiftMs), termMs: 1_200 })
    for (let n = 0; n < 60; n += 1) {
      assert.equal(leader.elector.mayWrite(), true)
      assert.equal(standby.elector.mayWrite(), false)
      await pause(50)
    }
    await leader.stop()
    await eventually('the standby leads after the release', () => standby.elector.mayWrite() || undefined, { timeoutMs: 3_000 })
  })
}

test('a lease that someone takes away ends the term, and the loser campaigns again', async () => {
  await using namespace = await testNamespace(plane, 'taken')
  const terms: AbortSignal[] = []
  await using us = replica(namespace.name, { identity: 'us', onLead: (lost) => terms.push(lost) })
  await eventually('we lead', () => us.elector.mayWrite() || undefined)
  const value = { holderIdentity: 'thief', leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' }
  const at = { namespace: namespace.name, name: 'sample' }
  await client.jsonPatch(leaseKind, at, [{ op: 'replace', path: '/spec', value }], by, signal)
  await eventually('the term ended', () => terms[0]?.aborted || undefined, { everyMs: 20 })
  await eventually('the next term', () => (terms.length === 2 && us.elector.mayWrite()) || undefined)
})

/** A process whose controller counts in each widget's spec, slowly. */
function counter(namespace: string, identity: string, passMs: number) {
  const own = openTransport(plane.kubeconfigPath, identity)
  const manager = createManager({
    name: 'counter',
    transport: own,
    metricPrefix: 'counter_',
    eventController: 'example.dev/counter',
    identity,
    lease: { namespace, name: 'counter' },
    log: silentLogger,
  })
  const widgets = manager.cache(Widget, { namespace })
  let passes = 0
  manager.add({
    name: 'counter',
    watches: [watch(widgets, ({ key }) => [key])],
    needs: [{ cache: widgets }],
    async reconcile({ key, signal: passSignal }) {
      const object = widgets.get(key)
      if (!object || object.spec.color === identity) return settled
      passes += 1
      await systemClock.sleep(passMs, passSignal)
      await manager.client.jsonPatch(
        Widget,
        object.metadata,
        [{ op: 'add', path: '/spec/color', value: identity }],
        by,
        passSignal,
      )
      return settled
    },
  })
  return { manager, passes: () => passes, running: background(manager.run) }
}

test('B27: stopping during a slow pass: the pass ends, then the lease is given up, the standby leads in about two seconds, and the old process writes no more', async () => {
  await using namespace = await testNamespace(plane, 'handover')
  assert.ok(plane.auditLogPath)
  const from = await tailAudit(plane)
  const first = counter(namespace.name, `first-${namespace.name}`, 2_000)
  await eventually('the first leads', () => first.manager.leads || undefined)
  const second = counter(namespace.name, `second-${namespace.name}`, 0)
  await client.create(Widget, widget(namespace.name, 'a'), by, signal)
  await eventually('the slow pass is under way', () => first.passes() === 1 || undefined, { everyMs: 20 })
  assert.equal(second.passes(), 0)
  await first.running.stop()
  const stoppedAt = performance.now()
  await eventually('the second has done its work', async () => {
    const object = await client.find(Widget, { namespace: namespace.name, name: 'a' }, signal)
    return object?.spec.color === `second-${namespace.name}` || undefined
  })
  assert.ok(performance.now() - stoppedAt < 4_000)
  await second.running.stop()

  const entries = await readAudit(plane.auditLogPath, { from })
  const done = entries.filter(
    ({ stage, verb }) => stage === 'ResponseComplete' && ['create', 'patch', 'update', 'delete'].includes(verb),
  )
  const ofFirst = done.filter(({ userAgent }) => userAgent === `first-${namespace.name}`)
  const work = ofFirst.filter(({ resource }) => resource === 'widgets')
  assert.deepEqual(
    work.map(({ code }) => code),
    [200],
    'the pass in work was not cut off',
  )
  assert.equal(ofFirst.at(-1)?.resource, 'leases', 'nothing was written after the release')
  assert.ok(
    ofFirst.every(({ code }) => code !== undefined && code < 300),
    'the release was accepted',
  )
})
