/** Ownership of earlier software on the real API server: what the server makes of the moved entries decides, not the model. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import {
  ApiError,
  apiVersionOf,
  createCache,
  createHandover,
  createStatusWriter,
  createWriteRegistry,
  gatheringManagers,
  type Kind,
  type KubeObject,
  type ManagedFieldsEntry,
  migrateAll,
  migrateObject,
  type ResourceOwnership,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import { installManifests } from 'kube-localplane'
import { eventually, sharedPlane } from 'kube-localplane/testing'
import { alice, type Bench, countingMetrics, Gadget, type GadgetStatus, gadgetCrd, openBench } from './gadget.ts'
import { background } from './widget.ts'

const keep = 'writers.example.dev/keep'
const formerly = ['manager', ''] as const
const owner = { ...alice, formerly } as const
const row: ResourceOwnership = {
  kind: Gadget,
  legacy: ['manager', 'old-binary', ...gatheringManagers],
  status: [owner, { writer: 'holder', identity: 'holder', anyManager: true, owns: ['conditions/Carried'], when: '' }],
  metadata: [
    { path: 'spec', writer: 'user', identity: 'user', when: '' },
    { path: `metadata.finalizers/${keep}`, writer: 'alice', identity: 'alice', formerly, when: '' },
  ],
}

let bench: Bench
before(async () => {
  bench = await openBench('migration')
})
after(() => bench[Symbol.asyncDispose]())

const condition = <const Type extends string>(type: Type, status: 'True' | 'False' = 'True') => ({
  ...{ type, status, reason: 'Told', message: 'so' },
  lastTransitionTime: '2030-01-01T00:00:00Z',
})

/** A change by `Update`, as clients without apply make it; managers as the server records them. */
async function update(kind: Kind, name: string, manager: string, patch: unknown, subresource?: 'status') {
  const { group, version, plural } = kind
  const base = `/apis/${group}/${version}/namespaces/${bench.namespace}/${plural}/${name}`
  const path = subresource ? `${base}/${subresource}` : base
  const query = { fieldManager: manager }
  await bench.client.raw({ method: 'PATCH', path, query, contentType: 'application/merge-patch+json', body: patch }, bench.signal)
}

type StatusKind = Kind<unknown, GadgetStatus>

const putStatus = (name: string, manager: string, status: GadgetStatus, kind: StatusKind = Gadget as StatusKind) =>
  update(kind, name, manager, { status }, 'status')

function applyStatus(name: string, manager: string, status: GadgetStatus, kind: StatusKind = Gadget as StatusKind) {
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name }, status }
  const at = { name, namespace: bench.namespace, subresource: 'status' }
  return bench.client.apply(kind, at, body, { fieldManager: manager, force: true }, bench.signal)
}

const entriesOf = ({ metadata }: KubeObject) => metadata.managedFields ?? []
const isLegacy = ({ operation, manager = '' }: ManagedFieldsEntry) => operation === 'Update' && row.legacy?.includes(manager)
const migrate = (object: KubeObject, of = row) => migrateObject({ client: bench.client, row: of, signal: bench.signal }, object)

/** A process: its cache, and a writer that takes over what earlier software wrote. */
async function start() {
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const cache = createCache(bench.client, Gadget, { namespace: bench.namespace }, parts)
  const metrics = countingMetrics()
  const registry = createWriteRegistry()
  const own = { client: bench.client, metrics, registry, kind: Gadget, cache, controller: 'gadget' }
  const handover = createHandover({ ...own, manager: owner.writer, table: [row] })
  const writer = createStatusWriter({ ...own, ...handover, owner, clock: systemClock })
  const life = background((signal) => cache.run(signal))
  await cache.ready(bench.signal)
  return {
    cache,
    metrics,
    writer,
    [Symbol.asyncDispose]: () => life.stop(),
  }
}

const writesSince = (from: number) => bench.wire.requests.slice(from).filter(({ request }) => request.method !== 'GET')
const said = ({ type, status }: { type: string; status: string }) => `${type} ${status}`

