import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from './api-error.ts'
import type { Cache } from './cache.ts'
import { createClient } from './http-client.ts'
import type { Kind, KubeObject, ManagedFieldsEntry } from './kind.ts'
import { createManualClock } from './manual-clock.ts'
import type { Classify } from './races.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import { type RequestMatch, scriptTransport } from './scripted-transport.ts'
import { BadStatusIntent } from './status-intent.ts'
import { createStatusWriter } from './status-writer.ts'
import type { ApiResponse } from './transport.ts'
import type { WriteLabels } from './write-metrics.ts'
import { createWriteRegistry } from './write-registry.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced } from './write-signals.ts'

type Condition = { type: string; status: string; reason: string; message: string; lastTransitionTime: string }
type Status = { vpc?: string; note?: string; conditions?: Condition[] }
type Widget = KubeObject<unknown, Status>

const widget: Kind<unknown, Status> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}
const owner = { writer: 'owner', identity: 'owner', owns: ['vpc', 'note', 'conditions/Ready'], when: '' } as const
const at = { name: 'a', namespace: 'space' }
const path = '/apis/example.dev/v1/namespaces/space/widgets/a'
const never = new AbortController().signal
const applies: RequestMatch = { method: 'PATCH', path: `${path}/status` }
const owning: RequestMatch = { method: 'PATCH', path }

const intent = { vpc: 'x', conditions: [{ type: 'Ready', status: 'True', reason: 'Told', message: 'so' }] } as const
const stored: Status = {
  vpc: 'x',
  conditions: [{ type: 'Ready', status: 'True', reason: 'Told', message: 'so', lastTransitionTime: '2030-01-01T00:00:00Z' }],
}

function entry(manager: string, status: Record<string, unknown>): ManagedFieldsEntry {
  const apiVersion = 'example.dev/v1'
  return { manager, operation: 'Apply', subresource: 'status', apiVersion, fieldsV1: { 'f:status': status } }
}
const ownEntry = entry('owner', { 'f:vpc': {} })

function widgetOf(resourceVersion: string, status: Status | undefined, metadata: Partial<Widget['metadata']> = {}): Widget {
  const object: Widget = {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { ...at, uid: 'u1', resourceVersion, ...metadata },
    spec: {},
  }
  return status ? { ...object, status } : object
}

type Options = {
  mayBeUnserved?: boolean
  classify?: Classify
  cache?: undefined
  legacy?: readonly string[]
  migrate?: (object: Widget, signal: AbortSignal) => Promise<Widget>
}

function bed(options: Options = {}) {
  const wire = scriptTransport()
  const clock = createManualClock(new Date('2030-01-01T00:00:00Z'))
  const client = createClient(wire, { clock, jitter: () => 0, retryForMs: 0 })
  const counted: string[] = []
  const rounds: string[] = []
  const told: string[] = []
  const events: string[] = []
  const count = (what: string) => (labels: WriteLabels) =>
    counted.push(`${what} ${labels.controller} ${labels.resource} ${labels.verb} ${labels.cause}`)
  const metrics = {
    raceRequeue: count('raced'),
    gone: count('gone'),
    ownershipConflict: (labels: { resource: string; field: string; manager: string }) =>
      counted.push(`conflict ${labels.resource} ${labels.field} ${labels.manager}`),
    ownershipRound: ({ resource }: { resource: string }) => rounds.push(resource),
  }
  type Seen = (object: Widget, entries: readonly ManagedFieldsEntry[]) => void
  let seen: Seen = () => {}
  /** An event of the watch. */
  const see = (object: Widget) => {
    seen(object, object.metadata.managedFields ?? [])
    return object
  }
  const cache = {
    absorb(object: Widget) {
      told.push(`absorbed ${object.metadata.uid} ${object.metadata.resourceVersion}`)
      see(object)
    },
    onManagedFields(handler: Seen) {
      seen = handler
      return () => {}
    },
    subscribe: () => () => {},
    absorbGone: (object: Widget) => told.push(`gone ${object.metadata.uid}`),
    writing: () => {
      told.push('writing')
      return () => told.push('written')
    },
  } as unknown as Cache<unknown, Status>
  const registry = createWriteRegistry()
  const recordEvent = (_: KubeObject, event: { type: string; reason: string; note: string }) =>
    events.push(`${event.type} ${event.reason} ${event.note}`)
  const writer = createStatusWriter({
    client,
    metrics,
    registry,
    cache,
    kind: widget,
    controller: 'ctl',
    owner,
    clock,
    recordEvent,
    ...options,
  })
  /** Scripts the answers to a kind of request, in order. */
  const script = (match: RequestMatch, ...answersInOrder: (ApiResponse | Widget)[]) => {
    for (const each of answersInOrder.reverse()) wire.on(match).answer('spec' in each ? answers.ok(each) : each)
  }
  const forced = () => wire.sent(applies).map(({ request }) => request.query?.force)
  return { wire, clock, writer, see, counted, rounds, told, events, registry, script, forced }
}

