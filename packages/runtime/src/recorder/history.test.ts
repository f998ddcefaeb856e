import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from '../kind.ts'
import { type AuditedWrite, historiesOf } from './history.ts'

const kind = { group: 'g.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' } as const

const widget = (resourceVersion: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'g.dev/v1',
  kind: 'Widget',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion, ...metadata },
  spec: {},
})

const write = (user: string, change: Partial<AuditedWrite> = {}): AuditedWrite => ({
  ...{ stage: 'ResponseComplete', verb: 'patch', user, group: 'g.dev', resource: 'widgets', subresource: 'status' },
  ...{ namespace: 'n', name: 'a', code: 200, fieldManager: user, dryRun: false, requestReceived: '1', stageTimestamp: '2' },
  ...change,
})
const made = (user: string, object: KubeObject, change: Partial<AuditedWrite> = {}) =>
  write(user, { responseObject: object, ...change })

/** `version users`, the last one in brackets. */
const shown = (seen: readonly KubeObject[], writes: readonly AuditedWrite[]) =>
  historiesOf(kind, seen, writes).map(({ versions }) =>
    versions.map(({ object, makers, last }) => {
      const text = [object.metadata.resourceVersion, ...makers.map(({ user }) => user)].join(' ')
      return last ? `(${text})` : text
    }),
  )

const going = { deletionTimestamp: '2026-01-01T00:00:00Z' }

const table: { says: string; seen?: KubeObject[]; writes: AuditedWrite[]; want: string[] }[] = [
  {
    says: 'versions come in the order of numbers, not of text',
    writes: [made('c', widget('100')), made('a', widget('9')), made('b', widget('10'))],
    want: ['9 a', '10 b', '100 c'],
  },
  {
    says: 'what only the watch saw has no maker',
    seen: [widget('2'), widget('3')],
    writes: [made('a', widget('2'))],
    want: ['2 a', '3'],
  },
  {
    says: 'what only the audit log has is a version too',
    seen: [widget('3')],
    writes: [made('a', widget('2')), made('b', widget('3'))],
    want: ['2 a', '3 b'],
  },
  {
    says: 'a write that changed nothing afterwards is no maker',
    writes: [
      made('late', widget('2'), { requestReceived: '4', stageTimestamp: '5' }),
      made('maker', widget('2'), { requestReceived: '1', stageTimestamp: '3' }),
    ],
    want: ['2 maker'],
  },
  {
    says: 'of two that overlapped either may be the maker',
    writes: [
      made('a', widget('2'), { requestReceived: '1', stageTimestamp: '4' }),
      made('b', widget('2'), { requestReceived: '2', stageTimestamp: '3' }),
    ],
    want: ['2 a b'],
  },
  {
    says: 'the write that let a deleted object go repeats a version and comes after it',
    seen: [widget('2', { ...going, finalizers: ['f'] })],
    writes: [made('end', widget('2', going)), made('delete', widget('2', { ...going, finalizers: ['f'] }))],
    want: ['2 delete', '(2 end)'],
  },
  {
    says: 'a write without a clear answer may have made what no answer carries',
    seen: [widget('3')],
    writes: [made('a', widget('2')), write('lost', { code: 504 }), write('elsewhere', { code: 504, name: 'b' })],
    want: ['2 a', '3 lost'],
  },
  {
    says: 'reads, dry runs, refusals and other kinds made nothing',
    seen: [widget('2')],
    writes: [
      made('dry', widget('2'), { dryRun: true }),
      made('refused', widget('2'), { code: 409 }),
      made('other', widget('2'), { resource: 'gadgets' }),
      made('begun', widget('2'), { stage: 'ResponseStarted' }),
      write('status', { responseObject: { kind: 'Status', metadata: {} } }),
    ],
    want: ['2'],
  },
]

for (const { says, seen = [], writes, want } of table) test(says, () => assert.deepEqual(shown(seen, writes), [want]))

test('an object that was made again has a history of its own, and knows its birth', () => {
  const histories = historiesOf(kind, [widget('2')], [made('a', widget('9', { uid: 'v' }), { code: 201 })])
  assert.deepEqual(
    histories.map(({ uid, key, fromBirth }) => [uid, key, fromBirth]),
    [
      ['u', 'n/a', false],
      ['v', 'n/a', true],
    ],
  )
})

test('the order of delivery does not matter', () => {
  const versions = ['9', '10', '11', '100'].map((version) => widget(version))
  const writes = versions.map((object) => made(`w${object.metadata.resourceVersion}`, object))
  const whole = shown(versions, writes)
  fc.assert(
    fc.property(fc.shuffledSubarray(versions), fc.shuffledSubarray(writes, { minLength: writes.length }), (seen, answers) =>
      assert.deepEqual(shown(seen, answers), whole),
    ),
  )
})