describe('the first apply after earlier software', () => {
  test('B02: what is no longer wanted disappears, one entry a writer remains, and the next start writes nothing', async () => {
    await bench.create('first', { finalizers: [keep] })
    await putStatus('first', 'manager', { phase: 'Bound', note: 'old', addresses: [{ address: 'a' }] })
    await putStatus('first', 'old-binary', { conditions: [condition('Ready'), condition('Sound')] })
    const intent = { phase: 'Bound', conditions: [{ ...condition('Ready'), observedGeneration: 1 }] } as const
    {
      await using process = await start()
      const object = process.cache.get(`${bench.namespace}/first`)
      assert.ok(object)
      const from = bench.wire.requests.length
      const stands = await process.writer.status(object, intent, bench.signal)
      assert.deepEqual(
        writesSince(from).map(({ request }) => [request.path.split('/').slice(-2).join('/'), request.contentType]),
        [
          ['gadgets/first', 'application/json-patch+json'],
          ['first/status', 'application/apply-patch+yaml'],
        ],
      )
      assert.deepEqual(
        { ...stands.status, conditions: stands.status?.conditions?.map(said) },
        { phase: 'Bound', conditions: ['Ready True'] },
      )
      const owners = entriesOf(stands).map(({ manager, operation, subresource }) => `${manager} ${operation} ${subresource}`)
      assert.deepEqual(owners.sort(), ['alice Apply status', 'creator Update undefined'])
      assert.deepEqual([process.metrics.conflicts, process.metrics.races], [[], []])
    }
    await using next = await start()
    const object = next.cache.get(`${bench.namespace}/first`)
    assert.ok(object)
    const from = bench.wire.requests.length
    await next.writer.status(object, intent, bench.signal)
    assert.deepEqual(bench.wire.requests.slice(from), [], 'no request where nothing of earlier software stands')
  })

  test('what earlier software holds beside the documented paths costs no call', async () => {
    await bench.create('beside')
    await update(Gadget, 'beside', 'manager', { metadata: { labels: { a: 'b' } } })
    await putStatus('beside', 'old-binary', { conditions: [condition('Carried')] })
    await migrate(await bench.read('beside'))
    await using process = await start()
    const object = process.cache.get(`${bench.namespace}/beside`)
    assert.ok(object)
    assert.ok(entriesOf(await bench.read('beside')).some(isLegacy))
    const from = bench.wire.requests.length
    await process.writer.status(object, { phase: 'New', conditions: [condition('Ready')] }, bench.signal)
    assert.deepEqual(
      bench.wire.requests.slice(from).map(({ request }) => request.contentType),
      ['application/apply-patch+yaml'],
    )
  })

  test('an object that moves on meanwhile is a lost race, one that is gone is gone', async () => {
    await bench.create('moving')
    await putStatus('moving', 'manager', { phase: 'Bound' })
    await using process = await start()
    const object = process.cache.get(`${bench.namespace}/moving`)
    assert.ok(object)
    const held = bench.wire.on({ method: 'PATCH', contentType: 'application/json-patch+json' }).hold()
    const writing = process.writer.status(object, { phase: 'New', conditions: [condition('Ready')] }, bench.signal)
    await held.arrived()
    await update(Gadget, 'moving', 'someone', { metadata: { labels: { a: 'b' } } })
    held.release()
    await assert.rejects(writing, { code: 'WRITE_RACED' })
    assert.deepEqual(process.metrics.races, [{ controller: 'gadget', resource: 'gadgets', verb: 'migrate', cause: 'stale' }])
    await bench.client.remove(Gadget, object.metadata, {}, bench.signal)
    await assert.rejects(process.writer.status(object, { phase: 'New', conditions: [condition('Ready')] }, bench.signal), {
      code: 'WRITE_GONE',
    })
  })
})

const relicCrd = (listType: 'atomic' | 'map') => {
  const crd = structuredClone(gadgetCrd) as unknown as {
    metadata: { name: string }
    spec: {
      names: object
      versions: [
        { schema: { openAPIV3Schema: { properties: { status: { properties: { conditions: Record<string, unknown> } } } } } },
      ]
    }
  }
  crd.metadata.name = 'relics.writers.example.dev'
  crd.spec.names = { kind: 'Relic', listKind: 'RelicList', plural: 'relics', singular: 'relic' }
  const list = crd.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions
  list['x-kubernetes-list-type'] = listType
  if (listType === 'atomic') delete list['x-kubernetes-list-map-keys']
  return crd as never
}
const Relic = { ...Gadget, kind: 'Relic', plural: 'relics' }