describe('a status', () => {
  test('is applied politely, once, and absorbed', async () => {
    const { writer, script, forced, counted, told, events } = bed()
    script(applies, widgetOf('2', stored, { managedFields: [ownEntry] }))
    const stands = await writer.status(widgetOf('1', undefined), intent, never)
    assert.equal(stands.metadata.resourceVersion, '2')
    assert.deepEqual([forced(), counted, events], [['false'], [], []])
    assert.deepEqual(told, ['writing', 'absorbed u1 2', 'written'])
  })

  test('that stands already is not sent', async () => {
    const { writer, wire, told } = bed()
    const object = widgetOf('1', { ...stored, note: undefined as never })
    assert.equal(await writer.status(object, intent, never), object)
    assert.deepEqual([wire.requests, told], [[], []])
  })

  test('of which the server cannot remove something is not sent again, until it changes', async () => {
    const { writer, script, wire } = bed()
    const left = { ...stored, note: 'nobody’s' }
    script(applies, widgetOf('2', left), widgetOf('3', { ...left, vpc: 'y' }))
    const stands = await writer.status(widgetOf('1', undefined), intent, never)
    for (let pass = 0; pass < 3; pass++) assert.equal(await writer.status(stands, intent, never), stands)
    assert.equal(wire.requests.length, 1)
    await writer.status(stands, { ...intent, vpc: 'y' }, never)
    assert.equal(wire.requests.length, 2)
  })

  test('of a kind that nobody caches is applied all the same', async () => {
    const { writer, script, wire } = bed({ cache: undefined })
    script(applies, widgetOf('2', stored), answers.notFound(widget, at))
    await writer.status(widgetOf('1', undefined), intent, never)
    await assert.rejects(writer.status(widgetOf('1', { vpc: 'y' }), intent, never), WriteGone)
    assert.equal(wire.requests.length, 2)
  })

  test('of an object that was never read is refused, even where it stands already', async () => {
    const { writer, wire } = bed()
    const { uid: _, ...metadata } = widgetOf('1', stored).metadata
    await assert.rejects(writer.status({ ...widgetOf('1', stored), metadata }, intent, never), TypeError)
    assert.deepEqual(wire.requests, [])
  })

  test('with a field of another owner never leaves the process', async () => {
    const { writer, wire } = bed()
    const foreign = { ...intent, phase: 'theirs' }
    await assert.rejects(writer.status(widgetOf('1', undefined), foreign, never), BadStatusIntent)
    assert.deepEqual(wire.requests, [])
  })

  test('the registry lists it', () => {
    const { registry } = bed()
    assert.deepEqual(registry.registeredWrites(), [
      { controller: 'ctl', resource: 'widgets/status', verb: 'apply', manager: 'owner' },
    ])
  })
})

type End = 'raced stale' | `gone ${string}` | 'unserved' | 'fault'
const rows: { says: string; answer: ApiResponse; live?: ApiResponse; want: End }[] = [
  {
    says: 'modified, the object stands',
    answer: answers.modified(widget, at),
    live: answers.ok(widgetOf('9', stored)),
    want: 'raced stale',
  },
  {
    says: 'modified, another has its name',
    answer: answers.modified(widget, at),
    live: answers.ok(widgetOf('9', stored, { uid: 'u2' })),
    want: 'gone recreated',
  },
  {
    says: 'uid mismatch, nothing is there',
    answer: answers.uidMismatch(widget, at),
    live: answers.notFound(widget, at),
    want: 'gone not-found',
  },
  {
    says: 'uid immutable, another has its name',
    answer: answers.uidImmutable(widget, at),
    live: answers.ok(widgetOf('9', stored, { uid: 'u2' })),
    want: 'gone recreated',
  },
  { says: 'not found', answer: answers.notFound(widget, at), want: 'gone not-found' },
  { says: 'namespace terminating', answer: answers.namespaceTerminating(widget, at), want: 'gone namespace' },
  { says: 'plain 404', answer: answers.pageNotFound(), want: 'unserved' },
  { says: 'failed typed patch', answer: answers.typedPatchFailed(), want: 'fault' },
  { says: 'a failed test, which an apply does not make', answer: answers.testFailed(), want: 'fault' },
  { says: 'forbidden', answer: answers.invalid(widget, at, 'status.vpc', 'no'), want: 'fault' },
  { says: 'shutting down for good', answer: answers.shuttingDown(), want: 'fault' },
]

