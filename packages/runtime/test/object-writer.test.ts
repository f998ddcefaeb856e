import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiError, createWriter, type Kind, KindUnserved, keyOf, WriteGone, WriteRaced } from 'kube-control-loop'
import { kubectl } from 'kube-localplane'
import { eventually, sharedPlane } from 'kube-localplane/testing'
import { type Bench, countingMetrics, environmentOf, Gadget, gadget, openBench } from './gadget.ts'

let bench: Bench
before(async () => {
  bench = await openBench('object-writer')
})
after(() => bench[Symbol.asyncDispose]())

/** A writer whose counts are its own. */
function writerOf() {
  const metrics = countingMetrics()
  const writer = createWriter({ ...environmentOf(bench), metrics, manager: 'gadget-controller' })
  return { writer, metrics }
}

const labels = (verb: string, cause: string) => ({ controller: 'gadget', resource: 'gadgets', verb, cause })

/** Deletes and creates again under the same name. */
async function recreate(name: string): Promise<Gadget> {
  await bench.client.remove(Gadget, { name, namespace: bench.namespace }, {}, bench.signal)
  return bench.create(name)
}

async function exists(name: string): Promise<boolean> {
  return (await bench.client.find(Gadget, { name, namespace: bench.namespace }, bench.signal)) !== undefined
}

describe('create', () => {
  test('a name that is taken is a lost race', async () => {
    const { writer, metrics } = writerOf()
    const first = await writer.create(gadget('taken', bench.namespace), bench.signal)
    await assert.rejects(writer.create(gadget('taken', bench.namespace), bench.signal), WriteRaced)
    assert.deepEqual(metrics.races, [labels('create', 'already-exists')])
    assert.equal((await bench.read('taken')).metadata.uid, first.metadata.uid)
  })

  test('B23: a create whose answer is lost ends with one object, found by its name', async () => {
    const { writer, metrics } = writerOf()
    bench.wire.on({ method: 'POST', path: /gadgets$/ }).dropAfter()
    await assert.rejects(writer.create(gadget('lost-answer', bench.namespace), bench.signal), WriteRaced)
    assert.deepEqual(metrics.races, [labels('create', 'already-exists')])
    const { items } = await bench.client.list(
      Gadget,
      { namespace: bench.namespace, fieldSelector: 'metadata.name=lost-answer' },
      bench.signal,
    )
    assert.equal(items.length, 1)
  })

  test('in a namespace that is not there, or is going, the pass ends', async () => {
    const { writer, metrics } = writerOf()
    await assert.rejects(writer.create(gadget('a', 'no-such-namespace'), bench.signal), WriteGone)
    const going = await openBench('going')
    await going.create('holds', { finalizers: ['test.dev/hold'] })
    await bench.client.raw({ method: 'DELETE', path: `/api/v1/namespaces/${going.namespace}` }, bench.signal)
    await assert.rejects(writer.create(gadget('late', going.namespace), bench.signal), WriteGone)
    assert.deepEqual(metrics.gones, [labels('create', 'namespace'), labels('create', 'namespace')])
    const held = await going.read('holds')
    await writer.removeFinalizer(held, 'test.dev/hold', bench.signal)
    await going[Symbol.asyncDispose]()
  })

  test('an invalid object is a fault', async () => {
    const { writer, metrics } = writerOf()
    const bad = { ...gadget('bad', bench.namespace), spec: { size: 'much' as unknown as number } }
    await assert.rejects(writer.create(bad, bench.signal), (error) => error instanceof ApiError && error.status === 422)
    assert.deepEqual([metrics.races, metrics.gones], [[], []])
  })
})

describe('a kind that is not served', () => {
  const absent: Kind = { group: 'absent.example.dev', version: 'v1', kind: 'Absent', plural: 'absents', scope: 'Namespaced' }
  const body = () => ({
    apiVersion: 'absent.example.dev/v1',
    kind: 'Absent',
    metadata: { name: 'a', namespace: bench.namespace, uid: 'u' },
    spec: {},
  })

  test('is told as that where it may be absent', async () => {
    const writer = createWriter({ ...environmentOf(bench), kind: absent, manager: 'm', mayBeUnserved: true })
    await assert.rejects(writer.create(body(), bench.signal), KindUnserved)
    await assert.rejects(writer.patch(body(), [{ op: 'remove', path: '/spec' }], bench.signal), KindUnserved)
    await assert.rejects(writer.remove(body(), bench.signal), KindUnserved)
  })

  test('is a fault where it must be there', async () => {
    const writer = createWriter({ ...environmentOf(bench), kind: absent, manager: 'm' })
    await assert.rejects(writer.create(body(), bench.signal), ApiError)
    await assert.rejects(writer.remove(body(), bench.signal), ApiError)
  })
})

