/** What nodes publish, in both directions and in any order; and the definition kept right. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { eventually } from 'kube-localplane/testing'
import { BGPAdvertisement, BGPRouter, finalizer, NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { toBase62 } from '../src/identifiers/base62.ts'
import { advertisementNames } from '../src/identifiers/identity.ts'
import { galacticAccount, galacticManifests } from '../src/manifests.ts'
import { startStandInNode } from '../testing/index.ts'
import {
  advertise,
  advertisementOf,
  attachmentIs,
  attachmentOf,
  by,
  conditionOf,
  gone,
  isProgrammed,
  isReady,
  never,
  type Running,
  routerOf,
  startWorld,
  systemNamespace,
  vpcOf,
  type World,
} from './harness.ts'

let world: World
let running: Running
let namespace: string
let count = 0

before(async () => {
  world = await startWorld()
  running = world.start({ settings: { detachGraceMs: 2_500 } })
})
after(async () => {
  await running?.stop()
  await world?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  count += 1
  namespace = await world.namespace(`reports-${count}`)
})

const definitionAt = (name: string) => world.client.find(NetworkAttachmentDefinition, { namespace, name }, never)
const attachmentAt = (name: string) => world.client.find(VPCAttachment, { namespace, name }, never)

async function makeVpc(name = 'blue'): Promise<string> {
  await world.client.create(VPC, vpcOf(namespace, name), by, never)
  return eventually(
    'the VPC has its identifier',
    async () => (await world.client.find(VPC, { namespace, name }, never))?.status?.vpc,
  )
}

async function makeReady(name: string, link = {}): Promise<VPCAttachment> {
  await world.client.create(VPCAttachment, attachmentOf(namespace, name, 'blue', link, { finalizers: [finalizer] }), by, never)
  return attachmentIs(world.client, { namespace, name }, 'Ready', isReady)
}

function identityOf({ status }: VPCAttachment) {
  return { vpc: status?.vpc ?? '', attachment: status?.vpcAttachment ?? '' }
}

const remove = (name: string) => world.client.remove(VPCAttachment, { namespace, name }, {}, never)
const programmedIs = (name: string, wanted: string) =>
  attachmentIs(world.client, { namespace, name }, wanted, (found) => conditionOf(found, 'Programmed') === wanted)

test('Programmed follows Advertised in every direction, and the fields have a source or are absent', async () => {
  const { client } = world
  await makeVpc()
  const attachment = await makeReady('web-0')
  const [name = ''] = advertisementNames(identityOf(attachment))
  const advertisement = { namespace: systemNamespace, name }

  await client.create(BGPAdvertisement, advertisementOf(name, 'late-router'), by, never)
  await advertise(client, name, 'True', 'Advertised', 'to two peers')
  const up = await programmedIs('web-0', 'True Advertised')
  assert.equal(up.status?.conditions?.find(({ type }) => type === 'Programmed')?.message, 'to two peers')
  assert.equal(up.status?.node, undefined)

  await client.create(BGPRouter, routerOf('late-router', 'node-3'), by, never)
  await attachmentIs(client, { namespace, name: 'web-0' }, 'on node-3', ({ status }) => status?.node === 'node-3')

  await advertise(client, name, 'False', 'PeersDown')
  await programmedIs('web-0', 'False PeersDown')
  await advertise(client, name, 'Unknown', 'RouterRestarting')
  await programmedIs('web-0', 'Unknown RouterRestarting')
  await advertise(client, name, 'True', 'Advertised')
  await programmedIs('web-0', 'True Advertised')

  await client.remove(BGPAdvertisement, advertisement, {}, never)
  const down = await programmedIs('web-0', 'False AdvertisementWithdrawn')
  for (const field of ['node', 'hostInterface', 'vrfInterface', 'podSubnet'])
    assert.equal(Object.hasOwn(down.status ?? {}, field), false)
  assert.equal(conditionOf(down, 'Ready'), 'True AttachmentDefinitionReady')
  assert.deepEqual(identityOf(down), identityOf(attachment))

  await client.create(BGPAdvertisement, advertisementOf(name, 'late-router'), by, never)
  await advertise(client, name, 'True', 'Advertised')
  await programmedIs('web-0', 'True Advertised')
  await client.remove(BGPAdvertisement, advertisement, {}, never)
  await client.remove(BGPRouter, { namespace: systemNamespace, name: 'late-router' }, {}, never)
})

test('both forms of an advertisement name are read: hexadecimal, and base62 where the identifiers have no capital', async () => {
  world.chosen.push(0xabcdef)
  assert.equal(await makeVpc(), toBase62(0xabcdefn))
  world.chosen.push(1)
  assert.equal((await makeReady('web-0')).status?.vpcAttachment, '1')
  await client().create(BGPAdvertisement, advertisementOf('abcdef-1'), by, never)
  await advertise(client(), 'abcdef-1', 'True', 'Advertised')
  await programmedIs('web-0', 'True Advertised')

  world.chosen.push(62 * 62 * 11 + 62 * 10 + 9)
  assert.equal(await makeVpc('lower'), 'ba9')
  world.chosen.push(7)
  await client().create(VPCAttachment, attachmentOf(namespace, 'web-1', 'lower'), by, never)
  await attachmentIs(client(), { namespace, name: 'web-1' }, 'Ready', isReady)
  await client().create(BGPAdvertisement, advertisementOf('ba9-7'), by, never)
  await advertise(client(), 'ba9-7', 'True', 'Advertised')
  await programmedIs('web-1', 'True Advertised')
})

const client = () => world.client

test('an advertisement that stands before the report is found with it, and costs no write of its own', async () => {
  await makeVpc()
  const node = startStandInNode({ kubeconfig: world.nodeKubeconfig, node: 'early', publishesWhen: 'defined' })
  await makeReady('web-0', { addresses: ['fd20:1::1:0:0/96'], gateways: ['fd20:1::1'] })
  const programmed = await attachmentIs(client(), { namespace, name: 'web-0' }, 'Programmed', isProgrammed)
  assert.equal(programmed.status?.podSubnet, 'fd20:1::1:0:0/96')
  assert.equal(programmed.status?.node, 'early')
  await node.stop()
})

test('B14: an attachment is Ready with no node, no advertisement and no pod anywhere', async () => {
  await makeVpc()
  assert.equal(conditionOf(await makeReady('web-0'), 'Programmed'), 'Unknown AwaitingDataPlane')
})

test('B33: an attachment made before its VPC says what it waits for, and is Ready as soon as that is there', async () => {
  const at = { namespace, name: 'web-0' }
  await client().create(VPCAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  const waits = await attachmentIs(client(), at, 'waiting', (found) => conditionOf(found, 'Ready') === 'False AwaitingVPC')
  assert.equal(waits.status?.conditions?.find(({ type }) => type === 'Ready')?.message, 'VPC blue does not exist')
  assert.deepEqual(waits.metadata.finalizers, [finalizer])
  await makeVpc()
  await attachmentIs(client(), at, 'Ready', isReady)
})

test('a changed spec changes the definition; the annotation of the node stays', async () => {
  await makeVpc()
  await makeReady('web-0', { mtu: 1400 })
  const at = { namespace, name: 'web-0' }
  const annotation = '/metadata/annotations'
  await client().jsonPatch(
    NetworkAttachmentDefinition,
    at,
    [{ op: 'add', path: annotation, value: { 'k8s.v1.cni.cncf.io/host-interface': 'G0' } }],
    by,
    never,
  )
  const uid = (await definitionAt('web-0'))?.metadata.uid
  await client().jsonPatch(VPCAttachment, at, [{ op: 'replace', path: '/spec/interface/mtu', value: 1500 }], by, never)
  const changed = await eventually('the definition has the new MTU', async () => {
    const found = await definitionAt('web-0')
    return found?.spec.config?.includes('"mtu":1500') ? found : undefined
  })
  assert.equal(changed.metadata.uid, uid)
  assert.deepEqual(changed.metadata.annotations, { 'k8s.v1.cni.cncf.io/host-interface': 'G0' })
  await attachmentIs(client(), at, 'of generation 2', ({ status }) => status?.observedGeneration === 2)
})

test('a definition changed, unlabelled or deleted by someone else is put right with the same identity', async () => {
  await makeVpc()
  const attachment = await makeReady('web-0')
  const at = { namespace, name: 'web-0' }
  const before = await definitionAt('web-0')
  const meddling = { kind: 'NetworkAttachmentDefinition', ...at, why: 'someone else changes it' }
  for (const path of ['spec', 'metadata.labels']) world.recorder.expect({ ...meddling, path })
  await client().jsonPatch(
    NetworkAttachmentDefinition,
    at,
    [
      { op: 'replace', path: '/spec/config', value: '{}' },
      { op: 'remove', path: '/metadata/labels' },
    ],
    by,
    never,
  )
  const right = async () => {
    const found = await definitionAt('web-0')
    return found?.spec.config === before?.spec.config && found?.metadata.labels?.['cloud.datumapis.com/vpc-attachment']
      ? found
      : undefined
  }
  assert.deepEqual((await eventually('it is put right', right)).metadata.labels, before?.metadata.labels)
  await client().remove(NetworkAttachmentDefinition, at, {}, never)
  const again = await eventually('it is made again', right)
  assert.notEqual(again.metadata.uid, before?.metadata.uid)
  assert.deepEqual(identityOf((await attachmentAt('web-0')) ?? attachment), identityOf(attachment))
})

test('someone else’s definition under the name is left alone and named; when it goes, the attachment becomes Ready', async () => {
  await makeVpc()
  const at = { namespace, name: 'web-0' }
  const foreign = {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { ...at },
    spec: { config: 'not even JSON' },
  }
  await client().create(NetworkAttachmentDefinition, foreign, by, never)
  await client().create(VPCAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  await attachmentIs(client(), at, 'in conflict', (found) => conditionOf(found, 'Ready') === 'False AttachmentDefinitionConflict')
  assert.equal((await definitionAt('web-0'))?.spec.config, 'not even JSON')
  await client().remove(NetworkAttachmentDefinition, at, {}, never)
  await attachmentIs(client(), at, 'Ready', isReady)
})

/** The role as installed, or without some verbs on definitions. */
async function setRole(without: readonly string[] = []): Promise<void> {
  type Role = { rules: { resources: string[]; verbs: string[]; apiGroups: string[] }[] }
  const role = galacticManifests().rbac.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'galactic')
  const rules = (role as unknown as Role).rules.map((rule) =>
    rule.resources.includes(NetworkAttachmentDefinition.plural)
      ? { ...rule, verbs: rule.verbs.filter((verb) => !without.includes(verb)) }
      : rule,
  )
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/galactic'
  const contentType = 'application/merge-patch+json'
  await client().raw({ method: 'PATCH', path, contentType, query: by, body: { rules } }, never)
  await eventually('the API server goes by it', async () => (await mayCreateDefinitions()) === !without.includes('create'))
}

