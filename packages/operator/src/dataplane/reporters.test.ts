import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, ManagedFieldsEntry } from 'kube-control-loop'
import { createReporters } from './reporters.ts'

const at = (resourceVersion: string): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind: 'Wire',
  metadata: { name: 'web-0', namespace: 'default', resourceVersion },
  spec: {},
})

const item = (type: string, ...fields: string[]) => ({
  [`k:${JSON.stringify({ type })}`]: Object.fromEntries(['.', ...fields].map((field) => [field, {}])),
})
const owns = (manager: string, conditions: object, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: 'Apply',
  subresource: 'status',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:status': { 'f:conditions': conditions } },
  ...more,
})
const whole = ['f:status', 'f:reason', 'f:message']
const ready = item('Ready', ...whole)
const requester: ManagedFieldsEntry = { manager: 'requester', operation: 'Update', fieldsV1: { 'f:spec': { 'f:mtu': {} } } }

const table: { says: string; given: readonly ManagedFieldsEntry[]; want: string | undefined }[] = [
  { says: 'the one who applied the condition', given: [owns('plane', ready)], want: 'plane' },
  { says: 'not one who writes other fields', given: [requester, owns('plane', ready)], want: 'plane' },
  { says: 'not one who owns another condition', given: [owns('other', item('Programmed', ...whole))], want: undefined },
  {
    says: 'not one who owns a part of it without the status',
    given: [owns('early', item('Ready', 'f:message'))],
    want: undefined,
  },
  {
    says: 'the first by name, whatever the times, where several said the same',
    given: [owns('plane', ready, { time: '2026-01-01T00:00:01Z' }), owns('a', ready, { time: '2026-01-01T00:00:02Z' })],
    want: 'a',
  },
  { says: 'an apply before an update', given: [owns('a', ready, { operation: 'Update' }), owns('plane', ready)], want: 'plane' },
  { says: 'the one who owns the list where it is no map', given: [owns('plane', {}, { operation: 'Update' })], want: 'plane' },
  {
    says: 'the owner of the item before one left over from a list that was no map',
    given: [owns('before', {}), owns('plane', ready)],
    want: 'plane',
  },
  { says: 'nobody, of a default', given: [requester], want: undefined },
  { says: 'nobody, when the entry has no name', given: [owns('', ready)], want: undefined },
  { says: 'nobody, when a key is none of a condition', given: [owns('plane', { 'v:1': { 'f:status': {} } })], want: undefined },
]
for (const { says, given, want } of table)
  test(`who set a condition: ${says}`, () => {
    for (const entries of [given, given.toReversed()]) {
      const reporters = createReporters()
      reporters.seen(at('1'), entries)
      assert.equal(reporters.of(at('1'), 'Ready'), want)
    }
  })

test('it is known of the version that was seen only, and forgotten with the object', () => {
  const reporters = createReporters()
  reporters.seen(at('1'), [owns('plane', ready)])
  assert.equal(reporters.of(at('2'), 'Ready'), undefined)
  reporters.seen(at('2'), [owns('next', ready)])
  assert.equal(reporters.of(at('2'), 'Ready'), 'next')
  reporters.forget('default/web-0')
  assert.equal(reporters.of(at('2'), 'Ready'), undefined)
})