describe('patch', () => {
  const size = (value: number) => ({ op: 'replace', path: '/spec/size', value }) as const
  const wasOne = { op: 'test', path: '/spec/size', value: 1 } as const

  test('changes what still stands as it was read', async () => {
    const { writer } = writerOf()
    const object = await bench.create('patched')
    assert.deepEqual((await writer.patch(object, [wasOne, size(2)], bench.signal)).spec, { size: 2 })
  })

  test('without operations asks nobody', async () => {
    const { writer } = writerOf()
    const object = await bench.create('unpatched')
    const before = bench.wire.requests.length
    assert.equal(await writer.patch(object, [], bench.signal), object)
    assert.equal(bench.wire.requests.length, before)
  })

  test('of a value that moved is a lost race, and changes nothing', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('moved')
    await writer.patch(object, [wasOne, size(2)], bench.signal)
    await assert.rejects(writer.patch(object, [wasOne, size(3)], bench.signal), WriteRaced)
    assert.deepEqual((await bench.read('moved')).spec, { size: 2 })
    assert.deepEqual(metrics.races, [labels('patch', 'stale')])
  })

  test('B01: of an object that went, or of its successor, does nothing', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('successor')
    await recreate('successor')
    await assert.rejects(writer.patch(object, [size(5)], bench.signal), WriteGone)
    assert.deepEqual((await bench.read('successor')).spec, { size: 1 })
    const gone = await bench.create('went')
    await bench.client.remove(Gadget, gone.metadata, {}, bench.signal)
    await assert.rejects(writer.patch(gone, [size(5)], bench.signal), WriteGone)
    assert.equal(await exists('went'), false)
    assert.deepEqual(metrics.gones, [labels('patch', 'recreated'), labels('patch', 'not-found')])
  })

  test('B20: a number above 2^53 that a patch does not touch stays what it is to the last digit', async () => {
    const { writer } = writerOf()
    const created = await bench.create('huge')
    // Text, since a number of this language would be another one.
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }
    const exact = rawJSON('9007199254740993')
    const spec = [{ op: 'add', path: '/spec/huge', value: exact } as const]
    await bench.client.jsonPatch(Gadget, created.metadata, spec, { fieldManager: 'test' }, bench.signal)
    const read = await bench.read('huge')
    assert.equal(read.spec.huge, 9007199254740992, 'what this language makes of it')
    const patched = await writer.patch(read, [wasOne, size(2)], bench.signal)
    await writer.addFinalizer(patched, 'example.dev/hold', bench.signal)
    const plane = await sharedPlane()
    const jsonpath = ['get', 'gadget', 'huge', '-n', bench.namespace, '-o', 'jsonpath={.spec.huge} {.spec.size}']
    assert.equal((await kubectl(plane, jsonpath)).stdout, '9007199254740993 2')
    await writer.removeFinalizer(await bench.read('huge'), 'example.dev/hold', bench.signal)
  })

  test('two compare-and-swaps at once: one wins, one races', async () => {
    const { writer } = writerOf()
    const object = await bench.create('swapped')
    const unowned = { op: 'test', path: '/spec/owner', value: null } as const
    const take = (owner: string) =>
      writer.patch(object, [unowned, { op: 'add', path: '/spec/owner', value: owner }], bench.signal)
    const ends = await Promise.allSettled([take('a'), take('b')])
    const won = ends.find((end) => end.status === 'fulfilled')
    const lost = ends.find((end) => end.status === 'rejected')
    assert.ok(lost?.reason instanceof WriteRaced)
    assert.equal((await bench.read('swapped')).spec.owner, won?.value.spec.owner)
  })
})