async function mayCreateDefinitions(): Promise<boolean | undefined> {
  const apiVersion = 'authorization.k8s.io/v1'
  const resourceAttributes = {
    group: NetworkAttachmentDefinition.group,
    resource: NetworkAttachmentDefinition.plural,
    verb: 'create',
  }
  const user = `system:serviceaccount:${galacticAccount.namespace}:${galacticAccount.name}`
  const body = { apiVersion, kind: 'SubjectAccessReview', spec: { user, resourceAttributes } }
  const answer = await client().raw({ method: 'POST', path: `/apis/${apiVersion}/subjectaccessreviews`, body }, never)
  return (answer as { status?: { allowed?: boolean } }).status?.allowed
}

test('B51: a verb on definitions that is missing is said on the attachment, and goes on by itself once it is given', async () => {
  await makeVpc()
  const first = await makeReady('first')
  const at = { namespace, name: 'web-0' }
  const isForbidden = (found: VPCAttachment) => conditionOf(found, 'Ready') === 'False DefinitionsForbidden'
  try {
    await setRole(['create', 'delete'])
    await client().create(VPCAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
    const refused = await attachmentIs(client(), at, 'refused', isForbidden)
    assert.match(
      refused.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
      /galactic-system:galactic" cannot create resource "network-attachment-definitions"/,
    )
    assert.equal(refused.status?.vpcAttachment, undefined, 'no identifier is recorded that no definition carries')
    await remove('first')
    const going = await attachmentIs(client(), { namespace, name: 'first' }, 'refused', isForbidden)
    assert.deepEqual(identityOf(going), identityOf(first))
    await setRole()
    await attachmentIs(client(), at, 'Ready', isReady)
    await gone(client(), VPCAttachment, { namespace, name: 'first' })
  } finally {
    await setRole()
  }
})

test('B52, B51: names of 253 characters with a common beginning, and one name in two namespaces', async () => {
  await makeVpc()
  const long = 'x'.repeat(250)
  const first = await makeReady(`${long}.a1`)
  const second = await makeReady(`${long}.a2`)
  assert.notDeepEqual(identityOf(first), identityOf(second))
  assert.equal((await definitionAt(`${long}.a2`))?.metadata.name.length, 253)
  const here = await makeReady('same')
  namespace = await world.namespace(`reports-${count}-other`)
  await makeVpc()
  const there = await makeReady('same')
  assert.notEqual(identityOf(here).vpc, identityOf(there).vpc)
})

test('a detach waits until the node has let go, and says for what', async () => {
  await makeVpc()
  const attachment = await makeReady('web-0')
  const [name = ''] = advertisementNames(identityOf(attachment))
  await client().create(BGPAdvertisement, advertisementOf(name), by, never)
  await advertise(client(), name, 'True', 'Advertised')
  await programmedIs('web-0', 'True Advertised')
  await remove('web-0')
  const waits = await attachmentIs(
    client(),
    { namespace, name: 'web-0' },
    'detaching',
    (found) => conditionOf(found, 'Ready') === 'False Detaching',
  )
  const message = waits.status?.conditions?.find(({ type }) => type === 'Ready')?.message
  assert.equal(message, `waits until BGPAdvertisement galactic-system/${name} is withdrawn, at most 2.5 s`)
  assert.equal(await definitionAt('web-0'), undefined)
  assert.equal(conditionOf(waits, 'Programmed'), 'True Advertised')
  await client().remove(BGPAdvertisement, { namespace: systemNamespace, name }, {}, never)
  await gone(client(), VPCAttachment, { namespace, name: 'web-0' })
  assert.equal(await graceExpired(), 0)
})

test('a node that never lets go holds a detach for the grace and no longer; that is counted, and its identifier is not given out', async () => {
  const vpc = await makeVpc()
  world.chosen.push(77)
  const attachment = await makeReady('web-0')
  const [name = ''] = advertisementNames(identityOf(attachment))
  await client().create(BGPAdvertisement, advertisementOf(name), by, never)
  await remove('web-0')
  await gone(client(), VPCAttachment, { namespace, name: 'web-0' })
  assert.equal(await graceExpired(), 1)
  await eventually('people are told', async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
    const { items } = (await client().raw({ method: 'GET', path }, never)) as {
      items: { reason: string; regarding: { name: string } }[]
    }
    return items.some(({ reason, regarding }) => reason === 'DetachGraceExpired' && regarding.name === 'web-0')
  })
  world.chosen.push(77, 78)
  assert.deepEqual(identityOf(await makeReady('web-1')), { vpc, attachment: toBase62(78n) })
  await client().remove(BGPAdvertisement, { namespace: systemNamespace, name }, {}, never)
})

