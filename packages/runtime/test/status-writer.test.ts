import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiError, BadStatusIntent, createStatusWriter, type StatusOwner, WriteGone } from 'kube-control-loop'
import { createManualClock } from 'kube-control-loop/testing'
import { alice, type Bench, bob, countingMetrics, environmentOf, Gadget, type GadgetStatus, openBench, seed } from './gadget.ts'

let bench: Bench
before(async () => {
  bench = await openBench('status-writer')
})
after(() => bench[Symbol.asyncDispose]())

function writerOf<const Owner extends StatusOwner>(owner: Owner) {
  const metrics = countingMetrics()
  const clock = createManualClock(new Date('2030-01-01T00:00:00.900Z'))
  const notes: string[] = []
  const recordEvent = (_: unknown, event: { note: string }) => notes.push(event.note)
  return { writer: createStatusWriter({ ...environmentOf(bench), metrics, owner, clock, recordEvent }), metrics, clock, notes }
}

const ready = (status: 'True' | 'False' | 'Unknown', observedGeneration = 1) =>
  ({ type: 'Ready', status, reason: 'Told', message: 'so', observedGeneration }) as const
const sound = { type: 'Sound', status: 'True', reason: 'Told', message: 'so' } as const

/** Applies status as someone whom nobody documented. */
function rogueApply(name: string, status: GadgetStatus, manager = 'rogue') {
  const body = { apiVersion: 'writers.example.dev/v1', kind: 'Gadget', metadata: { name }, status }
  return bench.client.apply(
    Gadget,
    { name, namespace: bench.namespace, subresource: 'status' },
    body,
    { fieldManager: manager, force: true },
    bench.signal,
  )
}

/** Puts a whole status, as software of the old kind does. */
async function roguePut(name: string, change: (status: GadgetStatus) => GadgetStatus) {
  const standing = await bench.read(name)
  const path = `/apis/writers.example.dev/v1/namespaces/${bench.namespace}/gadgets/${name}/status`
  const body = { ...standing, status: change(standing.status ?? {}) }
  await bench.client.raw({ method: 'PUT', path, query: { fieldManager: 'old-software' }, body }, bench.signal)
}

/** `manager operation subresource: paths` of each entry, sorted. */
async function ownersOf(name: string): Promise<Record<string, string[]>> {
  const owners: Record<string, string[]> = {}
  for (const entry of (await bench.read(name)).metadata.managedFields ?? []) {
    const status = (entry.fieldsV1?.['f:status'] ?? {}) as Record<string, Record<string, unknown>>
    const fields = Object.keys(status).filter((key) => key.startsWith('f:') && key !== 'f:conditions')
    const conditions = Object.keys(status['f:conditions'] ?? {}).filter((key) => key.startsWith('k:'))
    if (fields.length + conditions.length > 0) {
      owners[`${entry.manager} ${entry.operation} ${entry.subresource}`] = [...fields, ...conditions].sort()
    }
  }
  return owners
}

const k = (type: string) => `k:{"type":"${type}"}`

