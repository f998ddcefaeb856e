import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataPlane, NetworkInterface } from '@nso/api'
import type { CacheState, KubeObject } from 'kube-control-loop'
import { createManualClock } from 'kube-control-loop/testing'
import { Registry } from 'prom-client'
import { anInterface } from '../../test/objects.ts'
import { registerAttachmentGauges } from './attachment-gauges.ts'

const started = new Date('2026-05-01T12:00:00Z')
const created = '2026-05-01T11:59:00Z'

const plane = (metadata: Partial<DataPlane['metadata']> = {}) => ({ metadata: { name: 'toy', ...metadata } }) as DataPlane

const attachment = (
  ready: Record<string, unknown> | undefined,
  metadata: Partial<KubeObject['metadata']> = {},
  status: Record<string, unknown> = {},
): KubeObject => ({
  apiVersion: 'toy.example.dev/v1',
  kind: 'Wire',
  metadata: {
    name: 'web-0',
    namespace: 'default',
    uid: 'wire-uid',
    generation: 1,
    creationTimestamp: created,
    ownerReferences: [{ apiVersion: 'v1', kind: 'NetworkInterface', name: 'web-0', uid: 'nic-uid', controller: true }],
    ...metadata,
  },
  spec: {},
  status: { ...status, ...(ready ? { conditions: [{ type: 'Ready', ...ready }] } : {}) },
})

type Given = {
  nic?: NetworkInterface
  found?: KubeObject | undefined
  hindrance?: string
  programmed?: string
  states?: { planes?: CacheState; interfaces?: CacheState; attachments?: CacheState }
  object?: DataPlane
}

