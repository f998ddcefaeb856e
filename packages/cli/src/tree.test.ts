import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from 'kube-control-loop'
import { childHopOf, claimHopsOf } from './follow.ts'
import { renderTree } from './tree.ts'

function object(kind: string, status?: unknown): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { name: 'web-0', namespace: 'demo' }, spec: {}, status }
}

function claim(...conditions: [string, string, string][]): KubeObject {
  return object('NetworkInterfaceClaim', {
    addresses: [{ address: 'fd20::/96' }],
    conditions: conditions.map(([type, status, reason]) => ({ type, status, reason, message: `${type} says so` })),
  })
}

test('a tree shows each object below the one it stands for, with its conditions', () => {
  const text = renderTree({
    object: claim(['Ready', 'True', 'Ready']),
    notes: ['fd20::/96'],
    children: [{ object: object('NetworkInterface'), children: [{ object: object('VPCAttachment'), children: [] }] }],
  })
  assert.deepEqual(text, [
    'NetworkInterfaceClaim demo/web-0',
    '│  fd20::/96',
    '│  Ready           True    Ready · Ready says so',
    '└─ NetworkInterface demo/web-0',
    '   └─ VPCAttachment demo/web-0',
  ])
})

test('hops: a claim appears, reaches conditions, is rejected; seeds and repeats are none', () => {
  const seeded = claim(['Bound', 'Unknown', 'Pending'], ['Ready', 'Unknown', 'Pending'])
  const bound = claim(['Bound', 'True', 'Bound'], ['Ready', 'False', 'NotPrepared'])
  const key = 'demo/web-0'
  const texts = (before: KubeObject | undefined, after: KubeObject | undefined) =>
    claimHopsOf({ key, initial: false, ...(before && { before }), ...(after && { after }) }).map(({ text }) => text)
  assert.deepEqual(texts(undefined, seeded), ['claim created'])
  assert.deepEqual(texts(seeded, bound), ['Bound (fd20::/96)', 'Ready=False NotPrepared: Ready says so'])
  assert.deepEqual(texts(bound, bound), [])
  assert.deepEqual(texts(bound, undefined), ['claim deleted'])
})

test('a child is a hop of its claim when it appears', () => {
  const after = object('VPCAttachment')
  assert.deepEqual(childHopOf({ key: 'demo/web-0', after, initial: false }, 'demo/web-0'), [
    { claim: 'demo/web-0', text: 'VPCAttachment web-0 created', good: true },
  ])
  assert.deepEqual(childHopOf({ key: 'demo/web-0', before: after, after, initial: false }, 'demo/web-0'), [])
})
