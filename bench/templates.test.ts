import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from 'kube-control-loop'
import { floorKind, inFloorGroups, realKind, roles } from './floor-kinds.ts'
import { bodyAt, statusAt, templateOf } from './templates.ts'

const owner = { apiVersion: 'g/v1', kind: 'Owner', metadata: { name: 'to', uid: 'u2' }, spec: {} }

const stored: KubeObject = {
  apiVersion: 'cloud.datumapis.com/v1alpha1',
  kind: 'VPCAttachment',
  metadata: {
    name: 'model',
    namespace: 'demo',
    uid: 'u0',
    resourceVersion: '7',
    labels: { a: 'b' },
    ownerReferences: [
      { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkInterface', name: 'model', uid: 'u1', controller: true },
    ],
    managedFields: [
      { manager: 'maker', operation: 'Update' },
      { manager: 'reporter', operation: 'Apply', subresource: 'status' },
    ],
  },
  spec: { interfaceRef: { name: 'model' } },
  status: { conditions: [{ type: 'Ready', status: 'True', message: 'as reported' }] },
}

test('a body is the stored one under another name, in other groups, with a real owner, and no larger', () => {
  const template = templateOf(stored)
  const body = bodyAt(template, { from: 'model', to: 'other', namespace: 'floor', owner })
  assert.deepEqual(body, {
    apiVersion: 'cloud.floor.example/v1alpha1',
    kind: 'VPCAttachment',
    metadata: {
      name: 'other',
      namespace: 'floor',
      labels: { a: 'b' },
      ownerReferences: [
        { apiVersion: 'networking.floor.example/v1alpha', kind: 'NetworkInterface', name: 'to', uid: 'u2', controller: true },
      ],
    },
    spec: { interfaceRef: { name: 'other' } },
  })
  assert.deepEqual([template.createdBy, template.appliedBy], ['maker', 'reporter'])
})

test('each round of a status differs from the last, so that the server writes it', () => {
  const template = templateOf(stored)
  const place = { from: 'model', to: 'other', namespace: 'floor' }
  const object = bodyAt(template, { ...place, owner })
  const told = [0, 1, 2].map((round) => JSON.stringify(statusAt(template, object, place, round)))
  assert.equal(new Set(told).size, 3)
})

test('a name that is a number becomes another number of the same length', () => {
  const name = `default-local-1.${'0'.repeat(32)}`
  const template = templateOf({ ...stored, metadata: { name, namespace: 'demo' } })
  const names = ['a', 'b'].map((to) => bodyAt(template, { from: 'model', to, namespace: 'floor' }).metadata.name)
  assert.equal(new Set([name, ...names]).size, 3)
  for (const each of names) assert.equal(each.length, name.length)
})

test('the floor’s kinds have groups of their own, of the same length', () => {
  for (const role of roles) {
    const { group } = realKind(role)
    assert.notEqual(floorKind(role).group, group)
    assert.equal(inFloorGroups(group).length, group.length)
  }
})