describe('finalizers', () => {
  test('the first and a further one are added, foreign ones stay', async () => {
    const { writer } = writerOf()
    const bare = await bench.create('bare')
    const one = await writer.addFinalizer(bare, 'test.dev/one', bench.signal)
    const two = await writer.addFinalizer(one, 'test.dev/two', bench.signal)
    assert.deepEqual(two.metadata.finalizers, ['test.dev/one', 'test.dev/two'])
    const requests = bench.wire.requests.length
    assert.equal(await writer.addFinalizer(two, 'test.dev/two', bench.signal), two)
    assert.equal(bench.wire.requests.length, requests)
    await writer.removeFinalizer(two, 'test.dev/one', bench.signal)
    assert.deepEqual((await bench.read('bare')).metadata.finalizers, ['test.dev/two'])
    await writer.removeFinalizer(await bench.read('bare'), 'test.dev/two', bench.signal)
  })

  test('one that someone else added meanwhile is not overwritten', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('both')
    await writer.addFinalizer(object, 'test.dev/theirs', bench.signal)
    await assert.rejects(writer.addFinalizer(object, 'test.dev/ours', bench.signal), WriteRaced)
    assert.deepEqual((await bench.read('both')).metadata.finalizers, ['test.dev/theirs'])
    assert.deepEqual(metrics.races, [labels('add-finalizer', 'stale')])
    await writer.removeFinalizer(await bench.read('both'), 'test.dev/theirs', bench.signal)
  })

  test('a deleting object takes none: known or found out', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('deleting', { finalizers: ['test.dev/hold'] })
    await writer.remove(object, bench.signal)
    // What was read before the delete: the server refuses.
    await assert.rejects(writer.addFinalizer(object, 'test.dev/ours', bench.signal), WriteGone)
    const requests = bench.wire.requests.length
    const deleting = await bench.read('deleting')
    await assert.rejects(writer.addFinalizer(deleting, 'test.dev/ours', bench.signal), WriteGone)
    assert.equal(bench.wire.requests.length, requests + 1, 'only the read')
    assert.deepEqual(metrics.gones, [labels('add-finalizer', 'deleting'), labels('add-finalizer', 'deleting')])
    await writer.removeFinalizer(deleting, 'test.dev/hold', bench.signal)
    assert.equal(await exists('deleting'), false)
  })

  test('B03: removal touches only its own, and a list that moved is a lost race', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('listed', { finalizers: ['test.dev/theirs', 'test.dev/ours'] })
    await writer.removeFinalizer(object, 'test.dev/theirs', bench.signal)
    await assert.rejects(writer.removeFinalizer(object, 'test.dev/ours', bench.signal), WriteRaced)
    assert.deepEqual((await bench.read('listed')).metadata.finalizers, ['test.dev/ours'])
    assert.deepEqual(metrics.races, [labels('remove-finalizer', 'stale')])
    await writer.removeFinalizer(await bench.read('listed'), 'test.dev/ours', bench.signal)
  })

  test('removal from what is gone, or has a successor, is done', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('held', { finalizers: ['test.dev/ours'] })
    await writer.remove(object, bench.signal)
    await writer.removeFinalizer(object, 'test.dev/ours', bench.signal)
    await writer.removeFinalizer(object, 'test.dev/ours', bench.signal)
    const successor = await bench.create('held', { finalizers: ['test.dev/ours'] })
    await writer.removeFinalizer(object, 'test.dev/ours', bench.signal)
    assert.deepEqual((await bench.read('held')).metadata.finalizers, ['test.dev/ours'])
    assert.deepEqual(metrics.gones, [labels('remove-finalizer', 'not-found'), labels('remove-finalizer', 'recreated')])
    await writer.removeFinalizer(successor, 'test.dev/ours', bench.signal)
  })

  test('removal of one that is not there asks nobody', async () => {
    const { writer } = writerOf()
    const object = await bench.create('none')
    const requests = bench.wire.requests.length
    await writer.removeFinalizer(object, 'test.dev/ours', bench.signal)
    assert.equal(bench.wire.requests.length, requests)
  })
})

describe('delete', () => {
  test('takes exactly the object that was read', async () => {
    const { writer, metrics } = writerOf()
    const object = await bench.create('doomed')
    await writer.remove(object, bench.signal)
    assert.equal(await exists('doomed'), false)
    await writer.remove(object, bench.signal)
    const successor = await bench.create('doomed')
    await writer.remove(object, bench.signal)
    assert.equal((await bench.read('doomed')).metadata.uid, successor.metadata.uid)
    assert.deepEqual(metrics.gones, [labels('delete', 'not-found'), labels('delete', 'recreated')])
  })

  test('an object without a uid was never read: a mistake of the caller', async () => {
    const { writer } = writerOf()
    const never = gadget('never-read', bench.namespace)
    await assert.rejects(writer.remove(never, bench.signal), TypeError)
    await assert.rejects(async () => writer.patch(never, [{ op: 'remove', path: '/spec/size' }], bench.signal), TypeError)
  })
})

test('every answer reaches the cache: what stands, and what is gone', async () => {
  const seen: string[] = []
  const cache = {
    kind: Gadget,
    absorb: (object: Gadget) => seen.push(`${keyOf(object)} ${object.metadata.resourceVersion}`),
    absorbGone: (object: Gadget) => seen.push(`${keyOf(object)} gone`),
    writing: () => () => {},
  }
  const writer = createWriter({ ...environmentOf(bench), manager: 'm', cache: cache as never })
  const made = await writer.create(gadget('told', bench.namespace), bench.signal)
  const patched = await writer.patch(made, [{ op: 'replace', path: '/spec/size', value: 9 }], bench.signal)
  await writer.remove(patched, bench.signal)
  const key = `${bench.namespace}/told`
  assert.deepEqual(seen, [`${key} ${made.metadata.resourceVersion}`, `${key} ${patched.metadata.resourceVersion}`, `${key} gone`])
  await eventually('the object is gone', async () => !(await exists('told')))
})
