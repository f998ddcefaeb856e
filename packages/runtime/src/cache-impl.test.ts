import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from './kind.ts'
import { turns } from './manual-clock.ts'
import { list, path, type Spec, scriptCache, syncedCache, widget } from './scripted-cache.ts'

test('lists, then follows, and tells the first list as initial', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  assert.deepEqual(
    world.changes.map(({ key, initial }) => ({ key, initial })),
    [{ key: 'default/a', initial: true }],
  )
  world.heard()
  world.watch.send('ADDED', widget('b', '101'))
  world.watch.send('MODIFIED', widget('b', '102'))
  world.watch.send('DELETED', widget('a', '103'))
  await turns()
  assert.ok(world.changes.every(({ initial }) => !initial))
  assert.equal(world.heard(), '+b@101 ~b@101→102 -a@5')
  assert.deepEqual(
    [...world.cache.values()].map(({ metadata }) => metadata.name),
    ['b'],
  )
  await world.end()
})

test('B18: what was deleted during a disconnect is told as gone, and the indexes shrink', async () => {
  const byColor = { color: ({ spec }: KubeObject<Spec>) => (spec.color ? [spec.color, 'any'] : []) }
  const all = ['a', 'b', 'c', 'd'].map((name) => widget(name, '5', { color: name === 'd' ? 'blue' : 'red' }))
  const world = await syncedCache({ indexes: byColor }, ...all)
  assert.equal(world.cache.by('color', 'red').length, 3)
  world.heard()
  world.watch.error(410, 'Gone')
  world.nextList(list('200', widget('d', '5', { color: 'blue' })))
  world.nextWatch()
  await world.clock.advance(1_000)
  assert.equal(world.heard(), '-a@5 -b@5 -c@5')
  assert.deepEqual(world.cache.by('color', 'red'), [])
  assert.equal(world.cache.by('color', 'any').length, 1)
  assert.deepEqual(world.cache.held, { objects: 1, indexedValues: 2, graves: 0 })
  await world.end()
})

test('an index follows a changed value, and asking for one that was not declared throws', async () => {
  const world = await syncedCache(
    { indexes: { color: ({ spec }) => (spec.color ? [spec.color] : []) } },
    widget('a', '5', { color: 'red' }),
  )
  world.watch.send('MODIFIED', widget('a', '101', { color: 'blue' }))
  await turns()
  assert.equal(world.cache.by('color', 'red').length, 0)
  assert.equal(world.cache.by('color', 'blue')[0]?.metadata.resourceVersion, '101')
  assert.equal(world.cache.held.indexedValues, 1)
  assert.throws(() => world.cache.by('shape', 'round'), /no index shape/)
  await world.end()
})

test('B17: adds and deletes of things long gone, told again after a resume, are no news', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.watch.bookmark('600')
  await world.clock.advance(10_000)
  const second = world.nextWatch()
  world.watch.end()
  await turns()
  world.heard()
  second.send('ADDED', widget('long-gone', '300'))
  second.send('MODIFIED', widget('long-gone', '301'))
  second.send('DELETED', widget('long-gone', '302'))
  second.send('DELETED', widget('a', '4', { uid: 'uid-of-an-earlier-a' }))
  second.send('ADDED', widget('new', '601'))
  await turns()
  assert.equal(world.heard(), '+new@601')
  assert.equal(world.cache.get('default/a')?.metadata.resourceVersion, '5')
  assert.equal(world.cache.held.graves, 0)
  await world.end()
})

test('B20: versions that a number would round, or a text would sort wrongly, are all applied', async () => {
  const world = scriptCache()
  world.nextList(list('9', widget('a', '9')))
  const watch = world.nextWatch()
  await world.start()
  for (const version of ['10', '9007199254740992', '9007199254740993']) watch.send('MODIFIED', widget('a', version))
  watch.send('MODIFIED', widget('a', 'opaque-1'))
  watch.send('MODIFIED', widget('a', 'opaque-2'))
  await turns()
  assert.equal(
    world.heard(),
    '+a@9 ~a@9→10 ~a@10→9007199254740992 ~a@9007199254740992→9007199254740993 ~a@9007199254740993→opaque-1 ~a@opaque-1→opaque-2',
  )
  world.cache.absorb(widget('a', 'opaque-3'))
  assert.equal(world.heard(), '', 'an answer whose order is not known waits for its event')
  await world.end()
})

test('B21: a subscriber, an index or a prune that throws is counted, and everyone else still hears', async () => {
  const failing = () => {
    throw new Error('a broken callback')
  }
  const world = scriptCache({ indexes: { bad: failing }, prune: failing, onManagedFields: failing })
  world.cache.subscribe(failing)
  world.cache.onState(failing)
  let heard = 0
  world.cache.subscribe(() => {
    heard += 1
  })
  world.nextList(list('100', widget('a', '5', { managedFields: [{ manager: 'x' }] })))
  const watch = world.nextWatch()
  await world.start()
  watch.send('MODIFIED', widget('a', '101'))
  await turns()
  assert.equal(heard, 2)
  assert.equal(world.cache.get('default/a')?.metadata.resourceVersion, '101')
  assert.equal(world.counts.handler, 1 + 2 + 2 + 2 + 1, 'managedFields once, index, prune and change twice, state once')
  await world.end()
})