describe('an apply', () => {
  test('B07: carries identity and own status, nothing else, and ends owning exactly that', async () => {
    const { writer } = writerOf(alice)
    const object = await bench.create('payload')
    const from = bench.wire.requests.length
    const stands = await writer.status(
      object,
      { phase: 'Bound', ref: { name: 'x' }, conditions: [ready('True'), sound] },
      bench.signal,
    )
    const [sent, ...more] = bench.wire.requests.slice(from)
    assert.deepEqual(more, [])
    const time = { lastTransitionTime: '2030-01-01T00:00:00Z' }
    assert.deepEqual(sent?.request, {
      method: 'PATCH',
      path: `/apis/writers.example.dev/v1/namespaces/${bench.namespace}/gadgets/payload/status`,
      query: { fieldManager: 'alice', force: 'false' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'writers.example.dev/v1',
        kind: 'Gadget',
        metadata: { name: 'payload', namespace: bench.namespace, uid: object.metadata.uid },
        status: {
          phase: 'Bound',
          ref: { name: 'x' },
          conditions: [
            { ...ready('True'), ...time },
            { ...sound, ...time },
          ],
        },
      },
    })
    assert.deepEqual(stands.status?.phase, 'Bound')
    assert.deepEqual(await ownersOf('payload'), { 'alice Apply status': ['f:phase', 'f:ref', k('Ready'), k('Sound')] })
  })

  test('B04: two owners in both orders: neither loses anything', async () => {
    for (const order of ['alice-first', 'bob-first']) {
      const ours = writerOf(alice)
      const theirs = writerOf(bob)
      const object = await bench.create(order)
      const writes = [
        () => ours.writer.status(object, { phase: 'Bound', conditions: [ready('True'), sound] }, bench.signal),
        () =>
          theirs.writer.status(
            object,
            { conditions: [{ type: 'Carried', status: 'True', reason: 'Told', message: '' }] },
            bench.signal,
          ),
      ]
      for (const write of order === 'alice-first' ? writes : writes.reverse()) await write()
      const { status } = await bench.read(order)
      assert.deepEqual(status?.conditions?.map((each) => `${each.type} ${each.status}`).sort(), [
        'Carried True',
        'Ready True',
        'Sound True',
      ])
      assert.deepEqual(await ownersOf(order), {
        'alice Apply status': ['f:phase', k('Ready'), k('Sound')],
        'bob Apply status': [k('Carried')],
      })
      assert.deepEqual([ours.metrics.conflicts, theirs.metrics.conflicts], [[], []])
    }
  })

  test('B06: an equal intent is not sent; a new observedGeneration is, once', async () => {
    const { writer, clock } = writerOf(alice)
    const intent = { phase: 'Bound', addresses: [], conditions: [ready('True'), sound] } as const
    let object = await writer.status(await bench.create('calm'), { ...intent, addresses: [] }, bench.signal)
    const version = object.metadata.resourceVersion
    const from = bench.wire.requests.length
    for (let pass = 0; pass < 30; pass++) {
      await clock.advance(1_500)
      object = await writer.status(await bench.read('calm'), { ...intent, addresses: [] }, bench.signal)
    }
    assert.equal(bench.wire.requests.slice(from).filter(({ request }) => request.method !== 'GET').length, 0)
    assert.equal(object.metadata.resourceVersion, version)
    object = await writer.status(object, { phase: 'Bound', conditions: [ready('True', 2), sound] }, bench.signal)
    assert.notEqual(object.metadata.resourceVersion, version)
    assert.deepEqual(
      object.status?.conditions?.map((each) => each.lastTransitionTime),
      ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'],
    )
  })

  test('B11: the transition time moves with the status value only, and the seed’s stays while its value does', async () => {
    const { writer, clock } = writerOf(alice)
    const times: (string | undefined)[] = []
    let object = await bench.create('times')
    for (const status of ['Unknown', 'True', 'True', 'False'] as const) {
      await clock.advance(10_000)
      object = await writer.status(object, { note: `n${times.length}`, conditions: [ready(status), sound] }, bench.signal)
      times.push(object.status?.conditions?.find((each) => each.type === 'Ready')?.lastTransitionTime)
    }
    assert.deepEqual(times, [seed.lastTransitionTime, '2030-01-01T00:00:20Z', '2030-01-01T00:00:20Z', '2030-01-01T00:00:40Z'])
  })

  test('B09: a field that goes is removed, and a list that empties leaves no further write', async () => {
    const { writer } = writerOf(alice)
    const conditions = [ready('True'), sound]
    let object = await writer.status(
      await bench.create('list'),
      { addresses: [{ address: 'a' }], note: 'x', conditions },
      bench.signal,
    )
    object = await writer.status(object, { addresses: [], conditions }, bench.signal)
    assert.deepEqual([object.status?.addresses, object.status?.note], [undefined, undefined])
    const from = bench.wire.requests.length
    await writer.status(object, { conditions }, bench.signal)
    assert.equal(bench.wire.requests.length, from)
  })

  test('a seed that the intent leaves out cannot be removed, and is not written against for ever', async () => {
    const { writer } = writerOf(alice)
    let object = await writer.status(await bench.create('seeded'), { conditions: [sound] }, bench.signal)
    assert.deepEqual(object.status?.conditions?.map((each) => each.type).sort(), ['Ready', 'Sound'])
    const from = bench.wire.requests.length
    object = await writer.status(object, { conditions: [sound] }, bench.signal)
    assert.equal(bench.wire.requests.length, from)
    await writer.status(object, { conditions: [ready('True'), sound] }, bench.signal)
    assert.equal(bench.wire.requests.length, from + 1)
  })
})

describe('what is refused before it is sent', () => {
  const bad: [string, unknown][] = [
    ['a foreign condition', { conditions: [ready('True'), { ...sound, type: 'Carried' }] }],
    ['a foreign field', { observed: 1, conditions: [ready('True')] }],
    ['no conditions', { phase: 'x' }],
    ['an empty list of conditions', { phase: 'x', conditions: [] }],
    ['B05: a condition twice', { conditions: [ready('True'), ready('False')] }],
    ['a condition without reason', { conditions: [{ ...ready('True'), reason: '' }] }],
    ['a condition without message', { conditions: [{ type: 'Ready', status: 'True', reason: 'X' }] }],
  ]
  for (const [says, intent] of bad) {
    test(says, async () => {
      const { writer } = writerOf(alice)
      const object = await bench.create(`bad-${bad.findIndex(([each]) => each === says)}`)
      const from = bench.wire.requests.length
      await assert.rejects(writer.status(object, intent as never, bench.signal), BadStatusIntent)
      assert.equal(bench.wire.requests.length, from)
    })
  }
})

