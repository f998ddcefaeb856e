import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { createCache, createClient, type FollowedCache, silentLogger } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer, turns } from 'kube-control-loop/testing'
import type { DefinitionState } from './definitions.ts'
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

/** What definitions say, moved by a test. */
function definitionsSaying(first: DefinitionState) {
  let state = first
  let fits = true
  const handlers = new Set<() => void>()
  return {
    stateOf: () => state,
    fits: () => fits,
    subscribe(_: unknown, handler: () => void) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    poke() {},
    run: async () => {},
    say(next: DefinitionState, still = true) {
      state = next
      fits = still
      for (const handler of [...handlers]) handler()
    },
    handlers,
  }
}

/** The scripted server answers 404 to whatever no rule has. */
function start(given: { definitions?: DefinitionState } = {}) {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const parts = { clock, jitter: () => 1, log: silentLogger }
  const client = createClient(wire, { clock, jitter: () => 1, retryForMs: 0 })
  const caches: FollowedCache[] = []
  const definitions = definitionsSaying(given.definitions ?? 'unknown')
  const kinds = createDynamicKinds({
    ...parts,
    client,
    definitions,
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
  return { clock, wire, kinds, caches, told, definitions, end }
}

describe('a kind known by name', () => {
  test('is asked for with growing delays where definitions cannot be read, and followed when it is served', async () => {
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
    const { clock, wire, kinds, caches } = start({ definitions: 'established' })
    const wide = wire.on({ path: discovery }, { times: 100 }).answer(resources({ ...wires, namespaced: false }))
    const wired = kinds.follow(ref)
    await turns()
    assert.equal(wired.state, 'not-namespaced')
    await clock.advance(3_600_000)
    assert.equal(caches.length, 0)
    assert.equal(wide.count, 1, 'a scope never changes')
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

  test('whose definition is missing is asked for once, and again as soon as the definition is there', async () => {
    const { clock, wire, kinds, definitions } = start({ definitions: 'missing' })
    const gone = wire.on({ path: discovery }, { times: 100 }).answer(answers.pageNotFound)
    const wired = kinds.follow(ref)
    await turns()
    assert.equal(wired.state, 'unserved')
    await clock.advance(3_600_000)
    assert.equal(gone.count, 1, 'no timer asks')

    definitions.say('established')
    await turns()
    assert.equal(gone.count, 2)
    gone.remove()
    wire.on({ path: discovery }, { times: 100 }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'stays')
    // Discovery follows an established definition by a moment: the shortest delay, however long the kind was missing.
    await clock.advance(500)
    await turns(12)
    assert.equal(wired.cache?.state, 'synced')
  })

  test('whose group has no definition may come from an aggregated API server, and is asked for every five minutes', async () => {
    const { clock, wire, kinds } = start({ definitions: 'no-group' })
    const gone = wire.on({ path: discovery }, { times: 100 }).answer(answers.pageNotFound)
    kinds.follow(ref)
    await turns()
    await clock.advance(3_600_000)
    assert.ok(gone.count >= 12 && gone.count <= 13, `asked ${gone.count} times in an hour`)
  })

  test('that went with its definition is not asked for by anyone until the definition is back', async () => {
    const { clock, wire, kinds, definitions, caches } = start({ definitions: 'established' })
    wire.on({ path: discovery }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'ends')
    const wired = kinds.follow(ref)
    await turns(12)
    definitions.say('missing')
    wire.on({ path: discovery }, { times: 100 }).answer(answers.pageNotFound)
    const asked = wire.on(list('wires'), { times: 100 }).answer(answers.pageNotFound)
    await clock.advance(2_000)
    await turns(12)
    assert.equal(wired.state, 'unserved')
    const before = [asked.count, wire.sent({ path: discovery }).length]
    await clock.advance(3_600_000)
    assert.deepEqual([asked.count, wire.sent({ path: discovery }).length], before)

    wire.reset()
    wire.on({ path: discovery }, { times: 100 }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'stays')
    definitions.say('established')
    await turns(12)
    assert.equal(wired.state, 'served')
    assert.equal(wired.cache?.state, 'synced')
    assert.equal(caches.length, 1, 'the cache that its readers hold goes on')
  })

  test('that discovery serves and lists deny is let go of when its definition goes', async () => {
    const { clock, wire, kinds, definitions } = start({ definitions: 'established' })
    const served = wire.on({ path: discovery }, { times: 1_000 }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'ends')
    const wired = kinds.follow(ref)
    await turns(12)
    // Discovery is asked by the cache too, before it calls its kind missing.
    served.remove()
    wire.on({ path: discovery }).answer(answers.pageNotFound)
    const denied = wire.on(list('wires'), { times: 1_000 }).answer(answers.pageNotFound)
    wire.on({ path: discovery }, { times: 1, skip: 1 }).answer(resources(wires))
    const gone = wire.on({ path: discovery }, { times: 1_000, skip: 2 }).answer(answers.pageNotFound)
    await clock.advance(2_000)
    assert.equal(wired.state, 'unserved')
    const before = [denied.count, gone.count]
    definitions.say('missing')
    await turns(12)
    assert.ok(gone.count > (before[1] ?? 0), 'asked when the definition went')
    const after = denied.count
    await clock.advance(3_600_000)
    assert.equal(denied.count, after, 'nobody lists a kind that is gone')
  })

  test('whose definition moves while it is being asked for is asked for again', async () => {
    const { wire, kinds, definitions } = start({ definitions: 'missing' })
    const asked = Promise.withResolvers<void>()
    wire.on({ path: discovery }).answer(async () => {
      await asked.promise
      return answers.pageNotFound()
    })
    const wired = kinds.follow(ref)
    await turns()
    definitions.say('established')
    definitions.say('missing')
    wire.on({ path: discovery }, { times: 100 }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'stays')
    asked.resolve()
    await turns(12)
    assert.equal(wired.state, 'served')
  })

  test('that came back, and went again while it was being asked for, is asked for once more', async () => {
    const { clock, wire, kinds, definitions } = start({ definitions: 'established' })
    wire.on({ path: discovery }).answer(resources(wires))
    wire.on(list('wires')).stream([initial], 'ends')
    const wired = kinds.follow(ref)
    await turns(12)
    definitions.say('missing')
    const gone = wire.on({ path: discovery }, { times: 100 }).answer(answers.pageNotFound)
    const lists = wire.on(list('wires'), { times: 1_000 }).answer(answers.pageNotFound)
    await clock.advance(2_000)
    assert.equal(wired.state, 'unserved')
    gone.remove()
    const asked = Promise.withResolvers<void>()
    wire.on({ path: discovery }).answer(async () => {
      await asked.promise
      return resources(wires)
    })
    wire.on({ path: discovery }, { times: 100, skip: 1 }).answer(answers.pageNotFound)
    definitions.say('established')
    await turns()
    definitions.say('missing')
    asked.resolve()
    await turns(12)
    assert.equal(wired.state, 'unserved')
    const before = [lists.count, wire.sent({ path: discovery }).length]
    await clock.advance(3_600_000)
    assert.deepEqual([lists.count, wire.sent({ path: discovery }).length], before)
  })

  test('that cannot be asked for is asked for again by time, whatever its definition says', async () => {
    const { clock, wire, kinds } = start({ definitions: 'missing' })
    const fails = wire.on({ path: discovery }, { times: 3 }).answer(statusAnswer(500, 'InternalError', 'converter'))
    wire.on({ path: discovery }, { times: 100, skip: 3 }).answer(answers.pageNotFound)
    const wired = kinds.follow(ref)
    await clock.advance(10_000)
    assert.equal(fails.count, 3)
    assert.equal(wired.state, 'unserved')
  })

  test('lets go of definitions when it ends', async () => {
    const { kinds, definitions, end } = start({ definitions: 'missing' })
    kinds.follow(ref)
    await turns()
    assert.equal(definitions.handlers.size, 1)
    end.abort(new Error('ends'))
    await turns()
    assert.equal(definitions.handlers.size, 0)
  })
})

test('a kind whose definition was made anew at once is asked for again, though its watch noticed nothing', async () => {
  const { clock, wire, kinds, definitions } = start({ definitions: 'established' })
  const served = wire.on({ path: discovery }, { times: 100 }).answer(resources(wires))
  wire.on(list('wires'), { times: 100 }).stream([initial], 'stays')
  const wired = kinds.follow(ref)
  await turns(12)
  assert.deepEqual([wired.state, wired.cache?.state], ['served', 'synced'])
  const asked = served.count
  definitions.say('established')
  await turns(12)
  assert.equal(served.count, asked, 'a change that speaks against nothing')

  definitions.say('established', false)
  await turns(12)
  assert.equal(wired.state, 'unserved', 'what discovery still tells of is gone')
  served.remove()
  wire.on({ path: discovery }, { times: 100 }).answer(resources({ ...wires, namespaced: false }))
  await clock.advance(2_000)
  assert.equal(wired.state, 'not-namespaced')
})