test('B36: an object whose ADDED and DELETED were seen before the answer of its create stays gone', async () => {
  const world = await syncedCache()
  const done = world.cache.writing('default/a')
  world.watch.send('ADDED', widget('a', '101'))
  world.watch.send('DELETED', widget('a', '102'))
  await turns()
  world.cache.absorb(widget('a', '101'))
  assert.equal(world.cache.get('default/a'), undefined)
  assert.equal(world.heard(), '+a@101 -a@101')
  done()
  assert.equal(world.cache.held.graves, 0)
  await world.end()
})

test('B36: deletions without a write in flight are not remembered', async () => {
  const world = await syncedCache()
  for (let n = 0; n < 100; n += 1) {
    world.watch.send('ADDED', widget(`w${n}`, String(1_000 + n)))
    world.watch.send('DELETED', widget(`w${n}`, String(2_000 + n)))
  }
  await turns()
  assert.deepEqual(world.cache.held, { objects: 0, indexedValues: 0, graves: 0 })
  await world.end()
})

test('read your writes: the answer is visible at once, and its event, earlier or later, is no second change', async () => {
  const world = await syncedCache()
  world.cache.absorb(widget('a', '101'))
  assert.equal(world.cache.get('default/a')?.metadata.resourceVersion, '101')
  world.watch.send('ADDED', widget('a', '101'))
  world.watch.send('MODIFIED', widget('a', '102'))
  await turns()
  world.cache.absorb(widget('a', '102'))
  world.cache.absorb(widget('a', '101'))
  assert.equal(world.heard(), '+a@101 ~a@101→102')
  await world.end()
})

test('events that lag behind an own delete do not bring the object back', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  world.cache.absorb(widget('a', '103', { deletionTimestamp: '2030-01-01T00:00:00Z' }))
  world.cache.absorbGone(widget('a', '103'))
  world.watch.send('MODIFIED', widget('a', '101'))
  world.watch.send('MODIFIED', widget('a', '102', { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['x'] }))
  await turns()
  assert.equal(world.heard(), '-a@5')
  world.watch.send('DELETED', widget('a', '103'))
  await turns()
  assert.equal(world.heard(), '')
  assert.equal(world.cache.held.graves, 0)
  await world.end()
})

test('the late answer of a read does not bring back what the watch has told the end of', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  world.watch.send('DELETED', widget('a', '101'))
  world.watch.send('ADDED', widget('b', '103'))
  await turns()
  world.cache.absorb(widget('a', '5'))
  world.cache.absorb(widget('c', '102'))
  assert.equal(world.heard(), '-a@5 +b@103')
  world.cache.absorb(widget('d', '104'))
  assert.equal(world.heard(), '+d@104')
  await world.end()
})

const tidings: { says: string; tell(watch: Awaited<ReturnType<typeof syncedCache>>['watch']): void }[] = [
  { says: 'an end', tell: (watch) => watch.send('DELETED', widget('other', '110')) },
  { says: 'a bookmark', tell: (watch) => watch.bookmark('110') },
  {
    says: 'a change, whatever an older one says after it',
    tell: (watch) => {
      watch.send('ADDED', widget('other', '110'))
      watch.send('ADDED', widget('older', '101'))
    },
  },
  {
    says: 'an end that bears the last version of its object',
    tell: (watch) => {
      watch.send('ADDED', widget('late', '110'))
      watch.send('DELETED', widget('late', '110'))
    },
  },
]
for (const { says, tell } of tidings) {
  test(`${says} tells how far the watch is: what an older read shows and the cache lacks is gone`, async () => {
    const world = await syncedCache()
    tell(world.watch)
    await turns()
    world.cache.absorb(widget('late', '110'))
    assert.equal(world.cache.get('default/late'), undefined)
    const done = world.cache.writing('default/own')
    world.cache.absorb(widget('own', '105'))
    done()
    assert.ok(world.cache.get('default/own'), 'a write’s answer counts: the server may have been restored, and count from before')
    await world.end()
  })
}

test('a delete of our own is forgotten once a list shows that the server knows it, although its event was missed', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.cache.absorbGone(widget('a', '5'))
  assert.equal(world.cache.held.graves, 1)
  world.nextList(list('200'))
  world.nextWatch()
  world.watch.error(410, 'Expired')
  await world.clock.advance(1_000)
  assert.equal(world.lists(), 2)
  assert.equal(world.cache.held.graves, 0)
  await world.end()
})