/** What stands; `set` changes it. */
function world(first: Given) {
  let given = first
  const clock = createManualClock(started)
  const registry = new Registry()
  const state = (name: keyof NonNullable<Given['states']>) => given.states?.[name] ?? 'synced'
  const nic = () => given.nic ?? anInterface()
  registerAttachmentGauges({
    registry,
    clock,
    caches: {
      dataPlanes: {
        get state() {
          return state('planes')
        },
        values: () => [given.object ?? plane()].values(),
      },
      interfaces: {
        get state() {
          return state('interfaces')
        },
        by: (index: string, value: string) => (index === 'plane' && value === 'toy' ? [nic()] : []),
      },
    } as never,
    planes: {
      get: () =>
        ({
          object: given.object ?? plane(),
          compiled: { preparedCondition: 'Ready', programmedCondition: given.programmed },
          plane: {
            hindrance: given.hindrance,
            attachments: {
              get state() {
                return state('attachments')
              },
              get: (key: string) => (key === 'default/web-0' ? given.found : undefined),
            },
          },
        }) as never,
    },
  })
  return {
    clock,
    set: (next: Given) => {
      given = next
    },
    /** By short name. */
    async read(): Promise<Record<string, number>> {
      const lines = (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'))
      const entries = lines.map((line) => /^nso_(\w+)\{data_plane="toy"\} (\S+)$/.exec(line) ?? assert.fail(line))
      return Object.fromEntries(entries.map(([, name = '', value]) => [name, Number(value)]))
    },
  }
}

const all = (attachments: number, unreported: number, seconds: number, usable = 1, violations = 0) => ({
  data_plane_usable: usable,
  data_plane_contract_violations: violations,
  attachments,
  attachments_unreported: unreported,
  attachment_oldest_unreported_seconds: seconds,
})

const said = { status: 'False', reason: 'Busy', lastTransitionTime: created, observedGeneration: 1 }
const seed = { status: 'Unknown', reason: 'Pending', lastTransitionTime: '1970-01-01T00:00:00Z' }
const { claimRef: _, ...released } = anInterface().spec
const foreign = [{ apiVersion: 'v1', kind: 'NetworkInterface', name: 'web-0', uid: 'another', controller: true }]

const rows: { says: string; given: Given; want: Record<string, number> }[] = [
  { says: 'no attachment yet: not the data plane’s silence', given: {}, want: all(0, 0, 0) },
  { says: 'an attachment that was never reported on', given: { found: attachment(undefined) }, want: all(1, 1, 60) },
  { says: 'a default of its schema is no report', given: { found: attachment(seed) }, want: all(1, 1, 60) },
  { says: 'a report that says no is a report', given: { found: attachment(said) }, want: all(1, 0, 0) },
  {
    says: 'a report without a generation, on an attachment that never changed',
    given: { found: attachment({ ...said, observedGeneration: undefined }) },
    want: all(1, 0, 0),
  },
  {
    says: 'the generation of the whole status counts where the condition has none',
    given: { found: attachment({ ...said, observedGeneration: undefined }, { generation: 2 }, { observedGeneration: 2 }) },
    want: all(1, 0, 0),
  },
  {
    says: 'nonsense is no silence, and against the contract',
    given: { found: attachment(undefined, {}, { conditions: 'yes' }) },
    want: all(1, 0, 0, 1, 1),
  },
  {
    says: 'a reason that is no word is against the contract',
    given: { found: attachment({ ...said, reason: 'it is busy' }) },
    want: all(1, 0, 0, 1, 1),
  },
  {
    says: 'an attachment counts once, however many of its conditions are against the contract',
    given: {
      found: attachment(undefined, {}, { conditions: [{ type: 'Ready' }, { type: 'Flows', status: 1 }] }),
      programmed: 'Flows',
    },
    want: all(1, 0, 0, 1, 1),
  },
  {
    says: 'the condition for traffic counts too',
    given: {
      found: attachment(
        undefined,
        {},
        {
          conditions: [
            { type: 'Ready', ...said },
            { type: 'Flows', status: 1 },
          ],
        },
      ),
      programmed: 'Flows',
    },
    want: all(1, 0, 0, 1, 1),
  },
  {
    says: 'a report on an older generation is late, not against the contract',
    given: { found: attachment(said, { generation: 2 }) },
    want: all(1, 1, 0),
  },
  {
    says: 'another interface’s attachment of the same name',
    given: { found: attachment(undefined, { ownerReferences: foreign }) },
    want: all(0, 0, 0),
  },
  {
    says: 'an attachment on its way out',
    given: { found: attachment(undefined, { deletionTimestamp: created }) },
    want: all(0, 0, 0),
  },
  {
    says: 'an interface on its way out',
    given: { nic: anInterface({ metadata: { deletionTimestamp: created } }), found: attachment(undefined) },
    want: all(0, 0, 0),
  },
  {
    says: 'an interface that nobody holds',
    given: { nic: { ...anInterface(), spec: released }, found: attachment(undefined) },
    want: all(0, 0, 0),
  },
  {
    says: 'a data plane that cannot be asked',
    given: { hindrance: 'kind not served', found: attachment(said) },
    want: all(1, 0, 0, 0),
  },
  {
    says: 'a data plane on its way out',
    given: { object: plane({ deletionTimestamp: created }), found: attachment(said) },
    want: all(1, 0, 0, 0),
  },
  { says: 'attachments that are not known', given: { states: { attachments: 'starting' } }, want: { data_plane_usable: 1 } },
  { says: 'attachments whose kind is gone', given: { states: { attachments: 'unserved' } }, want: { data_plane_usable: 1 } },
  { says: 'interfaces that are not known', given: { states: { interfaces: 'starting' } }, want: { data_plane_usable: 1 } },
  { says: 'data planes that are not known', given: { states: { planes: 'starting' } }, want: {} },
  { says: 'what was last known of a stale cache', given: { states: { attachments: 'stale' } }, want: all(0, 0, 0) },
]
for (const { says, given, want } of rows) {
  test(`gauges: ${says}`, async () => assert.deepEqual(await world(given).read(), want))
}

test('a report for an older generation counts from when that was first seen, until it is renewed', async () => {
  const stale = attachment(said, { generation: 2 })
  const { clock, read, set } = world({ found: attachment(said) })
  assert.deepEqual(await read(), all(1, 0, 0))
  set({ found: stale })
  assert.deepEqual(await read(), all(1, 1, 0))
  await clock.advance(90_000)
  assert.deepEqual(await read(), all(1, 1, 90))
  set({ found: attachment(said, { generation: 3 }) })
  assert.deepEqual(await read(), all(1, 1, 0), 'changed again: it has that long for the new one')
  set({ found: attachment({ ...said, observedGeneration: 3 }, { generation: 3 }) })
  assert.deepEqual(await read(), all(1, 0, 0))
  await clock.advance(90_000)
  set({ found: attachment(said, { generation: 3 }) })
  assert.deepEqual(await read(), all(1, 1, 0), 'nothing is kept of what was current in between')
})
