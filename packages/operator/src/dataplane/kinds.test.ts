import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { createCache, createClient, type FollowedCache, silentLogger } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer, turns } from 'kube-control-loop/testing'
import { createDynamicKinds } from './kinds.ts'

const ref = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
const discovery = '/apis/planes.example.dev/v1'

const resources = (...list: object[]) => answers.ok({ kind: 'APIResourceList', resources: list })
const wires = { name: 'wires', kind: 'Wire', namespaced: true }
const list = (plural: string) => ({ method: 'GET' as const, path: `${discovery}/${plural}` })
const initial = JSON.stringify({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } } },
})

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** The scripted server answers 404 to whatever no rule has. */
function start() {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const parts = { clock, jitter: () => 1, log: silentLogger }
  const client = createClient(wire, { clock, jitter: () => 1, retryForMs: 0 })
  const caches: FollowedCache[] = []
  const kinds = createDynamicKinds({
    ...parts,
    client,
    createCache(kind) {
      const cache = createCache(client, kind, {}, parts)
      caches.push(cache)
      return cache
    },
  })
  const told: string[] = []
  kinds.onKind((kind) => told.push(`${kind.state} ${kind.cache?.state ?? '-'}`))
  const end = new AbortController()
  const running = kinds.run(end.signal)
  ends.push(async () => {
    end.abort(new Error('the test ends'))
    await running
  })
  return { clock, wire, kinds, caches, told }
}

describe('a kind known by name', () => {
  test('is asked for with growing delays while it is not served, and followed when it is', async () => {
    const { clock, wire, kinds, told } = start()
    wire.on({ path: discovery }, { times: 100 }).answer(answers.pageNotFound)
    const wired = kinds.follow(ref)
    await turns()
    assert.equal(wired.state, 'unserved')
    await clock.advance(60_000)
    const asked = wire.sent({ path: discovery }).length
    // 0.5, 1, 2, 4, 8, 10, 10 … seconds between two questions.
    assert.ok(asked >= 8 && asked <= 10, `asked ${asked} times in a minute`)
    assert.deepEqual(told, ['unserved -'])

    wire.reset()
    wire
      .on({ path: discovery }, { times: 100 })
      .answer(resources({ name: 'wires/status', kind: 'Wire', namespaced: true }, wires))
    wire.on(list('wires')).stream([initial], 'stays')
    kinds.poke(ref)
    await turns(12)
    assert.equal(wired.state, 'served')
    assert.equal(wired.kind?.plural, 'wires')
    assert.equal(wired.cache?.state, 'synced')
    const before = wire.sent({ path: discovery }).length
    await clock.advance(90_000)
    assert.equal(wire.sent({ path: discovery }).length, before, 'a served kind is not asked for')
  })

  test('of which the server cannot be asked is not known, and not taken for missing (B54)', async () => {
    const { clock, wire, kinds } = start()
    wire.on({ path: discovery }, { times: 3 }).answer(statusAnswer(500, 'InternalError', 'converter'))
    const wired = kinds.follow(ref)
    await turns()
    assert.equal(wired.state, 'unknown')
    wire.on({ path: discovery }, { times: 100 }).answer(resources(wires))
    wire.on(list('wires'), { times: 100 }).answer(statusAnswer(500, 'InternalError', 'converter'))
    await clock.advance(10_000)
    assert.equal(wired.state, 'served')
    assert.equal(wired.cache?.state, 'starting', 'not listed is not empty')
  })

  test('that is not namespaced is said to be so, and not followed', async () => {
    const { wire, kinds, caches } = start()
    wire.on({ path: discovery }, { times: 100 }).answer(resources({ ...wires, namespaced: false }))
    const wired = kinds.follow(ref)
    await turns()
    assert.equal(wired.state, 'not-namespaced')
    assert.equal(caches.length, 0)
  })

  test('that comes back under another plural gets a cache of its own', async () => {
    const { clock, wire, kinds, caches, told } = start()
    wire.on({ path: discovery }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'ends')
    const wired = kinds.follow(ref)
    await turns(12)
    assert.equal(wired.cache?.kind.plural, 'wires')

    const gone = wire.on({ path: discovery }, { times: 2 }).answer(answers.pageNotFound)
    wire.on(list('wires'), { times: 100 }).answer(answers.pageNotFound)
    await clock.advance(1_500)
    assert.ok(gone.count > 0)
    assert.equal(wired.state, 'unserved')
    assert.ok(told.includes('unserved unserved'))

    gone.remove()
    wire.on({ path: discovery }, { times: 100 }).answer(resources({ ...wires, name: 'wyres' }))
    wire.on(list('wyres')).stream([initial], 'stays')
    await clock.advance(20_000)
    await turns(12)
    assert.equal(wired.cache?.kind.plural, 'wyres')
    assert.equal(wired.state, 'served')
    assert.equal(caches.length, 2)
  })

  test('is one and the same for all who name it', () => {
    const { kinds } = start()
    assert.equal(kinds.follow(ref), kinds.follow({ ...ref }))
  })
})
