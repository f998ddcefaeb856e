import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressLease, finalizers, NetworkContext } from '@nso/api'
import { BGPAdvertisement } from 'galactic/api'
import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { differences, leftIn, shapeOf } from './end-of-world.ts'

function object(kind: Kind, metadata: Partial<ObjectMeta> = {}, more: { spec?: unknown; status?: unknown } = {}): KubeObject {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name: 'x', namespace: 'a', uid: 'u', ...metadata },
    spec: {},
    ...more,
  }
}

const range = { spec: { target: 'ScopeRange' } }

const table: { says: string; objects?: KubeObject[]; advertised?: KubeObject[]; want: string[] }[] = [
  { says: 'a network without users', objects: [object(NetworkContext)], want: [] },
  { says: 'a lease', objects: [object(AddressLease)], want: ['AddressLease a/x is left'] },
  { says: 'a request at the address service', objects: [object(IPClaim)], want: ['IPClaim a/x is left'] },
  { says: 'the range of a network at the address service', objects: [object(IPClaim, {}, range)], want: [] },
  {
    says: 'a finalizer that nobody removes',
    objects: [object(NetworkContext, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['f'] })],
    want: ['NetworkContext a/x (f) is being deleted'],
  },
  {
    says: 'a context that is held for nobody',
    objects: [object(NetworkContext, { finalizers: [finalizers.contextInUse] })],
    want: [`NetworkContext a/x (${finalizers.contextInUse}) is held as in use`],
  },
  {
    says: 'a route that is still advertised',
    advertised: [object(BGPAdvertisement)],
    want: ['BGPAdvertisement a/x is still advertised'],
  },
  { says: 'a route that was advertised before', advertised: [object(BGPAdvertisement, { uid: 'before' })], want: [] },
]

for (const { says, objects = [], advertised = [], want } of table)
  test(`left over: ${says}`, () => {
    assert.deepEqual(leftIn({ objects, advertised }, [object(BGPAdvertisement, { uid: 'before' })]), want)
  })

test('two worlds are alike whatever their names are, and what differs is told', () => {
  const world = (namespace: string, status: string) => {
    const conditions = [{ type: 'Ready', status, reason: 'R' }]
    return {
      objects: [object(NetworkContext, { name: `net-${namespace}`, namespace }, { status: { conditions } })],
      advertised: [],
    }
  }
  const [one, alike, other] = [
    shapeOf(world('n1', 'True'), ['n1']),
    shapeOf(world('n2', 'True'), ['n2']),
    shapeOf(world('n3', 'False'), ['n3']),
  ]
  assert.deepEqual(differences(one, alike), [])
  assert.deepEqual(differences(one, other), [
    '- NetworkContext <0>/net-<0>; Ready True R',
    '+ NetworkContext <0>/net-<0>; Ready False R',
  ])
})
