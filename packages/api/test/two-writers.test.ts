import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { NetworkInterface, nsoManifests, statusOwners } from '@nso/api'
import { apiVersionOf, pathOf } from 'kube-control-loop'
import { applyPatch, installManifests } from 'kube-localplane'
import { sharedPlane, testNamespace } from 'kube-localplane/testing'

const plane = await sharedPlane()
before(async () => {
  await installManifests(plane, nsoManifests().crds)
})

const identity = { apiVersion: apiVersionOf(NetworkInterface), kind: NetworkInterface.kind, metadata: { name: 'shared' } }
type Stored = { status: { phase?: string; conditions: { type: string; status: string }[] } }

const alice = {
  manager: statusOwners.interface.writer,
  status: { phase: 'Bound', conditions: ['Allocated', 'Prepared', 'Programmed'].map((type) => condition(type, 'True')) },
}
const bob = { manager: statusOwners.interfaceHolder.writer, status: { conditions: [condition('HolderAvailable', 'False')] } }

function condition(type: string, status: string) {
  return { type, status, reason: 'Said', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
}

async function storedAfter(namespace: string, writers: readonly (typeof alice | typeof bob)[]): Promise<Stored['status']> {
  const body = { ...identity, spec: { network: { name: 'default' } } }
  await plane.connection.must({ method: 'POST', path: pathOf(NetworkInterface, { namespace }), body })
  const path = pathOf(NetworkInterface, { namespace, name: 'shared' })
  for (const { manager, status } of writers) {
    const request = { method: 'PATCH', contentType: applyPatch, body: { ...identity, status } } as const
    await plane.connection.must({ ...request, path: `${path}/status?fieldManager=${manager}` })
  }
  return ((await plane.connection.must({ path })) as Stored).status
}

for (const [says, writers] of [
  ['the holder after the interface controller', [alice, bob]],
  ['the interface controller after the holder', [bob, alice]],
  ['both again and again', [alice, bob, alice, bob]],
] as const)
  test(`B04: ${says}: neither takes anything from the other, without force`, async () => {
    await using space = await testNamespace(plane, 'two-writers')
    const { phase, conditions } = await storedAfter(space.name, writers)
    assert.equal(phase, 'Bound')
    assert.deepEqual(conditions.map(({ type, status }) => `${type} ${status}`).sort(), [
      'Allocated True',
      'HolderAvailable False',
      'Prepared True',
      'Programmed True',
    ])
  })