describe('a refused apply', () => {
  for (const { says, answer, live, want } of rows) {
    test(`${says}: ${want}`, async () => {
      const { writer, script, wire, counted } = bed({ mayBeUnserved: true })
      script(applies, answer)
      if (live) script({ method: 'GET', path }, live)
      const error = await writer.status(widgetOf('1', undefined), intent, never).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      const [kind, why] = want.split(' ')
      if (kind === 'raced') assert.ok(error instanceof WriteRaced && error.why === why)
      if (kind === 'gone') assert.ok(error instanceof WriteGone && error.why === why)
      if (kind === 'unserved') assert.ok(error instanceof KindUnserved)
      if (kind === 'fault') assert.ok(error instanceof ApiError && error.status === answer.status)
      assert.deepEqual(counted, why ? [`${kind} ctl widgets/status apply ${why}`] : [])
      assert.equal(wire.sent({ method: 'GET', path }).length, live ? 1 : 0)
    })
  }

  test('one that landed on a successor is gone, and what it left there is not ours', async () => {
    const { writer, script, counted, wire } = bed()
    script(applies, widgetOf('2', stored, { uid: 'u2', managedFields: [entry('rogue', { 'f:vpc': {} })] }))
    await assert.rejects(
      writer.status(widgetOf('1', undefined), intent, never),
      (error) => error instanceof WriteGone && error.why === 'recreated',
    )
    assert.deepEqual(counted, ['gone ctl widgets/status apply recreated'])
    assert.equal(wire.requests.length, 1)
  })

  test('an aborted one is nothing but aborted', async () => {
    const { writer, wire, counted, told } = bed()
    const stop = new AbortController()
    const reason = new Error('stop')
    wire.on(applies).answer(() => {
      stop.abort(reason)
      return answers.notFound(widget, at)
    })
    await assert.rejects(writer.status(widgetOf('1', undefined), intent, stop.signal), (error) => error === reason)
    assert.deepEqual([counted, told], [[], ['writing', 'written']])
  })
})

test('an apply that is aborted while the live object is read is not counted either', async () => {
  const { writer, wire, script, counted } = bed()
  const stop = new AbortController()
  const reason = new Error('stop')
  script(applies, answers.modified(widget, at))
  wire.on({ method: 'GET' }).answer(() => {
    stop.abort(reason)
    return answers.ok(widgetOf('9', stored))
  })
  await assert.rejects(writer.status(widgetOf('1', undefined), intent, stop.signal), (error) => error === reason)
  assert.deepEqual(counted, [])
})

test('only an answer names second writers: a broken connection does not, whatever answers mean', async () => {
  const { writer, wire, counted } = bed({
    classify: () => ({ is: 'second-writer', conflicts: [{ manager: 'rogue', field: '.status.vpc' }] }),
  })
  wire.on({}, { times: 9 }).dropBefore()
  await assert.rejects(writer.status(widgetOf('1', undefined), intent, never), { code: 'CONNECTION_BROKEN' })
  assert.deepEqual(counted, [])
})

