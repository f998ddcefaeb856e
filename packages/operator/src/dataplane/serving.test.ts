import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NetworkInterface } from '@nso/api'
import type { Cache, CacheState, KubeObject } from 'kube-control-loop'
import { anInterface } from '../../test/objects.ts'
import { attachmentOf, isGoing, isRecorded, isSameKind, isServing } from './serving.ts'
import type { CompiledPlane } from './types.ts'

const wireOf = (uid: string): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind: 'Wire',
  metadata: {
    name: 'web-0',
    namespace: 'default',
    ownerReferences: [{ apiVersion: 'x', kind: 'NetworkInterface', name: 'web-0', uid, controller: true }],
  },
  spec: {},
})

function planeWith(given: { state?: CacheState; wire?: KubeObject; hindrance?: string; deleted?: boolean } = {}): CompiledPlane {
  const cache = { state: given.state, get: (key: string) => (key === 'default/web-0' ? given.wire : undefined) }
  return {
    attachmentKind: { apiVersion: 'planes.example.dev/v1', kind: 'Wire' },
    attachments: given.state && (cache as unknown as Cache),
    hindrance: given.hindrance,
    object: { metadata: given.deleted ? { name: 'toy', deletionTimestamp: '2026-01-01T00:00:00Z' } : { name: 'toy' } },
  } as unknown as CompiledPlane
}

const recorded = (apiGroup: string, kind: string): NetworkInterface =>
  anInterface({ status: { attachmentRef: { apiGroup, kind, name: 'web-0' } } })

describe('an interface is served', () => {
  const bare = anInterface()
  const table: { says: string; plane: CompiledPlane; nic?: NetworkInterface; want: boolean }[] = [
    { says: 'by whom its attachment stands with', plane: planeWith({ state: 'synced', wire: wireOf('nic-uid') }), want: true },
    { says: 'also while the cache follows no more', plane: planeWith({ state: 'stale', wire: wireOf('nic-uid') }), want: true },
    { says: 'not where it has none', plane: planeWith({ state: 'synced' }), want: false },
    { says: 'not where another’s has the name', plane: planeWith({ state: 'synced', wire: wireOf('other') }), want: false },
    { says: 'not where the kind is gone', plane: planeWith({ state: 'unserved' }), want: false },
    { says: 'as far as anybody knows before attachments are listed', plane: planeWith({ state: 'starting' }), want: true },
    { says: 'as far as anybody knows before the kind was asked for', plane: planeWith(), want: true },
    { says: 'not by a plane whose kind was never there', plane: planeWith({ hindrance: 'not served' }), want: false },
    {
      says: 'where its status tells of an attachment that may have to be made again',
      plane: planeWith({ state: 'synced' }),
      nic: recorded('planes.example.dev', 'Wire'),
      want: true,
    },
    {
      says: 'not where its status tells of another kind',
      plane: planeWith({ state: 'synced' }),
      nic: recorded('planes.example.dev', 'Rope'),
      want: false,
    },
    {
      says: 'not where its status tells of a kind of that name in another group',
      plane: planeWith({ state: 'synced' }),
      nic: recorded('other.example.dev', 'Wire'),
      want: false,
    },
  ]
  for (const { says, plane, nic = bare, want } of table) test(says, () => assert.equal(isServing(plane, nic), want))
})

test('the attachment of an interface is the one that it controls', () => {
  const nic = anInterface()
  assert.equal(attachmentOf(planeWith({ state: 'synced', wire: wireOf('nic-uid') }), nic)?.kind, 'Wire')
  assert.equal(attachmentOf(planeWith({ state: 'synced', wire: wireOf('other') }), nic), undefined)
  assert.equal(attachmentOf(planeWith(), nic), undefined)
})

test('a version is no other kind, a group is', () => {
  const v1 = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
  assert.ok(isSameKind(v1, { ...v1, apiVersion: 'planes.example.dev/v2beta1' }))
  assert.equal(isSameKind(v1, { ...v1, apiVersion: 'other.example.dev/v1' }), false)
  assert.equal(isSameKind(v1, { ...v1, kind: 'Rope' }), false)
  assert.ok(isSameKind({ apiVersion: 'v1', kind: 'Pod' }, { apiVersion: 'v1', kind: 'Pod' }))
  const core = { attachmentKind: { apiVersion: 'v1', kind: 'Wire' } }
  assert.ok(isRecorded(core, recorded('', 'Wire')))
  assert.equal(isRecorded(core, anInterface()), false)
})

test('a plane is going from the moment of its deletion', () => {
  assert.deepEqual([isGoing(planeWith({ deleted: true })), isGoing(planeWith())], [true, false])
})
