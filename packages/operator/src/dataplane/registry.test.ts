// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DataPlane, finalizers } from '@nso/api'
import { createCache, createClient, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { createDataPlaneRegistry } from './registry.ts'

const attachment = { apiVersion: 'planes.example.dev/v1', kind: 'Wire', spec: { name: 'a' } }
const report = { prepared: { condition: 'Ready' } }
const held = [finalizers.dataPlane]

type Given = Partial<Pick<DataPlane, 'status'>> & {
  name: string
  metadata?: Partial<DataPlane['metadata']>
  spec?: Partial<DataPlane['spec']>
}

const planeOf = ({ name, metadata, spec, status }: Given): DataPlane => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'DataPlane',
  metadata: { name, uid: `${name}-uid`, generation: 1, creationTimestamp: '2026-01-02T00:00:00Z', ...metadata },
  spec: { contract: 'v1', locations: ['*'], attachment, report, ...spec },
  ...(status ? { status } : {}),
})

/** A registry of planes as they are stored, all of whose kinds are served. */
function registryOf(...given: Given[]) {
  const clock = createManualClock()
  const parts = { clock, jitter: () => 1, log: silentLogger }
  const client = createClient(scriptTransport(undefined, { clock }), { clock, jitter: () => 1 })
  const cache = createCache(client, DataPlane, {}, parts)
  const kinds = {
    follow: (ref: FollowedKind['ref']) => ({ ref, state: 'served', kind: undefined, cache: undefined }),
    poke() {},
    onObject: () => () => {},
    onKind: () => () => {},
  } as unknown as DynamicKinds
  const registry = createDataPlaneRegistry({ planes: cache as never, kinds })
  const put = (plane: Given) => cache.absorb(planeOf(plane))
  for (const plane of given) put(plane)
  const told: string[] = []
  registry.onPlane(({ name }) => told.push(name))
  return { registry, put, told }
}

/** Who serves, and who will once it is held. */
const at = (registry: ReturnType<typeof registryOf>['registry'], location: string) => [
  registry.choose(location)?.ref.name,
  registry.prospect(location)?.ref.name,
]

const wide: Given = { name: 'wide', metadata: { finalizers: held } }
const unknownField = (observedGeneration: number): NonNullable<DataPlane['status']> => {
  const refused = { type: 'Accepted', status: 'False', reason: 'UnknownField', message: 'Wire has no field spec.name' } as const
  return { conditions: [{ ...refused, observedGeneration, lastTransitionTime: '2026-01-02T00:00:00Z' }] }
}
const exact = (given: Partial<Given> = {}): Given => ({ name: 'exact', spec: { locations: ['here'] }, ...given })

describe('a location is served by', () => {
  const table: { says: string; given: Given[]; want: (string | undefined)[] }[] = [
    { says: 'nobody where there is no DataPlane', given: [], want: [undefined, undefined] },
    {
      says: 'the most specific one that holds the finalizer',
      given: [wide, exact({ metadata: { finalizers: held } })],
      want: ['exact', 'exact'],
    },
    {
      says: 'nobody until the most specific one holds it, also not by one in its place',
      given: [wide, exact()],
      want: [undefined, 'exact'],
    },
    {
      says: 'the next one while that is being deleted and still held',
      given: [wide, exact({ metadata: { finalizers: held, deletionTimestamp: '2026-01-03T00:00:00Z' } })],
      want: ['wide', 'wide'],
    },
    {
      says: 'the next one where the templates do not compile',
      given: [
        wide,
        exact({
          metadata: { finalizers: held },
          spec: { locations: ['here'], attachment: { ...attachment, spec: { a: '${1 +}' } } },
        }),
      ],
      want: ['wide', 'wide'],
    },
    {
      says: 'the next one where the kind would lend out rights',
      given: [
        wide,
        exact({
          metadata: { finalizers: held },
          spec: { locations: ['here'], attachment: { ...attachment, apiVersion: 'v1', kind: 'Secret' } },
        }),
      ],
      want: ['wide', 'wide'],
    },
    {
      says: 'the next one where the contract is not known',
      given: [wide, exact({ metadata: { finalizers: held }, spec: { locations: ['here'], contract: 'v9' as never } })],
      want: ['wide', 'wide'],
    },
    {
      says: 'the next one where an earlier process found unknown fields, until the schema is there',
      given: [wide, exact({ metadata: { finalizers: held }, status: unknownField(1) })],
      want: ['wide', 'wide'],
    },
    {
      says: 'one whose unknown fields were corrected since',
      given: [wide, exact({ metadata: { finalizers: held, generation: 2 }, status: unknownField(1) })],
      want: ['exact', 'exact'],
    },
    {
      says: 'the older one of a tie',
      given: [wide, { name: 'a-later', metadata: { finalizers: held, creationTimestamp: '2026-01-02T00:00:01Z' } }],
      want: ['wide', 'wide'],
    },
    {
      says: 'the younger one of a tie that the older one is not fit for',
      given: [
        { ...wide, spec: { contract: 'v9' as never } },
        { name: 'a-later', metadata: { finalizers: held, creationTimestamp: '2026-01-02T00:00:01Z' } },
      ],
      want: ['a-later', 'a-later'],
    },
  ]
  for (const { says, given, want } of table) {
    test(says, () => assert.deepEqual(at(registryOf(...given).registry, 'here'), want))
  }
})