test('a successor under the same name is told as an end and a beginning, and the late end of the first does not touch it', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  world.cache.absorb(widget('a', '110', { uid: 'second' }))
  assert.equal(world.heard(), '-a@5 +a@110')
  world.watch.send('DELETED', widget('a', '105'))
  world.cache.absorbGone(widget('a', '105'))
  await turns()
  assert.equal(world.heard(), '')
  assert.equal(world.cache.get('default/a')?.metadata.uid, 'second')
  await world.end()
})

test('what was written while a list was under way survives that list', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  const gate = Promise.withResolvers<void>()
  world.script.on({ path, where: ({ query }) => !query?.watch }).answer(async () => {
    await gate.promise
    return list('200', widget('a', '5'), widget('lagging', '7'))
  })
  world.nextWatch()
  world.watch.error(410, 'Expired')
  await world.clock.advance(1_000)
  world.cache.absorb(widget('new', '205'))
  world.cache.absorb(widget('a', '206'))
  world.cache.absorbGone(widget('lagging', '7'))
  gate.resolve()
  await turns()
  assert.equal(world.heard(), '+new@205 ~a@5→206 +lagging@7')
  assert.equal(world.cache.size, 3)
  await world.end()
})

test('a delete of our own stays, although a list that was under way still has the object', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  const gate = Promise.withResolvers<void>()
  world.script.on({ path, where: ({ query }) => !query?.watch }).answer(async () => {
    await gate.promise
    return list('200', widget('a', '5'))
  })
  const next = world.nextWatch()
  world.watch.error(410, 'Expired')
  await world.clock.advance(1_000)
  world.cache.absorbGone(widget('a', '5'))
  gate.resolve()
  await turns()
  assert.equal(world.heard(), '-a@5')
  next.send('DELETED', widget('a', '201'))
  await turns()
  assert.equal(world.heard(), '')
  assert.equal(world.cache.held.graves, 0)
  await world.end()
})

test('managedFields are shown once and never stored', async () => {
  const managers: (string | undefined)[] = []
  const world = await syncedCache(
    { onManagedFields: (_, entries) => managers.push(...entries.map(({ manager }) => manager)) },
    widget('a', '5', { managedFields: [{ manager: 'one' }] }),
  )
  const heard: (string | undefined)[] = []
  const end = world.cache.onManagedFields((_, entries) => heard.push(...entries.map(({ manager }) => manager)))
  world.watch.send('MODIFIED', widget('a', '101', { managedFields: [{ manager: 'two' }] }))
  await turns()
  end()
  world.cache.absorb(widget('a', '102', { managedFields: [{ manager: 'three' }] }))
  assert.deepEqual([managers, heard], [['one', 'two', 'three'], ['two']])
  assert.ok(!('managedFields' in (world.cache.get('default/a')?.metadata ?? {})))
  await world.end()
})

test('whatever the order in which events and answers arrive, the cache ends with what the server has', async () => {
  const name = fc.constantFrom('a', 'b')
  const steps = fc.array(fc.record({ name, what: fc.constantFrom('write', 'delete', 'end', 'read') }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, fc.array(fc.nat({ max: 1 }), { minLength: 40, maxLength: 40 }), async (script, order) => {
      const world = await syncedCache()
      const server = new Map<string, KubeObject<Spec>>()
      const events: (() => void)[] = []
      const responses: (() => void)[] = []
      let version = 200
      for (const step of script) {
        version += 1
        const standing = server.get(step.name)
        const key = `default/${step.name}`
        if (step.what === 'read') {
          // A live read is in flight unmarked, and its answer may come after the end of what it shows.
          if (standing) responses.push(() => world.cache.absorb(standing))
        } else if (step.what === 'write') {
          const uid = standing?.metadata.uid ?? `uid-${version}`
          const object = widget(step.name, String(version), { uid })
          server.set(step.name, object)
          events.push(() => world.watch.send(standing ? 'MODIFIED' : 'ADDED', object))
          const done = world.cache.writing(key)
          responses.push(() => {
            world.cache.absorb(object)
            done()
          })
        } else if (standing) {
          server.delete(step.name)
          const last = { ...standing, metadata: { ...standing.metadata, resourceVersion: String(version) } }
          events.push(() => world.watch.send('DELETED', last))
          // `end`: somebody else deleted it.
          if (step.what === 'end') continue
          const done = world.cache.writing(key)
          responses.push(() => {
            world.cache.absorbGone(last)
            done()
          })
        }
      }
      for (const turn of order) {
        const next = (turn ? events : responses).shift() ?? (turn ? responses : events).shift()
        next?.()
        await turns(1)
      }
      await turns()
      assert.deepEqual(
        new Map([...world.cache.values()].map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
        new Map([...server.values()].map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
      )
      assert.equal(world.cache.held.graves, 0)
      await world.end()
    }),
    { numRuns: 400 },
  )
})