describe('objects from before conditions had keys', () => {
  test('a condition that is left out goes, a foreign one stays, and the holder of the list holds nothing', async () => {
    const plane = await sharedPlane()
    await installManifests(plane, [relicCrd('atomic')])
    const body = { apiVersion: 'writers.example.dev/v1', kind: 'Relic', metadata: { name: 'old', namespace: bench.namespace } }
    await bench.client.create(Relic, { ...body, spec: {} }, { fieldManager: 'creator' }, bench.signal)
    await update(Relic, 'old', 'manager', { status: { phase: 'Bound' } }, 'status')
    const conditions = ['Ready', 'Sound', 'Carried'].map((type) => condition(type))
    await update(Relic, 'old', 'old-binary', { status: { ref: { name: 'x' }, conditions } }, 'status')
    await installManifests(plane, [relicCrd('map')])
    const at = { name: 'old', namespace: bench.namespace }
    const intent = { phase: 'Bound', conditions: [condition('Ready', 'False')] }
    const by = { fieldManager: 'alice', force: false }
    const of = { ...row, kind: Relic }
    const stands = await eventually('the list has keys', async () => {
      const object = await bench.client.find(Relic, at, bench.signal)
      assert.ok(object)
      await migrate(object, of)
      return bench.client.apply(Relic, { ...at, subresource: 'status' }, { ...body, status: intent }, by, bench.signal)
    })
    const status = stands.status as GadgetStatus
    assert.deepEqual(status.conditions?.map(said).sort(), ['Carried True', 'Ready False'])
    assert.equal(status.ref, undefined)
    assert.deepEqual(entriesOf(stands).filter(isLegacy), [])
    assert.equal((await migrate(stands, of)).is, 'clean')
  })
})

const versionsCrd = (served: boolean, { kind, plural }: Pick<Kind, 'kind' | 'plural'> = Fossil) => {
  const crd = structuredClone(gadgetCrd) as unknown as { metadata: { name: string }; spec: { names: object; versions: object[] } }
  crd.metadata.name = `${plural}.writers.example.dev`
  crd.spec.names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() }
  crd.spec.versions = [...crd.spec.versions, { ...crd.spec.versions[0], name: 'v0', served, storage: false }]
  return crd as never
}
const Fossil = { ...Gadget, kind: 'Fossil', plural: 'fossils' }
const FossilV0 = { ...Fossil, version: 'v0' }