test('whoever waits for a DataPlane is told when it holds the finalizer, when it goes, and not of its status', () => {
  const { registry, put, told } = registryOf()
  put({ name: 'one', metadata: { resourceVersion: '1' } })
  assert.deepEqual(told.splice(0), ['one'])
  assert.equal(registry.choose('here'), undefined)
  put({ name: 'one', metadata: { resourceVersion: '2', finalizers: held } })
  assert.deepEqual(told.splice(0), ['one'])
  assert.equal(registry.choose('here')?.ref.name, 'one')
  put({ name: 'one', metadata: { resourceVersion: '3', finalizers: held, labels: { of: 'others' } } })
  assert.deepEqual(told.splice(0), [])
  put({ name: 'one', metadata: { resourceVersion: '4', finalizers: held, deletionTimestamp: '2026-01-03T00:00:00Z' } })
  assert.deepEqual(told.splice(0), ['one'])
  assert.equal(registry.choose('here'), undefined)
})

test('one that is made again under its name is another one: what was chosen before is not found by its name', () => {
  const { registry, put } = registryOf({ name: 'one', metadata: { resourceVersion: '1', finalizers: held } })
  put({ name: 'one', metadata: { resourceVersion: '2', uid: 'another', finalizers: held } })
  assert.equal(registry.find({ name: 'one', uid: 'one-uid' }), undefined)
  assert.equal(registry.find({ name: 'one', uid: 'another' })?.ref.uid, 'another')
})

test('a write in hand is counted until each of them has ended, however it ends', async () => {
  const { registry } = registryOf()
  const ref = { name: 'one', uid: 'one-uid' }
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writes = [registry.making(ref, () => first.promise), registry.making(ref, () => second.promise)]
  first.reject(new Error('refused'))
  await assert.rejects(writes[0] ?? assert.fail())
  assert.equal(registry.isMaking(ref), true)
  second.resolve()
  await writes[1]
  assert.equal(registry.isMaking(ref), false)
})

test('whom a DataPlane serves is told of what they are made and read by, not of locations, capabilities, or its deletion', () => {
  const { registry, put } = registryOf()
  const told: (boolean | undefined)[] = []
  registry.onPlane(({ servedToo }) => told.push(servedToo))
  let version = 0
  const news = (metadata: Given['metadata'], spec: Given['spec'] = {}) => {
    version += 1
    put({ name: 'one', metadata: { resourceVersion: `${version}`, generation: version, ...metadata }, spec })
    return told.splice(0)
  }
  assert.deepEqual(news({}), [true], 'a new one')
  assert.deepEqual(news({ finalizers: held }), [false], 'held')
  assert.deepEqual(news({ finalizers: held }, { locations: ['here'] }), [false])
  assert.deepEqual(news({ finalizers: held }, { capabilities: { attachmentModes: ['Netns'] } }), [false])
  assert.deepEqual(news({ finalizers: held }, { contract: 'v9' as never }), [false])
  assert.deepEqual(news({ finalizers: held }, { attachment: { ...attachment, spec: { name: 'b' } } }), [true])
  assert.deepEqual(news({ finalizers: held }), [true])
  assert.deepEqual(news({ finalizers: held }, { report: { prepared: { condition: 'Up' } } }), [true])
  assert.deepEqual(news({ finalizers: held }, { network: { ...attachment, kind: 'Net' } }), [true])
  const network = { ...attachment, kind: 'Net' }
  assert.deepEqual(news({ finalizers: held, deletionTimestamp: '2026-01-03T00:00:00Z' }, { network }), [false])
  assert.deepEqual(news({ uid: 'another' }), [true, true], 'both the one before and the new one')
})

describe('who would serve a location if it could is', () => {
  const broken = { attachment: { ...attachment, spec: { a: '${1 +}' } } }
  const table: { says: string; given: Given[]; want: string | undefined }[] = [
    { says: 'nobody where one does', given: [wide, { ...exact(), spec: { locations: ['here'], ...broken } }], want: undefined },
    { says: 'one that is not accepted', given: [{ ...exact(), spec: { locations: ['here'], ...broken } }], want: 'exact' },
    {
      says: 'one that is being deleted',
      given: [{ ...wide, metadata: { finalizers: held, deletionTimestamp: '2026-01-03T00:00:00Z' } }],
      want: 'wide',
    },
    {
      says: 'nobody where none names the location',
      given: [exact({ spec: { locations: ['there'], ...broken } })],
      want: undefined,
    },
  ]
  for (const { says, given, want } of table) {
    test(says, () => assert.equal(registryOf(...given).registry.contender('here')?.ref.name, want))
  }
})