describe('objects that went', () => {
  test('B01: a status apply never brings one back', async () => {
    const { writer, metrics } = writerOf(alice)
    const object = await bench.create('went')
    await bench.client.remove(Gadget, object.metadata, {}, bench.signal)
    await assert.rejects(writer.status(object, { conditions: [ready('True')] }, bench.signal), WriteGone)
    assert.equal(await bench.client.find(Gadget, object.metadata, bench.signal), undefined)
    assert.deepEqual(metrics.gones, [{ controller: 'gadget', resource: 'gadgets/status', verb: 'apply', cause: 'not-found' }])
  })

  test('one that landed on a successor is told as gone', async () => {
    const { writer, metrics } = writerOf(alice)
    const object = await bench.create('successor')
    await bench.client.remove(Gadget, object.metadata, {}, bench.signal)
    await bench.create('successor')
    await assert.rejects(writer.status(object, { conditions: [ready('True')] }, bench.signal), WriteGone)
    assert.deepEqual(
      metrics.gones.map((each) => each.cause),
      ['recreated'],
    )
  })
})

describe('a second writer', () => {
  const intent = { phase: 'Bound', conditions: [ready('True'), sound] } as const
  const wire = { method: 'PATCH', contentType: 'application/apply-patch+yaml' } as const

  test('polite, then firm, and loud; and afterwards the owner is alone', async () => {
    const { writer, metrics, notes, clock } = writerOf(alice)
    await writer.status(await bench.create('stolen'), intent, bench.signal)
    await rogueApply('stolen', {
      phase: 'Stolen',
      conditions: [{ ...ready('False'), lastTransitionTime: '2001-01-01T00:00:00Z' }],
    })
    const from = bench.wire.sent(wire).length
    const object = await writer.status(await bench.read('stolen'), intent, bench.signal)
    assert.equal(object.status?.phase, 'Bound')
    assert.deepEqual(
      bench.wire
        .sent(wire)
        .slice(from)
        .map(({ request }) => request.query?.force),
      ['false', 'true'],
    )
    assert.deepEqual(metrics.conflicts, [
      { resource: 'gadgets', field: 'conditions/Ready', manager: 'rogue' },
      { resource: 'gadgets', field: 'phase', manager: 'rogue' },
    ])
    assert.equal(notes.length, 1)
    assert.match(notes[0] ?? '', /conditions\/Ready, phase.*alice.*"rogue"/)
    assert.deepEqual(await ownersOf('stolen'), { 'alice Apply status': ['f:phase', k('Ready'), k('Sound')] })
    // The others are out: the next flip is an ordinary write.
    await clock.advance(5_000)
    const flips = bench.wire.sent(wire).length
    await writer.status(object, { ...intent, conditions: [ready('False'), sound] }, bench.signal)
    assert.equal(bench.wire.sent(wire).length, flips + 1)
    assert.equal(metrics.conflicts.length, 2)
    // A new theft, after a quiet time, is a new episode.
    await clock.advance(30_000)
    await rogueApply('stolen', { phase: 'Stolen again' })
    await writer.status(await bench.read('stolen'), { ...intent, conditions: [ready('False'), sound] }, bench.signal)
    assert.equal(metrics.conflicts.length, 3)
    assert.equal(notes.length, 2)
  })

  test('the paths of the other documented owner stay his', async () => {
    const ours = writerOf(alice)
    const theirs = writerOf(bob)
    const object = await bench.create('neighbours')
    await theirs.writer.status(
      object,
      { conditions: [{ type: 'Carried', status: 'True', reason: 'Told', message: '' }] },
      bench.signal,
    )
    await ours.writer.status(object, intent, bench.signal)
    await rogueApply('neighbours', {
      phase: 'Stolen',
      conditions: [{ type: 'Odd', status: 'True', reason: 'X', message: '', lastTransitionTime: '2001-01-01T00:00:00Z' }],
    })
    await ours.writer.status(await bench.read('neighbours'), intent, bench.signal)
    assert.deepEqual(await ownersOf('neighbours'), {
      'alice Apply status': ['f:phase', k('Ready'), k('Sound')],
      'bob Apply status': [k('Carried')],
      'rogue Apply status': [k('Odd')],
    })
  })

  test('a value on a documented path that the intent leaves out is removed', async () => {
    const { writer, metrics } = writerOf(alice)
    await writer.status(await bench.create('planted'), intent, bench.signal)
    await rogueApply('planted', { note: 'theirs', ref: { name: 'theirs' } })
    const object = await writer.status(await bench.read('planted'), intent, bench.signal)
    assert.deepEqual([object.status?.note, object.status?.ref], [undefined, undefined])
    assert.deepEqual(await ownersOf('planted'), { 'alice Apply status': ['f:phase', k('Ready'), k('Sound')] })
    assert.deepEqual(metrics.conflicts.map((each) => `${each.manager} ${each.field}`).sort(), ['rogue note', 'rogue ref'])
    const from = bench.wire.requests.length
    await writer.status(object, intent, bench.signal)
    assert.equal(bench.wire.requests.length, from)
  })

  test('a co-owner of equal values is told and ended at the next apply', async () => {
    const { writer, metrics } = writerOf(alice)
    const object = await writer.status(await bench.create('shared'), intent, bench.signal)
    await rogueApply('shared', { phase: 'Bound' }, 'copycat')
    await writer.status(object, { ...intent, phase: 'Released' }, bench.signal)
    assert.deepEqual(metrics.conflicts, [{ resource: 'gadgets', field: 'phase', manager: 'copycat' }])
    assert.deepEqual(Object.keys(await ownersOf('shared')), ['alice Apply status'])
  })

  test('a whole-object writer is overruled too', async () => {
    const { writer, metrics } = writerOf(alice)
    await writer.status(await bench.create('put'), intent, bench.signal)
    await roguePut('put', (status) => ({ ...status, phase: 'Put' }))
    const object = await writer.status(await bench.read('put'), intent, bench.signal)
    assert.equal(object.status?.phase, 'Bound')
    assert.deepEqual(metrics.conflicts, [{ resource: 'gadgets', field: 'phase', manager: 'old-software' }])
    assert.deepEqual(Object.keys(await ownersOf('put')), ['alice Apply status'])
  })

  test('a condition that was dropped leaves no trace and no conflict, and is counted all the same', async () => {
    const { writer, metrics, notes } = writerOf(alice)
    await writer.status(await bench.create('dropped'), intent, bench.signal)
    await roguePut('dropped', (status) => ({
      ...status,
      conditions: status.conditions?.filter((each) => each.type !== 'Sound') ?? [],
    }))
    const object = await writer.status(await bench.read('dropped'), intent, bench.signal)
    assert.deepEqual(object.status?.conditions?.map((each) => each.type).sort(), ['Ready', 'Sound'])
    assert.deepEqual(metrics.conflicts, [{ resource: 'gadgets', field: 'conditions/Sound', manager: 'unknown' }])
    assert.equal(notes.length, 1)
    await writer.status(object, intent, bench.signal)
    assert.equal(metrics.conflicts.length, 1)
  })

  test('an object that moves on while the episode ends keeps the status, and the episode stays open', async () => {
    const { writer, metrics } = writerOf(alice)
    await writer.status(await bench.create('restless'), intent, bench.signal)
    await rogueApply('restless', { phase: 'Stolen', note: 'theirs' })
    const seen = await bench.read('restless')
    bench.wire.on({ method: 'PATCH', contentType: 'application/json-patch+json' }).answer(async (_, real) => {
      const path = { name: 'restless', namespace: bench.namespace }
      await bench.client.jsonPatch(
        Gadget,
        path,
        [{ op: 'add', path: '/metadata/labels', value: { moved: 'yes' } }],
        { fieldManager: 'x' },
        bench.signal,
      )
      return real()
    })
    const object = await writer.status(seen, intent, bench.signal)
    assert.equal(object.status?.phase, 'Bound')
    const counted = metrics.conflicts.length
    await rogueApply('restless', { phase: 'Stolen', note: 'theirs' })
    await writer.status(await bench.read('restless'), intent, bench.signal)
    assert.equal(metrics.conflicts.length, counted, 'the same episode')
    assert.deepEqual(Object.keys(await ownersOf('restless')), ['alice Apply status'])
  })
})

test('a field that the schema does not know is a fault at once, never sent again', async () => {
  const odd = { ...alice, owns: ['odd', 'conditions/Ready'] } as const
  const { writer, metrics } = writerOf(odd)
  const object = await bench.create('odd')
  const from = bench.wire.requests.length
  const wrong = { odd: 'x', conditions: [ready('True')] }
  await assert.rejects(
    writer.status(object, wrong as never, bench.signal),
    (error) => error instanceof ApiError && error.status === 500,
  )
  assert.equal(bench.wire.requests.length, from + 1)
  assert.deepEqual([metrics.races, metrics.gones], [[], []])
})