async function graceExpired(): Promise<number> {
  const page = await running.galactic.manager.metrics.page()
  return Number(/^galactic_detach_grace_expired_total (\d+)$/m.exec(page)?.[1])
}

test('an attachment deleted before it had anything goes at once', async () => {
  await client().create(VPCAttachment, attachmentOf(namespace, 'web-0', 'nowhere'), by, never)
  await attachmentIs(
    client(),
    { namespace, name: 'web-0' },
    'waiting',
    (found) => conditionOf(found, 'Ready') === 'False AwaitingVPC',
  )
  await remove('web-0')
  await gone(client(), VPCAttachment, { namespace, name: 'web-0' })
})

test('a finalizer of someone else stays, ours goes, and nothing is written afterwards', async () => {
  await makeVpc()
  const at = { namespace, name: 'web-0' }
  await client().create(
    VPCAttachment,
    attachmentOf(namespace, 'web-0', 'blue', {}, { finalizers: ['example.com/hold', finalizer] }),
    by,
    never,
  )
  await attachmentIs(client(), at, 'Ready', isReady)
  await remove('web-0')
  const held = await attachmentIs(client(), at, 'let go by us', ({ metadata }) => metadata.finalizers?.length === 1)
  assert.deepEqual(held.metadata.finalizers, ['example.com/hold'])
  await client().jsonPatch(VPCAttachment, at, [{ op: 'remove', path: '/metadata/finalizers' }], by, never)
  await gone(client(), VPCAttachment, at)
})

test('a namespace with a VPC and attachments in it goes away', async () => {
  await makeVpc()
  await makeReady('web-0')
  await makeReady('web-1')
  await client().raw({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` }, never)
  await eventually('the namespace is gone', async () => {
    const { items } = (await client().raw({ method: 'GET', path: '/api/v1/namespaces' }, never)) as {
      items: { metadata: { name: string } }[]
    }
    return !items.some(({ metadata }) => metadata.name === namespace)
  })
})

test('an attachment made anew under the name gets an identity and a definition of its own', async () => {
  await makeVpc()
  const first = await makeReady('web-0')
  await remove('web-0')
  await gone(client(), VPCAttachment, { namespace, name: 'web-0' })
  const second = await makeReady('web-0')
  assert.notEqual(second.metadata.uid, first.metadata.uid)
  assert.deepEqual(
    (await definitionAt('web-0'))?.metadata.ownerReferences?.map(({ uid }) => uid),
    [second.metadata.uid],
  )
})
