import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManagedFieldsEntry } from './kind.ts'
import { inServedVersions } from './ownership-patch.ts'

const apiVersion = 'example.dev/v1'
const served = [apiVersion, 'example.dev/v2']

function entry(by: string, version: string, field: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  const [manager = '', operation = '', subresource] = by.split(' ')
  return {
    ...{
      manager,
      operation: operation as 'Apply' | 'Update',
      apiVersion: `example.dev/${version}`,
      time: '2030-01-01T00:00:00Z',
    },
    ...{ fieldsType: 'FieldsV1', fieldsV1: { [field]: {} } },
    ...(subresource ? { subresource } : {}),
    ...more,
  }
}

const later = { time: '2031-01-01T00:00:00Z' }
const both = { fieldsV1: { 'f:a': {}, 'f:b': {} } }

describe('entries of versions that are not served', () => {
  const table: { says: string; entries: ManagedFieldsEntry[]; want: ManagedFieldsEntry[] }[] = [
    {
      says: 'where all are served, all stay as they are',
      entries: [entry('user Update', 'v1', 'f:a'), entry('user Update', 'v2', 'f:b'), entry('user Apply', 'v2', 'f:a')],
      want: [entry('user Update', 'v1', 'f:a'), entry('user Update', 'v2', 'f:b'), entry('user Apply', 'v2', 'f:a')],
    },
    {
      says: 'one becomes one of the served version, in its place',
      entries: [entry('user Update', 'v0', 'f:a'), entry('else Apply', 'v2', 'f:b')],
      want: [entry('user Update', 'v1', 'f:a'), entry('else Apply', 'v2', 'f:b')],
    },
    {
      says: 'one is joined with what the same manager holds there, whenever that was: the later time stays',
      entries: [entry('user Update', 'v0', 'f:a'), entry('user Update', 'v1', 'f:b', later)],
      want: [entry('user Update', 'v1', 'f:b', { ...later, ...both })],
    },
    {
      says: 'in whatever order they stand',
      entries: [entry('user Update', 'v1', 'f:b', later), entry('user Update', 'v0', 'f:a')],
      want: [entry('user Update', 'v1', 'f:b', { ...later, ...both })],
    },
    {
      says: 'several of one manager become one',
      entries: [entry('user Update', 'v0', 'f:a'), entry('user Update', 'alpha', 'f:b')],
      want: [entry('user Update', 'v1', 'f:a', both)],
    },
    {
      says: 'another subresource or another operation is another entry',
      entries: [entry('user Update', 'v0', 'f:a'), entry('user Update status', 'v1', 'f:b'), entry('user Apply', 'v1', 'f:b')],
      want: [entry('user Update', 'v1', 'f:a'), entry('user Update status', 'v1', 'f:b'), entry('user Apply', 'v1', 'f:b')],
    },
  ]
  for (const { says, entries, want } of table) {
    test(says, () => assert.deepEqual(inServedVersions(entries, { served, apiVersion }), want))
  }
})
