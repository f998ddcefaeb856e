/** From a VPC and an attachment to Programmed and away again, on a control plane that knows no other kinds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from 'kube-localplane/testing'
import { writesBy } from 'kube-multus/testing/planes'
import { BGPAdvertisement, finalizer, NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { foreignWords, startStandInNode } from '../testing/index.ts'
import {
  attachmentIs,
  attachmentOf,
  by,
  conditionOf,
  gone,
  isProgrammed,
  isReady,
  never,
  type Running,
  startWorld,
  vpcOf,
  type World,
} from './harness.ts'

let world: World
let running: Running

before(async () => {
  world = await startWorld()
  running = world.start({ lease: { namespace: 'galactic-system', name: 'galactic.cloud.datumapis.com' } })
})
after(async () => {
  await running?.stop()
  await world?.[Symbol.asyncDispose]()
})

test('the control plane serves these kinds and no others of their like', async () => {
  const { groups } = (await world.client.raw({ method: 'GET', path: '/apis' }, never)) as { groups: { name: string }[] }
  assert.deepEqual(foreignWords(groups.map(({ name }) => name).join('\n')), [])
  assert.deepEqual(
    groups
      .map(({ name }) => name)
      .filter((name) => name.endsWith('datumapis.com'))
      .sort(),
    ['cloud.datumapis.com', 'network.datumapis.com'],
  )
})

test('a VPC and an attachment become Programmed, and go away', async () => {
  const { client } = world
  const namespace = await world.namespace('chain')
  const at = { namespace, name: 'web-0' }
  await client.create(VPC, vpcOf(namespace, 'blue'), by, never)
  const vpc = await eventually('the VPC has its identifier', async () => {
    const found = await client.find(VPC, { namespace, name: 'blue' }, never)
    return conditionOf(found, 'Ready') === 'True IdentifierAllocated' ? found : undefined
  })
  assert.match(vpc.status?.vpc ?? '', /^[0-9a-zA-Z]{1,9}$/)
  assert.deepEqual(vpc.metadata.finalizers, [finalizer])

  const link = { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] }
  await client.create(VPCAttachment, attachmentOf(namespace, 'web-0', 'blue', link, { finalizers: [finalizer] }), by, never)
  const ready = await attachmentIs(client, at, 'Ready', isReady)
  const { vpc: vpcId, vpcAttachment } = ready.status ?? {}
  assert.equal(vpcId, vpc.status?.vpc)
  assert.equal(conditionOf(ready, 'Programmed'), 'Unknown AwaitingDataPlane')
  const { conditions: _, ...fields } = ready.status ?? {}
  assert.deepEqual(fields, { observedGeneration: 1, vpc: vpcId, vpcAttachment, networkAttachmentDefinition: 'web-0' })

  const definition = await client.find(NetworkAttachmentDefinition, at, never)
  assert.deepEqual(definition?.metadata.labels, {
    'cloud.datumapis.com/vpc': vpcId,
    'cloud.datumapis.com/vpc-attachment': vpcAttachment,
  })
  assert.deepEqual(
    definition?.metadata.ownerReferences?.map(({ kind, name, uid, controller }) => ({ kind, name, uid, controller })),
    [{ kind: 'VPCAttachment', name: 'web-0', uid: ready.metadata.uid, controller: true }],
  )
  assert.equal(
    definition?.spec.config,
    `{"cniVersion":"1.0.0","name":"web-0","plugins":[{"type":"galactic-veth","vpc":"${vpcId}","vpcattachment":"${vpcAttachment}","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"10.128.0.7/32","gateway":"10.128.0.1"}]}},{"type":"galactic-bgp","vpc":"${vpcId}","vpcattachment":"${vpcAttachment}","namespace":"galactic-system"}]}`,
  )

  const node = startStandInNode({ kubeconfig: world.nodeKubeconfig, node: 'node-7' })
  const programmed = await attachmentIs(client, at, 'Programmed', isProgrammed)
  assert.equal(conditionOf(programmed, 'Programmed'), 'True Advertised')
  assert.equal(programmed.status?.node, 'node-7')
  assert.equal(programmed.status?.podSubnet, '10.128.0.7/32')
  assert.equal(programmed.status?.hostInterface, `G${vpcId?.padStart(9, '0')}${vpcAttachment?.padStart(3, '0')}H`)
  assert.equal(programmed.status?.vrfInterface, `G${vpcId?.padStart(9, '0')}V`)
  for (const field of ['containerID', 'podName', 'guestInterface'])
    assert.equal(Object.hasOwn(programmed.status ?? {}, field), false)

  await client.remove(VPC, { namespace, name: 'blue' }, {}, never)
  await eventually('the VPC waits for its attachment', async () => {
    const found = await client.find(VPC, { namespace, name: 'blue' }, never)
    return found?.status?.conditions?.[0]?.message.includes('waits')
  })
  assert.equal(conditionOf(await client.find(VPCAttachment, at, never), 'Ready'), 'True AttachmentDefinitionReady')

  await client.remove(VPCAttachment, at, {}, never)
  await gone(client, VPCAttachment, at)
  assert.equal(await client.find(NetworkAttachmentDefinition, at, never), undefined)
  assert.deepEqual((await client.list(BGPAdvertisement, {}, never)).items, [])
  await gone(client, VPC, { namespace, name: 'blue' })
  await node.stop()
})

test('the chain cost these writes of Galactic and no refusal', async () => {
  const { counted, refused } = await writesBy(world.plane, 'system:serviceaccount:galactic-system:galactic')
  assert.deepEqual(refused, [])
  assert.deepEqual(counted, {
    'create network-attachment-definitions': 1,
    'delete network-attachment-definitions': 1,
    // The finalizer removed; it came in the body.
    'patch vpcattachments': 1,
    // Ready, then advertised by its node.
    'patch vpcattachments status': 2,
    // The finalizer added, and removed.
    'patch vpcs': 2,
    // The identifier, and that its deletion waits.
    'patch vpcs status': 2,
  })
})

test('every version of every status was written by its documented manager', async () => {
  const { client } = world
  const namespace = await world.namespace('owners')
  await client.create(VPC, vpcOf(namespace, 'blue'), by, never)
  await client.create(VPCAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  const attachment = await attachmentIs(client, { namespace, name: 'web-0' }, 'Ready', isReady)
  const vpc = await client.find(VPC, { namespace, name: 'blue' }, never)
  const statusManagers = (
    object: { metadata: { managedFields?: { manager?: string; operation?: string; subresource?: string }[] } } | undefined,
  ) =>
    object?.metadata.managedFields
      ?.filter(({ subresource }) => subresource === 'status')
      .map(({ manager, operation }) => `${manager} ${operation}`)
  assert.deepEqual(statusManagers(attachment), ['galactic-vpcattachment Apply'])
  assert.deepEqual(statusManagers(vpc), ['galactic-vpc Apply'])
})

test('pages, events and logs name nothing of who asks for attachments', async () => {
  const { address } = running.galactic.manager
  for (const page of ['metrics', 'readyz', 'healthz']) {
    const answer = await fetch(`http://${address?.host}:${address?.port}/${page}`)
    assert.equal(answer.status, 200, page)
    assert.deepEqual(foreignWords(await answer.text()), [])
  }
  const events = await world.client.raw({ method: 'GET', path: '/apis/events.k8s.io/v1/events' }, never)
  assert.deepEqual(foreignWords(JSON.stringify(events)), [])
  assert.ok(world.log.length > 0)
  assert.deepEqual(foreignWords(world.log.join('\n')), [])
})
