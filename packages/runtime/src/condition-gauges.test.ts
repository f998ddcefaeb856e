import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import type { CacheState } from './cache.ts'
import { condition } from './condition.ts'
import { registerConditionGauges } from './condition-gauges.ts'
import type { KubeObject } from './kind.ts'

const now = '2026-05-01T12:00:00Z'
const Ready = condition('Ready', { True: ['Fine', 'Finer'], False: ['Broken', 'Late'], Unknown: ['Pending'] })

type Given = { ready?: Record<string, unknown>; created?: string; deleted?: string; status?: unknown }

const gadget = ({ ready, created = '2026-05-01T11:00:00Z', deleted, status }: Given): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Gadget',
  metadata: { name: 'g', creationTimestamp: created, ...(deleted ? { deletionTimestamp: deleted } : {}) },
  spec: {},
  status:
    status ??
    (ready
      ? {
          conditions: [
            { type: 'Other', status: 'True' },
            { type: 'Ready', ...ready },
          ],
        }
      : undefined),
})

/** The page's series, without comments. */
async function series(objects: readonly Given[], state: CacheState = 'synced'): Promise<string[]> {
  const registry = new Registry()
  registerConditionGauges({
    registry,
    clock: { now: () => new Date(now) },
    cache: { state, values: () => objects.map(gadget).values() },
    condition: Ready,
    names: { count: 'sample_gadgets', oldest: 'sample_gadget_oldest_not_ready_seconds' },
    what: 'gadgets',
  })
  return (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'))
}

const count = (ready: string, reason: string, value: number) => `sample_gadgets{ready="${ready}",reason="${reason}"} ${value}`
const oldest = (reason: string, value: number) => `sample_gadget_oldest_not_ready_seconds{reason="${reason}"} ${value}`
const none = count('True', 'Fine', 0)
const broken = { status: 'False', reason: 'Broken', lastTransitionTime: '2026-05-01T11:59:00Z' }

const rows: { says: string; objects: Given[]; want: string[] }[] = [
  { says: 'no object', objects: [], want: [none] },
  { says: 'one that is ready', objects: [{ ready: { status: 'True', reason: 'Fine' } }], want: [count('True', 'Fine', 1)] },
  {
    says: 'one that is not, for a minute',
    objects: [{ ready: broken }],
    want: [none, count('False', 'Broken', 1), oldest('Broken', 60)],
  },
  {
    says: 'several of one reason: the oldest counts',
    objects: [{ ready: { ...broken, lastTransitionTime: '2026-05-01T11:58:00Z' } }, { ready: broken }],
    want: [none, count('False', 'Broken', 2), oldest('Broken', 120)],
  },
  {
    says: 'a default of the schema: since the creation',
    objects: [{ ready: { status: 'Unknown', reason: 'Pending', lastTransitionTime: '1970-01-01T00:00:00Z' } }],
    want: [none, count('Unknown', 'Pending', 1), oldest('Pending', 3600)],
  },
  {
    says: 'no condition: since the creation',
    objects: [{}],
    want: [none, count('Unknown', 'NotReported', 1), oldest('NotReported', 3600)],
  },
  {
    says: 'a reason that somebody made up',
    objects: [{ ready: { ...broken, reason: 'Broken-web-0' } }],
    want: [none, count('False', 'Other', 1), oldest('Other', 60)],
  },
  {
    says: 'a reason of another status',
    objects: [{ ready: { ...broken, reason: 'Fine' } }],
    want: [none, count('False', 'Other', 1), oldest('Other', 60)],
  },
  {
    says: 'a status that is none',
    objects: [{ ready: { ...broken, status: 'Perhaps' } }],
    want: [none, count('Unknown', 'Other', 1), oldest('Other', 60)],
  },
  {
    says: 'a deleting one: since its deletion, whatever it says',
    objects: [{ ready: { status: 'True', reason: 'Fine' }, deleted: '2026-05-01T11:50:00Z' }],
    want: [none, count('Deleting', 'Deleting', 1), oldest('Deleting', 600)],
  },
  {
    says: 'a time of tomorrow, and a time that is none',
    objects: [
      { ready: { ...broken, lastTransitionTime: '2026-05-02T00:00:00Z' } },
      { ready: { ...broken, reason: 'Late', lastTransitionTime: 'noon' } },
    ],
    want: [none, count('False', 'Broken', 1), count('False', 'Late', 1), oldest('Broken', 0), oldest('Late', 0)],
  },
  {
    says: 'a status that is no map',
    objects: [{ status: 'fine' }, { status: { conditions: [null, 'Ready'] } }],
    want: [none, count('Unknown', 'NotReported', 2), oldest('NotReported', 3600)],
  },
]
for (const { says, objects, want } of rows) {
  test(`counted: ${says}`, async () => assert.deepEqual(await series(objects), want))
}

for (const { state, known } of [
  { state: 'starting', known: false },
  { state: 'unserved', known: false },
  { state: 'synced', known: true },
  { state: 'stale', known: true },
] as const) {
  test(`a cache that is ${state} ${known ? 'is counted' : 'has no series: not known is not none'}`, async () => {
    assert.equal((await series([{ ready: broken }], state)).length > 0, known)
  })
}

test('labels are bounded: ten thousand objects with reasons of their own make one series more', async () => {
  const objects = Array.from({ length: 10_000 }, (_, at) => ({ ready: { ...broken, reason: `Broken${at}` } }))
  assert.deepEqual(await series(objects), [none, count('False', 'Other', 10_000), oldest('Other', 60)])
})

test('the objects are looked at once for each page', async () => {
  const registry = new Registry()
  let looks = 0
  registerConditionGauges({
    registry,
    clock: { now: () => new Date(now) },
    cache: {
      state: 'synced',
      values: () => {
        looks++
        return [gadget({ ready: broken })].values()
      },
    },
    condition: Ready,
    names: { count: 'a_gadgets', oldest: 'a_oldest_seconds' },
    what: 'gadgets',
  })
  await registry.metrics()
  await registry.metrics()
  assert.equal(looks, 2)
})
