import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from './kind.ts'
import { turns } from './manual-clock.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { list, path, type Spec, scriptCache, syncedCache, widget } from './scripted-cache.ts'

const notFound = { status: 404, headers: {}, body: '404 page not found\n' }

test('a streaming list is taken in as one list when its end is told', async () => {
  const world = scriptCache({}, { streamingLists: true })
  const watch = world.nextWatch()
  await world.start()
  watch.send('ADDED', widget('a', '5'))
  watch.send('ADDED', widget('b', '6'))
  await turns()
  assert.equal(world.cache.state, 'starting')
  assert.equal(world.heard(), '')
  watch.bookmark('100', true)
  await turns()
  assert.equal(world.cache.state, 'synced')
  assert.equal(world.heard(), '+a@5 +b@6')
  watch.send('MODIFIED', widget('a', '101'))
  await turns()
  assert.equal(world.heard(), '~a@5→101')
  assert.equal(world.lists(), 0)
  await world.end()
})

test('what a streaming list brings is cut down as it comes, not when it is whole; managedFields reach who asks for them', async () => {
  const seen: string[] = []
  const prune = (object: KubeObject<Spec>) => {
    seen.push(`${object.metadata.name}${object.metadata.managedFields ? ' with managedFields' : ''}`)
    const { name, namespace = '', uid = '', resourceVersion = '' } = object.metadata
    return { ...object, metadata: { name, namespace, uid, resourceVersion }, spec: {} }
  }
  const managedFields = [{ manager: 'somebody' }]
  for (const asked of [false, true]) {
    const told: string[] = []
    const options = asked ? { onManagedFields: ({ metadata }: KubeObject<Spec>) => told.push(metadata.name) } : {}
    const world = scriptCache({ prune, ...options }, { streamingLists: true })
    const watch = world.nextWatch()
    await world.start()
    seen.length = 0
    watch.send('ADDED', widget('a', '5', { color: 'red', managedFields }))
    await turns()
    assert.deepEqual(seen, ['a'])
    watch.bookmark('100', true)
    await turns()
    assert.deepEqual(world.cache.get('default/a')?.spec, {})
    assert.deepEqual(told, asked ? ['a'] : [])
    await world.end()
  }
})

test('a server that streams no lists is asked for a plain one, at once', async () => {
  const world = scriptCache({}, { streamingLists: true })
  world.nextWatch()
  world.nextList(list('100', widget('a', '5')))
  world.script.on({ path, query: { sendInitialEvents: 'true' } }).answer(statusAnswer(422, 'Invalid', 'forbidden'))
  await world.start()
  assert.equal(world.cache.state, 'synced')
  assert.equal(world.heard(), '+a@5')
  assert.deepEqual(world.watchedFrom(), [undefined, '100'])
  await world.end()
})

test('B15: a silent watch is given up after the idle limit and resumed from the last version', async () => {
  const world = await syncedCache()
  world.watch.bookmark('120')
  await turns()
  const second = world.nextWatch()
  await world.clock.advance(149_999)
  assert.deepEqual(world.watchedFrom(), ['100'])
  await world.clock.advance(1_000)
  assert.deepEqual(world.watchedFrom(), ['100', '120'])
  second.send('ADDED', widget('missed', '121'))
  await turns()
  assert.equal(world.heard(), '+missed@121')
  assert.equal(world.lists(), 1, 'no new list')
  await world.end()
})

test('B15: a watch on which something comes now and then is not cut, however long it lasts', async () => {
  const world = await syncedCache()
  for (let n = 0; n < 120; n += 1) {
    await world.clock.advance(5_000)
    world.watch.send('MODIFIED', widget('a', String(101 + n)))
  }
  await turns()
  assert.deepEqual(world.watchedFrom(), ['100'])
  assert.equal(world.cache.get('default/a')?.metadata.resourceVersion, '220')
  await world.end()
})