describe('objects of several versions', () => {
  test('B08: writing in one version leaves what others own in another as it was, also when that is not served any more', async () => {
    const plane = await sharedPlane()
    await installManifests(plane, [versionsCrd(true)])
    const at = { name: 'old', namespace: bench.namespace }
    const v0 = { apiVersion: 'writers.example.dev/v0', kind: 'Fossil', metadata: at }
    await eventually('both versions are served', () =>
      bench.client.apply(
        FossilV0,
        at,
        { ...v0, spec: { owner: 'me' } },
        { fieldManager: 'consumer', force: false },
        bench.signal,
      ),
    )
    await update(FossilV0, 'old', 'manager', { status: { phase: 'Bound', note: 'old' } }, 'status')
    const read = async () => {
      const object = await bench.client.find(Fossil, at, bench.signal)
      assert.ok(object)
      return object
    }
    const consumers = (object: KubeObject) => entriesOf(object).filter(({ manager }) => manager === 'consumer')
    const first = await read()
    const of = { ...row, kind: Fossil }
    assert.equal((await migrate(first, of)).is, 'moved')
    const body = { ...v0, apiVersion: 'writers.example.dev/v1', status: { phase: 'Free' } }
    const by = { fieldManager: 'alice', force: false }
    const stands = await bench.client.apply(Fossil, { ...at, subresource: 'status' }, body, by, bench.signal)
    assert.equal((stands.status as GadgetStatus).note, undefined)
    assert.equal(JSON.stringify(consumers(stands)), JSON.stringify(consumers(first)))
    await update(FossilV0, 'old', 'manager', { status: { note: 'again' } }, 'status')
    await installManifests(plane, [versionsCrd(false)])
    const later = await eventually('v0 is not served', async () => {
      const path = `/apis/writers.example.dev/v0/namespaces/${bench.namespace}/fossils`
      await assert.rejects(bench.client.raw({ method: 'GET', path }, bench.signal), { status: 404 })
      return read()
    })
    assert.equal((await migrate(later, of)).is, 'moved')
    const owners = entriesOf(await read())
    assert.deepEqual(owners.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`).sort(), [
      'alice writers.example.dev/v1',
      'consumer writers.example.dev/v1',
    ])
    assert.deepEqual(owners.find(({ manager }) => manager === 'consumer')?.fieldsV1, { 'f:spec': { 'f:owner': {} } })
  })
})

/** A kind in two versions, of which the older is served until `retire`. */
async function twoVersions(plural: string) {
  const plane = await sharedPlane()
  const kind = { ...Gadget, kind: `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}`, plural } as StatusKind
  const older = { ...kind, version: 'v0' }
  await installManifests(plane, [versionsCrd(true, kind)])
  const create = (name: string, of = kind) =>
    bench.client.create(
      of,
      { apiVersion: apiVersionOf(of), kind: of.kind, metadata: { name, namespace: bench.namespace }, spec: {} },
      { fieldManager: 'creator' },
      bench.signal,
    )
  await eventually('both versions are served', async () => Boolean(await create('probe', older)))
  return {
    ...{ kind, older, create },
    async read(name: string) {
      const object = await bench.client.find(kind, { name, namespace: bench.namespace }, bench.signal)
      assert.ok(object)
      return object
    },
    async retire() {
      await installManifests(plane, [versionsCrd(false, kind)])
      const path = `/apis/${apiVersionOf(older)}/namespaces/${bench.namespace}/${plural}`
      await eventually('v0 is not served', () =>
        assert.rejects(bench.client.raw({ method: 'GET', path }, bench.signal), { status: 404 }).then(() => true),
      )
    },
  }
}

const fieldsOf = (object: KubeObject, manager: string) =>
  entriesOf(object)
    .filter((each) => each.manager === manager)
    .map(({ apiVersion, fieldsV1 }): [string | undefined, Record<string, object>] => [
      apiVersion?.split('/')[1],
      (fieldsV1 ?? {}) as Record<string, object>,
    ])

describe('what the server takes for one entry', () => {
  test('nobody loses ownership where entries of one manager in two versions become one', async () => {
    const { kind, older, create, read, retire } = await twoVersions('strata')
    await create('own')
    await applyStatus('own', 'alice', { phase: 'Bound', conditions: [condition('Ready')] }, older)
    await putStatus('own', 'manager', { note: 'old' }, kind)
    assert.equal((await migrate(await read('own'), { ...row, kind })).is, 'moved')
    const stands = await applyStatus('own', 'alice', { conditions: [condition('Ready')] }, kind)
    assert.deepEqual(
      Object.keys(stands.status ?? {}),
      ['conditions'],
      'what it applied before, and what it took over, is its to remove',
    )

    await create('others')
    await update(older, 'others', 'user', { spec: { owner: 'me' } })
    await putStatus('others', 'manager', { phase: 'Bound' }, older)
    const second = (await read('others')).metadata.managedFields?.find(({ manager }) => manager === 'user')?.time
    await eventually('the next second', () => new Date().toISOString() > `${second?.slice(0, -1)}.999Z`)
    await update(kind, 'others', 'user', { spec: { size: 4 } })
    await putStatus('others', 'manager', { note: 'old' }, kind)
    await retire()
    assert.equal((await migrate(await read('others'), { ...row, kind })).is, 'moved')
    const after = await read('others')
    assert.deepEqual(fieldsOf(after, 'user'), [['v1', { 'f:spec': { 'f:owner': {}, 'f:size': {} } }]])
    assert.deepEqual(fieldsOf(after, 'alice'), [['v1', { 'f:status': { 'f:note': {}, 'f:phase': {} } }]])
  })

  test('a second writer is put out also where somebody owns something in a version that is gone', async () => {
    const { kind, older, create, read, retire } = await twoVersions('layers')
    await create('a')
    await update(older, 'a', 'user', { spec: { owner: 'me' } })
    await retire()
    await applyStatus('a', 'rogue', { phase: 'Bound', conditions: [condition('Carried')] }, kind)
    const parts = { client: bench.client, metrics: countingMetrics(), registry: createWriteRegistry(), controller: 'gadget' }
    const writer = createStatusWriter({ ...parts, kind, owner, clock: systemClock })
    await writer.status(await read('a'), { phase: 'Bound', conditions: [condition('Ready')] }, bench.signal)
    const after = await read('a')
    assert.deepEqual(fieldsOf(after, 'user'), [['v1', { 'f:spec': { 'f:owner': {} } }]])
    assert.deepEqual(Object.keys(fieldsOf(after, 'rogue')[0]?.[1]?.['f:status'] ?? {}), ['f:conditions'])
    assert.equal(fieldsOf(after, 'alice').length, 1)
  })
})

describe('what the server itself keeps of others', () => {
  test('of all beyond the tenth manager: passes to the writer, and the rest stays theirs', async () => {
    await bench.create('crowd')
    await putStatus('crowd', 'manager', { phase: 'Bound', conditions: [condition('Ready'), condition('Carried')] })
    for (let n = 0; n < 12; n += 1) await update(Gadget, 'crowd', `user-${n}`, { metadata: { labels: { [`label-${n}`]: '' } } })
    const was = await bench.read('crowd')
    assert.ok(entriesOf(was).some(({ manager }) => manager === 'ancient-changes'))
    assert.equal((await migrate(was)).is, 'moved')
    const is = await bench.read('crowd')
    assert.deepEqual(values(is), values(was))
    const gathered = fieldsOf(is, 'ancient-changes')[0]?.[1] as { 'f:metadata': { 'f:labels': object }; 'f:status': object }
    assert.ok('f:label-0' in gathered['f:metadata']['f:labels'])
    assert.deepEqual(Object.keys(fieldsOf(is, 'alice')[0]?.[1]?.['f:status'] ?? {}).sort(), ['f:conditions', 'f:phase'])
    const { status } = await applyStatus('crowd', 'alice', { conditions: [condition('Ready')] })
    assert.equal(status?.phase, undefined)
  })

  test('of an object whose ownership somebody wiped out: no second writer is told of', async () => {
    await bench.create('wiped')
    await applyStatus('wiped', 'alice', { phase: 'Bound', conditions: [condition('Ready')] })
    const wipe = [{ op: 'replace', path: '/metadata/managedFields', value: [{}] }] as const
    const at = { name: 'wiped', namespace: bench.namespace }
    await bench.client.jsonPatch(Gadget, at, wipe, { fieldManager: 'x' }, bench.signal)
    await using process = await start()
    const object = process.cache.get(`${bench.namespace}/wiped`)
    assert.ok(object)
    const stands = await process.writer.status(object, { phase: 'Free', conditions: [condition('Ready')] }, bench.signal)
    assert.equal(stands.status?.phase, 'Free')
    assert.deepEqual(process.metrics.conflicts, [])
    const left = await process.writer.status(stands, { conditions: [condition('Ready')] }, bench.signal)
    assert.equal(left.status?.phase, undefined)
  })
})

/** Writes in one of two versions of a kind. */
type Step = { says: string; run(name: string, kind: StatusKind): Promise<unknown> }

const statuses = fc.record(
  {
    phase: fc.constantFrom('Bound', 'Free'),
    note: fc.constantFrom('one', 'two'),
    ref: fc.constantFrom({ name: 'x' }, { name: 'y' }),
    addresses: fc.constantFrom<{ address: string }[]>([{ address: 'a' }], [{ address: 'a' }, { address: 'b' }]),
    conditions: fc
      .subarray(['Ready', 'Sound', 'Carried', 'Rogue'], { minLength: 1 })
      .chain((types) =>
        fc.tuple(...types.map((type) => fc.constantFrom('True' as const, 'False' as const).map((s) => condition(type, s)))),
      ),
  },
  { requiredKeys: [] },
)
const holderStatus = fc.constantFrom<GadgetStatus>(
  { conditions: [condition('Carried')] },
  { conditions: [condition('Carried', 'False')] },
)
const own = statuses.map(({ conditions = [condition('Ready')], ...rest }) => {
  const owned = conditions.filter(({ type }) => type === 'Ready' || type === 'Sound')
  return { ...rest, conditions: owned.length > 0 ? owned : [condition('Ready')] }
})

const step = (says: string, run: Step['run']): Step => ({ says, run })
const steps = fc.oneof(
  fc
    .tuple(fc.constantFrom('manager', 'manager', 'old-binary', 'old-binary', 'kubectl-edit'), statuses)
    .map(([by, status]) => step(`${by} puts ${JSON.stringify(status)}`, (name, kind) => putStatus(name, by, status, kind))),
  own.map((status) => step(`alice applies ${JSON.stringify(status)}`, (name, kind) => applyStatus(name, 'alice', status, kind))),
  holderStatus.map((status) => step('a holder applies', (name, kind) => applyStatus(name, 'holder', status, kind))),
  fc
    .tuple(fc.constantFrom('manager', 'kubectl-edit'), fc.subarray([keep, 'other.dev/keep']))
    .map(([by, finalizers]) =>
      step(`${by} sets finalizers`, (name, kind) => update(kind, name, by, { metadata: { finalizers } })),
    ),
  fc
    .constantFrom('manager', 'user')
    .map((by) => step(`${by} labels`, (name, kind) => update(kind, name, by, { metadata: { labels: { by } } }))),
  fc.constant(
    step('a crowd labels', async (name, kind) => {
      for (let n = 0; n < 10; n += 1) await update(kind, name, `user-${n}`, { metadata: { labels: { [`label-${n}`]: '' } } })
    }),
  ),
)

const values = ({ metadata: { managedFields: _, resourceVersion: __, ...metadata }, spec, status }: KubeObject) => ({
  ...{ metadata, spec, status },
})
const foreignEntries = (object: KubeObject) =>
  JSON.stringify(entriesOf(object).filter((entry) => !isLegacy(entry) && entry.manager !== 'alice'))

/** Someone else holds a documented path too: a second writer, which is another matter. */
function hasSecondWriter(object: KubeObject): boolean {
  const others = entriesOf(object).filter(({ manager }) => manager !== 'alice')
  return others.some(({ fieldsV1 }) => /"f:(phase|note|ref|addresses)"|Ready|Sound/.test(JSON.stringify(fieldsV1)))
}

const owned = ['Ready', 'Sound']

/** An apply that leaves out a condition which others hold in part is refused, since the rest of it would be no condition. */
async function unlessRefused(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error
  }
}

/** Then the server gathers the oldest entries of whomever, whenever one more manager comes. */
const isCrowded = (object: KubeObject) => entriesOf(object).filter(({ operation }) => operation === 'Update').length >= 10

type History = readonly { step: Step; isOlder: boolean }[]

async function holds({ kind, older, create, read }: Awaited<ReturnType<typeof twoVersions>>, name: string, history: History) {
  await create(name)
  for (const { step, isOlder } of history) await unlessRefused(step.run(name, isOlder ? older : kind))
  const of = { ...row, kind }
  const was = await read(name)
  const outcome = await migrate(was, of)
  const is = await read(name)
  assert.deepEqual(values(is), values(was), 'no value changes')
  if (!isCrowded(is)) assert.equal(foreignEntries(is), foreignEntries(was), 'entries of others stay byte for byte')
  assert.equal(outcome.is === 'moved', was.metadata.resourceVersion !== is.metadata.resourceVersion)
  assert.equal((await migrate(is, of)).is, 'clean', 'a second run has nothing to do')
  if (hasSecondWriter(is)) return
  const { status } = await applyStatus(name, 'alice', { conditions: [condition('Ready')] }, kind)
  const left = { ...status, conditions: status?.conditions?.map(({ type }) => type).filter((type) => owned.includes(type)) }
  assert.deepEqual(left, { conditions: ['Ready'] }, 'what is left out goes')
}

describe('any history', () => {
  test('no value and no entry of others changes, the second run is clean, and what is left out goes', async () => {
    let runs = 0
    const versions = await twoVersions('annals')
    const histories = fc.array(fc.record({ step: steps, isOlder: fc.boolean() }), { minLength: 1, maxLength: 7 })
    await fc.assert(
      fc.asyncProperty(histories, (history) => holds(versions, `any-${runs++}`, history)),
      { numRuns: 40, endOnFailure: true, verbose: 1 },
    )
  })

  test('page by page: all objects of a kind, and nothing the second time', async () => {
    for (const name of ['page-a', 'page-b']) {
      await bench.create(name)
      await putStatus(name, 'manager', { phase: 'Bound' })
    }
    const moved = async (isDryRun: boolean) => {
      const names: string[] = []
      for await (const { object, migration } of migrateAll({
        client: bench.client,
        table: [row],
        isDryRun,
        signal: bench.signal,
      })) {
        if (object.metadata.namespace === bench.namespace && object.metadata.name.startsWith('page-'))
          names.push(`${object.metadata.name} ${migration.is}`)
      }
      return names
    }
    assert.deepEqual(await moved(true), ['page-a moved', 'page-b moved'])
    assert.deepEqual(await moved(false), ['page-a moved', 'page-b moved'])
    assert.deepEqual(await moved(false), [])
  })
})