describe('the time of a flip', () => {
  const flipped = (lastTransitionTime: string, status = 'True'): Status => ({
    vpc: 'x',
    conditions: [{ type: 'Ready', status, reason: 'Told', message: 'so', lastTransitionTime }],
  })
  const seeded = flipped('1970-01-01T00:00:00Z', 'Unknown')
  const no = { ...intent, conditions: [{ ...intent.conditions[0], status: 'False' }] } as const
  const table: { says: string; first?: typeof intent | typeof no; stands: Status; uid?: string; want: string }[] = [
    { says: 'is the first one sent, when its answer was lost', stands: seeded, want: '2030-01-01T00:00:00Z' },
    { says: 'is now, when something else was sent then', first: no, stands: seeded, want: '2030-01-01T00:00:05Z' },
    {
      says: 'is now, when what stands flipped after that',
      stands: flipped('2030-01-01T00:00:03Z', 'False'),
      want: '2030-01-01T00:00:05Z',
    },
    { says: 'is now, on a successor', stands: seeded, uid: 'u2', want: '2030-01-01T00:00:05Z' },
  ]
  for (const { says, first = intent, stands, uid = 'u1', want } of table) {
    test(says, async () => {
      const { writer, wire, clock } = bed()
      wire.on(applies, { times: 9 }).dropBefore()
      await assert.rejects(writer.status(widgetOf('1', seeded), first as typeof intent, never))
      await clock.advance(5_000)
      await assert.rejects(writer.status(widgetOf('1', stands, { uid }), intent, never))
      const body = wire.sent(applies).at(-1)?.request.body as { status: Status }
      assert.equal(body.status.conditions?.[0]?.lastTransitionTime, want)
    })
  }
})