test('B15: a watch that carried nothing at all leads to a list, since its version may be one the server never had', async () => {
  const world = await syncedCache({}, widget('a', '95'))
  world.heard()
  world.nextList(list('90', widget('a', '80'), widget('restored', '7')))
  world.nextWatch()
  await world.clock.advance(151_000)
  assert.equal(world.lists(), 2)
  assert.equal(world.heard(), '-a@95 +a@80 +restored@7', 'a restored server is believed, although its versions are older')
  await world.end()
})

test('B15: a connection that broke after a long time without even a bookmark leads to a list too', async () => {
  const world = await syncedCache({}, widget('a', '95'))
  world.heard()
  await world.clock.advance(100_000)
  world.nextList(list('90', widget('restored', '7')))
  world.nextWatch()
  world.watch.break()
  await world.clock.advance(1_000)
  assert.equal(world.heard(), '-a@95 +restored@7')
  await world.end()
})

test('B16: a 410 inside an open stream leads to one list, reaches no subscriber and leaves one watch', async () => {
  const worlds = await Promise.all([1, 2, 3, 4].map(() => syncedCache({}, widget('a', '5'))))
  for (const world of worlds) {
    world.heard()
    world.watch.error(410, 'Expired')
    world.nextList(list('200', widget('a', '5'), widget('b', '150')))
    world.nextWatch()
    await turns()
    assert.equal(world.lists(), 1, 'not at once')
    await world.clock.advance(1_000)
    assert.equal(world.lists(), 2)
    assert.deepEqual(world.watchedFrom(), ['100', '200'])
    assert.equal(world.heard(), '+b@150')
    assert.equal(world.counts.expired, 1)
    await world.clock.advance(60_000)
    assert.deepEqual(world.watchedFrom(), ['100', '200'])
    await world.end()
  }
})

test('B16: the answer 410 leads to a list too', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  await world.clock.advance(10_000)
  world.heard()
  world.script.on({ path, query: { watch: 'true' } }).answer(statusAnswer(410, 'Expired', 'too old resource version: 1 (100)'))
  world.watch.end()
  world.nextList(list('200', widget('b', '150')))
  await turns()
  assert.equal(world.lists(), 1)
  world.nextWatch()
  await world.clock.advance(1_000)
  assert.equal(world.heard(), '-a@5 +b@150')
  assert.deepEqual(world.watchedFrom(), ['100', '100', '200'])
  await world.end()
})

test('B16: while nothing answers, tries are few and bounded, and the state says stale; afterwards all is as before', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  await world.clock.advance(10_000)
  world.heard()
  const away = world.script.on({ path }, { times: 10_000 })
  const rule = away.dropBefore()
  const refusedStream = world.script.on({ path, query: { watch: 'true' } }, { times: 10_000 })
  const streamRule = refusedStream.answer(statusAnswer(500, 'InternalError', 'no'))
  world.watch.break()
  await world.clock.advance(60_000)
  const tries = world.watchedFrom().length - 1
  assert.ok(tries >= 5 && tries <= 20, `${tries} tries in a minute`)
  assert.equal(world.cache.state, 'stale')
  assert.equal(world.cache.get('default/a')?.metadata.resourceVersion, '5', 'what was known stays')
  rule.remove()
  streamRule.remove()
  const after = world.nextWatch()
  await world.clock.advance(11_000)
  assert.equal(world.cache.state, 'synced')
  after.send('MODIFIED', widget('a', '130'))
  await turns()
  assert.equal(world.heard(), '~a@5→130')
  assert.equal(world.lists(), 1)
  await world.end()
})

test('B17: after a quiet time the watch resumes from the bookmark, and no bookmark is ever an object', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  world.watch.bookmark('500')
  world.watch.bookmark('600')
  await world.clock.advance(100_000)
  world.nextWatch()
  world.watch.break()
  await world.clock.advance(1_000)
  assert.deepEqual(world.watchedFrom(), ['100', '600'])
  assert.equal(world.lists(), 1)
  assert.equal(world.cache.size, 1)
  assert.equal(world.heard(), '+a@5')
  await world.end()
})

