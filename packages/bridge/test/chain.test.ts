/** From a network and an attachment to Programmed and away again, on a control plane that knows no other kinds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { writesBy } from 'kube-multus/testing/planes'
import { BridgeAttachment, BridgeNetwork, finalizer, NetworkAttachmentDefinition } from '../src/api/index.ts'
import { standInMultus } from '../testing/index.ts'
import {
  attachmentOf,
  by,
  endPod,
  gone,
  isReady,
  makePod,
  messageOf,
  networkOf,
  never,
  says,
  startWorld,
  until,
  type World,
} from './harness.ts'

let world: World
let running: ReturnType<World['start']>

before(async () => {
  world = await startWorld()
  running = world.start({ lease: { namespace: 'bridge-system', name: 'bridge.datumapis.com' } })
})
after(async () => {
  await running?.stop()
  await world?.[Symbol.asyncDispose]()
})

test('a network and an attachment become Programmed, and go away', async () => {
  const { client } = world
  const namespace = await world.namespace('chain')
  const at = { namespace, name: 'web-0' }
  await client.create(BridgeNetwork, networkOf(namespace, 'blue', {}, {}), by, never)
  const network = await until(
    client,
    BridgeNetwork,
    { namespace, name: 'blue' },
    'has its bridge',
    says('Ready', 'True BridgeNamed'),
  )
  const bridge = network.status?.bridge ?? ''
  assert.match(bridge, /^kb-[0-9a-f]{12}$/)
  assert.deepEqual(network.metadata.finalizers, [finalizer])

  const link = { mtu: 1460, addresses: ['10.128.0.7/32', 'fd20:1::1:0:0/96'], gateways: ['10.128.0.1'] }
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue', link), by, never)
  const ready = await until(client, BridgeAttachment, at, 'is Ready', isReady)
  const { conditions: _, ...fields } = ready.status ?? {}
  assert.deepEqual(fields, { observedGeneration: 1, bridge, networkAttachmentDefinition: 'web-0' })
  assert.ok(says('Programmed', 'False NotAttached')(ready))

  const definition = await client.find(NetworkAttachmentDefinition, at, never)
  assert.deepEqual(definition?.metadata.labels, { 'bridge.datumapis.com/bridge': bridge })
  assert.deepEqual(
    definition?.metadata.ownerReferences?.map(({ kind, uid, controller }) => ({ kind, uid, controller })),
    [{ kind: 'BridgeAttachment', uid: ready.metadata.uid, controller: true }],
  )
  const { name, plugins } = JSON.parse(definition?.spec.config ?? '{}')
  assert.equal(name, 'chain.web-0')
  assert.deepEqual([plugins[0].bridge, plugins[0].mtu, plugins[1].type], [bridge, 1460, 'tuning'])

  const multus = standInMultus({ kubeconfig: world.multusKubeconfig })
  await makePod(client, namespace, 'workload', 'web-0')
  const programmed = await until(client, BridgeAttachment, at, 'is Programmed', says('Programmed', 'True Attached'))
  assert.equal(messageOf(programmed, 'Programmed'), 'Pod chain/workload has it as net1')

  await client.remove(BridgeNetwork, { namespace, name: 'blue' }, {}, never)
  await until(client, BridgeNetwork, { namespace, name: 'blue' }, 'waits', (found) => messageOf(found, 'Ready').includes('waits'))
  await endPod(client, { namespace, name: 'workload' })
  await until(client, BridgeAttachment, at, 'is no longer Programmed', says('Programmed', 'False NotAttached'))
  await client.remove(BridgeAttachment, at, {}, never)
  await gone(client, BridgeAttachment, at)
  assert.equal(await client.find(NetworkAttachmentDefinition, at, never), undefined)
  await gone(client, BridgeNetwork, { namespace, name: 'blue' })
  await multus.stop()
})

test('the chain cost these writes and no refusal', async () => {
  const { counted, refused } = await writesBy(world.plane, 'system:serviceaccount:bridge-system:bridge')
  assert.deepEqual(refused, [])
  assert.deepEqual(counted, {
    'create network-attachment-definitions': 1,
    'delete network-attachment-definitions': 1,
    // The finalizer removed; it came in the body.
    'patch bridgeattachments': 1,
    // Ready, Programmed, and no longer.
    'patch bridgeattachments status': 3,
    // The finalizer added, and removed.
    'patch bridgenetworks': 2,
    // The name, and that its deletion waits.
    'patch bridgenetworks status': 2,
  })
})