describe('a second writer', () => {
  const conflict = answers.fieldManagerConflict([
    { manager: 'rogue', field: '.status.conditions[type="Ready"].reason' },
    { manager: 'rogue', field: '.status.conditions[type="Ready"].message' },
    { manager: 'other', field: '.status.vpc' },
  ])
  const told = ['conflict widgets conditions/Ready rogue', 'conflict widgets vpc other']

  test('is counted per path and manager, told to people, overruled, and out', async () => {
    const { writer, script, forced, counted, events, wire } = bed()
    const rogue = entry('rogue', { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:type': {} } }, 'f:odd': {} })
    script(applies, conflict, widgetOf('3', stored, { managedFields: [rogue, ownEntry] }))
    script(owning, widgetOf('4', stored, { managedFields: [ownEntry] }))
    const stands = await writer.status(widgetOf('1', undefined), intent, never)
    assert.equal(stands.metadata.resourceVersion, '4')
    assert.deepEqual(forced(), ['false', 'true'])
    assert.deepEqual(counted, told)
    assert.deepEqual(events, [
      'Warning StatusOwnershipConflict status conditions/Ready belongs to owner; "rogue" wrote there and is overruled',
      'Warning StatusOwnershipConflict status vpc belongs to owner; "other" wrote there and is overruled',
    ])
    assert.deepEqual(wire.sent(owning)[0]?.request.query, { fieldManager: 'owner' })
    assert.deepEqual(wire.sent(owning)[0]?.request.body, [
      { op: 'test', path: '/metadata/resourceVersion', value: '3' },
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'replace', path: '/metadata/managedFields', value: [entry('rogue', { 'f:odd': {} }), ownEntry] },
    ])
  })

  test('who comes again soon after is put out again and not told; after a quiet time that is news', async () => {
    const { writer, script, counted, rounds, clock } = bed()
    const rogue = { managedFields: [entry('rogue', { 'f:vpc': {} })] }
    script(applies, widgetOf('2', stored, rogue), widgetOf('5', stored, rogue), widgetOf('8', stored, rogue))
    script(owning, widgetOf('3', stored), widgetOf('6', stored), widgetOf('9', stored))
    for (const [version, told, round] of [
      ['1', 1, 1],
      ['4', 1, 2],
      ['7', 2, 3],
    ] as const) {
      if (version === '7') await clock.advance(30_000)
      await writer.status(widgetOf(version, undefined), intent, never)
      assert.equal(counted.filter((each) => each === 'conflict widgets vpc rogue').length, told)
      assert.deepEqual(rounds, new Array(round).fill('widgets'))
    }
  })

  test('who is out after the forced apply needs no more', async () => {
    const { writer, script, wire, counted, rounds } = bed()
    script(applies, conflict, widgetOf('3', stored, { managedFields: [ownEntry] }))
    await writer.status(widgetOf('1', undefined), intent, never)
    assert.equal(wire.sent(owning).length, 0)
    assert.deepEqual([counted, rounds], [told, ['widgets']])
  })

  test('who cannot be put out because the object moves is told once, and comes up again', async () => {
    for (const refusal of [answers.testFailed(), answers.notFound(widget, at)]) {
      const { writer, script, counted, events } = bed()
      const rogue = entry('rogue', { 'f:vpc': {} })
      const again = answers.fieldManagerConflict([{ manager: 'rogue', field: '.status.vpc' }])
      script(
        applies,
        again,
        widgetOf('3', stored, { managedFields: [rogue] }),
        again,
        widgetOf('6', stored, { managedFields: [rogue] }),
      )
      script(owning, refusal, widgetOf('7', stored, { managedFields: [] }))
      await writer.status(widgetOf('1', undefined), intent, never)
      await writer.status(widgetOf('5', { vpc: 'theirs' }), intent, never)
      assert.deepEqual(counted.filter((each) => each.endsWith('vpc rogue')).length, 1)
      assert.equal(events.filter((each) => each.includes('"rogue"')).length, 1)
    }
  })

  test('who may not be put out is a fault: the permission is missing', async () => {
    const { writer, script } = bed()
    script(applies, widgetOf('3', stored, { managedFields: [entry('rogue', { 'f:vpc': {} })] }))
    script(owning, answers.namespaceNotFound('elsewhere'))
    await assert.rejects(
      writer.status(widgetOf('1', undefined), intent, never),
      (error) => error instanceof ApiError && error.status === 404,
    )
  })

  test('a co-owner of equal values is put out without force', async () => {
    const { writer, script, forced, counted } = bed()
    script(applies, widgetOf('3', stored, { managedFields: [ownEntry, entry('copycat', { 'f:vpc': {} })] }))
    script(owning, widgetOf('4', stored, { managedFields: [ownEntry] }))
    await writer.status(widgetOf('1', undefined), intent, never)
    assert.deepEqual([forced(), counted], [['false'], ['conflict widgets vpc copycat']])
  })

  test('what they put where the intent has nothing passes to the owner, and is removed by one more apply', async () => {
    const { writer, script, forced, wire } = bed()
    script(
      applies,
      widgetOf('3', { ...stored, note: 'theirs' }, { managedFields: [ownEntry, entry('rogue', { 'f:note': {} })] }),
      widgetOf('5', stored),
    )
    script(owning, widgetOf('4', { ...stored, note: 'theirs' }))
    const stands = await writer.status(widgetOf('1', undefined), intent, never)
    assert.equal(stands.metadata.resourceVersion, '5')
    assert.deepEqual(forced(), ['false', 'false'])
    const inherits = [entry('owner', { 'f:vpc': {}, 'f:note': {} })]
    const operations = wire.sent(owning)[0]?.request.body as { value: unknown }[]
    assert.deepEqual(operations[2]?.value, inherits)
  })

  test('a refused forced apply is judged like any other', async () => {
    const { writer, script, counted } = bed()
    script(applies, conflict, answers.notFound(widget, at))
    await assert.rejects(writer.status(widgetOf('1', undefined), intent, never), WriteGone)
    assert.deepEqual(counted, [...told, 'gone ctl widgets/status apply not-found'])
  })

  test('one who takes a path even from a forced apply is a lost race', async () => {
    const { writer, script } = bed()
    script(applies, conflict, conflict)
    await assert.rejects(
      writer.status(widgetOf('1', undefined), intent, never),
      (error) => error instanceof WriteRaced && error.why === 'second-writer',
    )
  })
})

describe('a theft that raises no conflict', () => {
  async function written() {
    const all = bed()
    all.script(applies, widgetOf('2', stored))
    await all.writer.status(widgetOf('1', undefined), intent, never)
    return all
  }

  test('a dropped condition is counted as somebody’s, once, and put back', async () => {
    const { writer, script, counted, events, rounds, clock } = await written()
    script(applies, widgetOf('4', stored), widgetOf('6', stored))
    await writer.status(widgetOf('3', { vpc: 'x' }), intent, never)
    assert.deepEqual(counted, ['conflict widgets conditions/Ready unknown'])
    assert.deepEqual([events.length, rounds], [1, ['widgets']])
    await clock.advance(30_000)
    await writer.status(widgetOf('5', { vpc: 'x' }), intent, never)
    assert.equal(counted.length, 2, 'a second theft is a second episode')
  })

  test('one that a failed write leaves standing is counted once', async () => {
    const { writer, script, counted } = await written()
    script(applies, answers.internalError(), widgetOf('4', stored))
    const stolen = widgetOf('3', { vpc: 'x' })
    await assert.rejects(writer.status(stolen, intent, never), ApiError)
    await writer.status(stolen, intent, never)
    assert.deepEqual(counted, ['conflict widgets conditions/Ready unknown'])
  })

  test('is none where an apply whose answer was lost had landed', async () => {
    const { writer, script, counted, events } = await written()
    const moved = { ...stored, vpc: 'moved' }
    script(applies, answers.internalError(), widgetOf('4', { ...moved, note: 'n' }))
    await assert.rejects(writer.status(widgetOf('2', stored), { ...intent, vpc: 'moved' }, never), ApiError)
    await writer.status(widgetOf('3', moved), { ...intent, vpc: 'moved' }, never)
    await writer.status(widgetOf('3', moved), { ...intent, vpc: 'moved', note: 'n' }, never)
    assert.deepEqual([...counted, ...events], [])
  })

  const ends: { says: string; answer: ApiResponse; counts: boolean }[] = [
    { says: 'was a refusal', answer: answers.invalid(widget, at, 'status.vpc', 'no'), counts: true },
    { says: 'was a bad request', answer: statusAnswer(400, 'BadRequest', 'no'), counts: true },
    { says: 'was torn', answer: { status: 200, headers: {}, body: '{"apiVer' }, counts: false },
    { says: 'was a redirection', answer: { status: 307, headers: {}, body: '' }, counts: false },
  ]
  for (const { says, answer, counts } of ends) {
    test(`is ${counts ? '' : 'not '}told of what an apply wanted whose answer ${says}`, async () => {
      const { writer, script, counted } = await written()
      script(applies, answer)
      const meant = { ...intent, vpc: 'moved' }
      await assert.rejects(writer.status(widgetOf('2', stored), meant, never), ApiError)
      await writer.status(widgetOf('3', { ...stored, vpc: 'moved' }), meant, never)
      assert.deepEqual(counted, counts ? ['conflict widgets vpc unknown'] : [])
    })
  }

  test('is counted where others changed more than an apply whose answer was lost', async () => {
    const { writer, script, counted } = await written()
    const meant = { ...intent, vpc: 'moved' }
    script(applies, answers.internalError(), widgetOf('4', { ...stored, vpc: 'moved' }))
    await assert.rejects(writer.status(widgetOf('2', stored), meant, never), ApiError)
    await writer.status(widgetOf('3', { vpc: 'moved' }), meant, never)
    assert.deepEqual(counted, ['conflict widgets conditions/Ready unknown'])
  })

  test('is counted also where it left what is wanted now', async () => {
    const { writer, counted, rounds, wire, clock } = await written()
    await writer.status(widgetOf('3', { ...stored, vpc: 'y' }), { ...intent, vpc: 'y' }, never)
    await writer.status(widgetOf('4', { ...stored, vpc: 'y' }), { ...intent, vpc: 'y' }, never)
    assert.deepEqual([counted, rounds], [['conflict widgets vpc unknown'], []])
    await clock.advance(30_000)
    await writer.status(widgetOf('4', { ...stored, vpc: 'y' }), { ...intent, vpc: 'y' }, never)
    assert.equal(counted.length, 1, 'what stands is known now')
    await writer.status(widgetOf('5', { ...stored, vpc: 'z' }), { ...intent, vpc: 'z' }, never)
    assert.equal(counted.length, 2, 'a second theft is a second episode')
    assert.equal(wire.requests.length, 1)
  })

  test('is none for an object that is older than the own write', async () => {
    const { writer, script, counted } = await written()
    script(applies, widgetOf('4', stored))
    await writer.status(widgetOf('1', undefined), { ...intent, vpc: 'y' }, never)
    assert.deepEqual(counted, [])
  })

  test('is none in a new term: another process led meanwhile', async () => {
    const { writer, script, counted, registry } = await written()
    registry.newTerm()
    script(applies, widgetOf('4', stored))
    await writer.status(widgetOf('3', { vpc: 'theirs' }), intent, never)
    assert.deepEqual(counted, [])
  })

  test('is none for an object that was forgotten', async () => {
    const { writer, script, counted } = await written()
    writer.forget('space/a')
    script(applies, widgetOf('4', stored))
    await writer.status(widgetOf('3', { vpc: 'theirs' }), intent, never)
    assert.deepEqual(counted, [])
  })

  test('is told under the name that a conflict gives, not twice', async () => {
    const { writer, script, counted } = await written()
    script(applies, answers.fieldManagerConflict([{ manager: 'rogue', field: '.status.vpc' }]), widgetOf('4', stored))
    await writer.status(widgetOf('3', { ...stored, vpc: 'theirs' }), intent, never)
    assert.deepEqual(counted, ['conflict widgets vpc rogue'])
  })
})

describe('others that the watch shows', () => {
  const copycat = { managedFields: [ownEntry, entry('copycat', { 'f:vpc': {} })] }

  test('a co-owner of equal values is put out though no value differs, and no more is sent then', async () => {
    const { writer, see, script, forced, wire, counted, rounds } = bed()
    script(applies, widgetOf('2', stored, copycat))
    script(owning, widgetOf('3', stored, { managedFields: [ownEntry] }))
    const stands = await writer.status(see(widgetOf('2', stored, copycat)), intent, never)
    assert.deepEqual([forced(), wire.sent(owning).length], [['false'], 1])
    assert.deepEqual([counted, rounds], [['conflict widgets vpc copycat'], ['widgets']])
    await writer.status(stands, intent, never)
    assert.equal(wire.requests.length, 2)
  })

  test('are named for what they changed, before and instead of a trace that is lost', async () => {
    const { writer, see, script, counted } = bed()
    script(applies, widgetOf('2', stored), widgetOf('4', stored, { managedFields: [ownEntry] }))
    await writer.status(widgetOf('1', undefined), intent, never)
    const stolen = { managedFields: [entry('rogue', { 'f:vpc': {} })] }
    await writer.status(see(widgetOf('3', { ...stored, vpc: 'theirs' }, stolen)), intent, never)
    assert.deepEqual(counted, ['conflict widgets vpc rogue'])
  })

  test('are nobody’s concern on paths that are not documented', async () => {
    const { writer, see, wire } = bed()
    await writer.status(see(widgetOf('2', stored, { managedFields: [entry('other', { 'f:odd': {} })] })), intent, never)
    assert.equal(wire.requests.length, 0)
  })

  test('are still there when they could not be put out, and are then put out', async () => {
    const { writer, see, script, wire } = bed()
    script(applies, widgetOf('2', stored, copycat), widgetOf('4', stored, copycat))
    script(owning, answers.testFailed(), widgetOf('5', stored, { managedFields: [ownEntry] }))
    await writer.status(see(widgetOf('2', stored, copycat)), intent, never)
    await writer.status(see(widgetOf('4', stored, copycat)), intent, never)
    assert.equal(wire.sent(owning).length, 2)
  })
})

describe('whoever writes again and again', () => {
  const stolen = { vpc: 'theirs', conditions: stored.conditions } as Status

  /** So many thefts, each undone at once. */
  async function fought(rounds: number, options: Options = {}) {
    const all = bed(options)
    let version = 1
    const steal = () => widgetOf(String(++version), stolen)
    const undo = async (given = intent as { vpc: string; conditions: typeof intent.conditions }) => {
      const seen = steal()
      version += 1
      all.script(applies, widgetOf(String(version), { ...stored, vpc: given.vpc }))
      return all.writer.status(seen, given as typeof intent, never)
    }
    all.script(applies, widgetOf('1', stored))
    await all.writer.status(widgetOf('0', undefined), intent, never)
    for (let round = 0; round < rounds; round += 1) await undo()
    return { ...all, steal, undo }
  }

  const heldBack = (afterMs: number) => (error: unknown) => error instanceof WriteHeldBack && error.afterMs === afterMs

  test('is left alone for a moment after three rounds, and then overruled', async () => {
    const { writer, steal, undo, clock, wire, counted, rounds, events } = await fought(3)
    const sent = wire.requests.length
    await assert.rejects(writer.status(steal(), intent, never), heldBack(50))
    await clock.advance(49)
    await assert.rejects(writer.status(steal(), intent, never), heldBack(1))
    assert.equal(wire.requests.length, sent)
    await clock.advance(1)
    assert.equal((await undo()).status?.vpc, 'x')
    assert.deepEqual([counted, rounds.length, events.length], [['conflict widgets vpc unknown'], 4, 1])
    await assert.rejects(writer.status(steal(), intent, never), heldBack(100))
  })

  test('is left alone too where it changes no value, or was seen before and wrote again', async () => {
    const copycat = { managedFields: [ownEntry, entry('copycat', { 'f:vpc': {} })] }
    const { writer, see, wire } = await fought(3)
    const sent = wire.requests.length
    await assert.rejects(writer.status(see(widgetOf('20', stored, copycat)), intent, never), heldBack(50))
    await assert.rejects(writer.status(see(widgetOf('21', stolen, copycat)), intent, never), heldBack(50))
    assert.equal(wire.requests.length, sent)
  })

  test('the signal names the write; it is no race', async () => {
    const { writer, steal, counted } = await fought(3)
    await assert.rejects(writer.status(steal(), intent, never), (error) => {
      assert.ok(error instanceof WriteHeldBack)
      assert.deepEqual(error.target, { controller: 'ctl', resource: 'widgets/status', verb: 'apply', key: 'space/a' })
      return true
    })
    assert.deepEqual(counted, ['conflict widgets vpc unknown'])
  })

  test('does not delay what the owner has to say anew, once they are out', async () => {
    const { writer, script } = await fought(3)
    script(applies, widgetOf('20', { ...stored, vpc: 'moved' }))
    const stands = await writer.status(widgetOf('7', stored), { ...intent, vpc: 'moved' }, never)
    assert.equal(stands.status?.vpc, 'moved')
  })

  test('is forgotten with the object, and in a new term', async () => {
    for (const end of ['forget', 'term'] as const) {
      const { writer, registry, see, script, counted } = await fought(3)
      if (end === 'forget') writer.forget('space/a')
      else registry.newTerm()
      const rogue = { managedFields: [entry('rogue', { 'f:vpc': {} })] }
      script(applies, widgetOf('21', stored, { managedFields: [ownEntry] }))
      await writer.status(see(widgetOf('20', stolen, rogue)), intent, never)
      assert.deepEqual(counted, ['conflict widgets vpc unknown', 'conflict widgets vpc rogue'])
    }
  })
})

describe('earlier software', () => {
  const old: ManagedFieldsEntry = {
    manager: 'manager',
    operation: 'Update',
    subresource: 'status',
    apiVersion: 'example.dev/v1',
    fieldsV1: { 'f:status': { 'f:vpc': {} } },
  }

  function mixed() {
    const moved: string[] = []
    const all = bed({
      legacy: ['manager'],
      async migrate(object) {
        moved.push(object.metadata.resourceVersion ?? '')
        return widgetOf('5', object.status, { managedFields: [ownEntry] })
      },
    })
    return { ...all, moved }
  }

  test('is no second writer for what it left, and nothing is sent for it alone', async () => {
    const { writer, see, moved, wire, counted } = mixed()
    await writer.status(see(widgetOf('2', stored, { managedFields: [old] })), intent, never)
    assert.deepEqual([moved, wire.requests, counted], [[], [], []])
  })

  test('has its entries moved before the first apply', async () => {
    const { writer, see, script, moved, counted, rounds, wire } = mixed()
    script(applies, widgetOf('6', { ...stored, vpc: 'y' }, { managedFields: [ownEntry] }))
    const meant = { ...intent, vpc: 'y' }
    await writer.status(see(widgetOf('2', stored, { managedFields: [old] })), meant, never)
    assert.deepEqual([moved, counted, rounds, wire.requests.length], [['2'], [], [], 1])
  })

  test('is one where it changes what the owner wrote', async () => {
    const { writer, see, script, moved, counted, rounds } = mixed()
    script(applies, widgetOf('2', stored, { managedFields: [ownEntry] }), widgetOf('6', stored, { managedFields: [ownEntry] }))
    await writer.status(widgetOf('1', undefined), intent, never)
    await writer.status(see(widgetOf('4', { ...stored, vpc: 'theirs' }, { managedFields: [old] })), intent, never)
    assert.deepEqual([moved, counted, rounds], [['4'], ['conflict widgets vpc manager'], ['widgets']])
  })

  test('is one like any other where nobody moves its entries', async () => {
    const { writer, see, script, counted } = bed({ legacy: ['manager'] })
    script(applies, widgetOf('3', stored, { managedFields: [ownEntry] }))
    await writer.status(see(widgetOf('2', stored, { managedFields: [old] })), intent, never)
    assert.deepEqual(counted, ['conflict widgets vpc manager'])
  })
})