test('B17: a watch that ends by itself is resumed at once', async () => {
  const world = await syncedCache()
  await world.clock.advance(10_000)
  world.nextWatch()
  world.watch.end()
  await turns()
  assert.equal(world.watchedFrom().length, 2)
  assert.equal(world.cache.state, 'synced')
  await world.end()
})

test('a watch that ends as soon as it begins is not resumed in a tight loop', async () => {
  const world = scriptCache()
  world.nextList(list('100'))
  world.script.on({ path, query: { watch: 'true' } }, { times: 10_000 }).stream([], 'ends')
  await world.start()
  await world.clock.advance(60_000)
  const tries = world.watchedFrom().length
  assert.ok(tries >= 5 && tries <= 25, `${tries} watches in a minute`)
  await world.end()
})

test('B21: a list that fails after a watch was lost is tried again, and nothing is rejected without an owner', async () => {
  const unowned: unknown[] = []
  const record = (error: unknown) => unowned.push(error)
  process.on('unhandledRejection', record)
  const world = await syncedCache({}, widget('a', '5'))
  world.heard()
  world.watch.error(410, 'Expired')
  const failing = world.script
    .on({ path, where: ({ query }) => !query?.watch }, { times: 3 })
    .answer(statusAnswer(500, 'InternalError', 'etcdserver: request timed out'))
  await world.clock.advance(300)
  assert.ok(failing.count >= 1)
  assert.equal(world.cache.state, 'stale')
  await world.clock.advance(3_000)
  world.nextList(list('200', widget('b', '150')))
  world.nextWatch()
  await world.clock.advance(5_000)
  assert.equal(world.cache.state, 'synced')
  assert.equal(world.heard(), '-a@5 +b@150')
  process.off('unhandledRejection', record)
  assert.deepEqual(unowned, [])
  await world.end()
})

test('a kind that is not served is waited for, tried again slowly, at once when poked, and comes to life', async () => {
  const world = scriptCache()
  const absent = world.script.on({ where: () => true }, { times: 1_000 }).answer(notFound)
  const stop = new AbortController()
  const optional = world.cache.ready(stop.signal, { orUnserved: true })
  await world.start()
  await optional
  assert.equal(world.cache.state, 'unserved')
  await world.clock.advance(60_000)
  assert.ok(world.lists() >= 5 && world.lists() <= 15, `${world.lists()} tries in a minute`)
  absent.remove()
  world.nextList(list('100', widget('a', '5')))
  world.nextWatch()
  world.cache.poke()
  await turns()
  assert.equal(world.cache.state, 'synced')
  assert.equal(world.heard(), '+a@5')
  await world.end()
})

test('a kind that goes away empties its cache, but only when discovery agrees', async () => {
  const world = await syncedCache({}, widget('a', '5'))
  await world.clock.advance(10_000)
  world.heard()
  const discovery = world.script
    .on({ path: '/apis/example.dev/v1' }, { times: 1_000 })
    .answer(answers.ok({ kind: 'APIResourceList', resources: [{ name: 'widgets' }] }))
  world.script.on({ path }, { times: 1_000 }).answer(notFound)
  world.watch.end()
  await world.clock.advance(5_000)
  assert.ok(discovery.count > 0)
  assert.equal(world.cache.state, 'stale')
  assert.equal(world.heard(), '', 'still served, says discovery: nothing is taken for gone')
  discovery.remove()
  world.script
    .on({ path: '/apis/example.dev/v1' }, { times: 1_000 })
    .answer(answers.ok({ kind: 'APIResourceList', resources: [{ name: 'gadgets' }] }))
  await world.clock.advance(10_000)
  assert.equal(world.cache.state, 'unserved')
  assert.equal(world.heard(), '-a@5')
  assert.deepEqual(world.cache.held, { objects: 0, indexedValues: 0, graves: 0 })
  await world.end()
})

test('B21: stopping ends everything: no timer is left, and run resolves', async () => {
  const world = await syncedCache()
  await world.end()
  assert.equal(world.clock.timers, 0)
})
