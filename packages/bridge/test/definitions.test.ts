/** Network definitions: their names, their neighbours, who may touch them, and how long they stand. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { apiVersionOf, type Manifest, pathOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { BridgeAttachment, BridgeNetwork, NetworkAttachmentDefinition } from '../src/api/index.ts'
import { bridgeManifests } from '../src/manifests.ts'
import {
  attached,
  attachmentOf,
  by,
  endPod,
  gone,
  isReady,
  makePod,
  messageOf,
  networkOf,
  never,
  readyAttachment,
  report,
  says,
  startWorld,
  until,
  type World,
} from './harness.ts'

let world: World
before(async () => {
  world = await startWorld()
  await allowAnything()
})
after(() => world?.[Symbol.asyncDispose]())

/** The CRD that Multus brings asks for less than the one for local use. */
async function allowAnything(): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/network-attachment-definitions.k8s.cni.cncf.io'
  const body = (await world.client.raw({ method: 'GET', path }, never)) as {
    spec: { versions: { schema: { openAPIV3Schema: { required?: string[] } } }[] }
  }
  for (const { schema } of body.spec.versions) delete schema.openAPIV3Schema.required
  await world.client.raw({ method: 'PUT', path, query: by, body }, never)
}

const configOf = async (namespace: string, name: string) =>
  JSON.parse((await world.client.find(NetworkAttachmentDefinition, { namespace, name }, never))?.spec.config ?? '{}')

/** A definition as somebody makes it by hand, with whatever body. */
async function byHand(namespace: string, name: string, body: object): Promise<void> {
  const object = { apiVersion: apiVersionOf(NetworkAttachmentDefinition), kind: 'NetworkAttachmentDefinition', ...body }
  const { metadata, ...rest } = { metadata: {}, ...object }
  const path = pathOf(NetworkAttachmentDefinition, { namespace })
  await world.client.raw(
    { method: 'POST', path, query: by, body: { ...rest, metadata: { ...metadata, name, namespace } } },
    never,
  )
}

const setConfig = (namespace: string, name: string, config: string) => {
  world.recorder.expect({ kind: 'NetworkAttachmentDefinition', namespace, name, path: 'spec', why: 'somebody edits it' })
  const path = pathOf(NetworkAttachmentDefinition, { namespace, name })
  const contentType = 'application/merge-patch+json'
  return world.client.raw({ method: 'PATCH', path, contentType, query: by, body: { spec: { config } } }, never)
}

test('B51: attachments of one name in two namespaces and networks have two inner names and two bridges, which stay', async () => {
  const { client } = world
  const spaces = [await world.namespace('left'), await world.namespace('right')]
  const first = world.start()
  for (const space of spaces) await readyAttachment(client, space, 'web-0', { addresses: ['10.128.0.7/32'] })
  const before = await Promise.all(spaces.map((space) => configOf(space, 'web-0')))
  assert.deepEqual(
    before.map(({ name }) => name),
    ['left.web-0', 'right.web-0'],
  )
  assert.equal(new Set(before.map(({ plugins }) => plugins[0].bridge)).size, 2)
  await first.stop()
  await using _ = world.start()
  await readyAttachment(client, 'left', 'web-1')
  assert.deepEqual(await Promise.all(spaces.map((space) => configOf(space, 'web-0'))), before)
  assert.equal((await configOf('left', 'web-1')).plugins[0].bridge, before[0].plugins[0].bridge)
})

test('B51: definitions that somebody made badly do not matter at start, and are left alone', async () => {
  const { client } = world
  const namespace = await world.namespace('bad')
  const bodies: Record<string, object> = {
    empty: {},
    'no-json': { spec: { config: '{' } },
    'no-list': { spec: { config: '[7]' } },
    'not-said': { spec: {} },
  }
  for (const [name, body] of Object.entries(bodies)) await byHand(namespace, name, body)
  await using running = world.start()
  await readyAttachment(client, namespace, 'web-0')
  for (const [name, body] of Object.entries(bodies)) {
    const stands = await client.find(NetworkAttachmentDefinition, { namespace, name }, never)
    assert.deepEqual(stands?.spec, (body as { spec?: object }).spec, name)
  }
  assert.match(await running.process.manager.metrics.page(), /bridge_attachments_by_ready\{/)
})

test('B51: a definition of somebody else under the name is named, never adopted, and no hindrance once it is gone', async () => {
  const { client } = world
  const namespace = await world.namespace('foreign')
  const at = { namespace, name: 'web-0' }
  await byHand(namespace, 'web-0', { spec: { config: '{"of":"others"}' } })
  await using _ = world.start()
  await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  const blocked = await until(client, BridgeAttachment, at, 'is blocked', says('Ready', 'False DefinitionConflict'))
  assert.match(
    messageOf(blocked, 'Ready'),
    /NetworkAttachmentDefinition web-0 is not of this attachment: it is controlled by nobody/,
  )
  assert.equal(blocked.status?.networkAttachmentDefinition, undefined)
  assert.deepEqual(await configOf(namespace, 'web-0'), { of: 'others' })
  await client.remove(NetworkAttachmentDefinition, at, {}, never)
  await until(client, BridgeAttachment, at, 'is Ready', isReady)
})

test('a foreign definition outlives the attachment that could not have its name', async () => {
  const { client } = world
  const namespace = await world.namespace('outlived')
  const at = { namespace, name: 'web-0' }
  await byHand(namespace, 'web-0', { spec: { config: '{"of":"others"}' } })
  await using _ = world.start()
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  await client.remove(BridgeAttachment, at, {}, never)
  await gone(client, BridgeAttachment, at)
  assert.deepEqual(await configOf(namespace, 'web-0'), { of: 'others' })
})

test('a definition that somebody edits is put right, and one that somebody deletes is made again', async () => {
  const { client } = world
  const namespace = await world.namespace('edited')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await readyAttachment(client, namespace, 'web-0', { mtu: 1460 })
  const right = await configOf(namespace, 'web-0')
  await setConfig(namespace, 'web-0', '{"plugins":[{"type":"host-device"}]}')
  await eventually('the text is right again', async () => (await configOf(namespace, 'web-0')).name === right.name)
  const { uid } = (await client.find(NetworkAttachmentDefinition, at, never))?.metadata ?? {}
  await client.remove(NetworkAttachmentDefinition, at, {}, never)
  await eventually('another one stands', async () => {
    const found = await client.find(NetworkAttachmentDefinition, at, never)
    return found && found.metadata.uid !== uid
  })
  assert.deepEqual(await configOf(namespace, 'web-0'), right)
})

test('another wish is another text, at the generation that was wished', async () => {
  const { client } = world
  const namespace = await world.namespace('wished')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await readyAttachment(client, namespace, 'web-0', { mtu: 1460 })
  const path = pathOf(BridgeAttachment, at)
  const body = { spec: { interface: { mtu: 1400 } } }
  await client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', query: by, body }, never)
  await until(client, BridgeAttachment, at, 'speaks of the second', ({ status }) => status?.observedGeneration === 2)
  assert.equal((await configOf(namespace, 'web-0')).plugins[0].mtu, 1400)
})

test('B51: a definition outlives the last Pod that uses it, and the wait is said', async () => {
  const { client } = world
  const namespace = await world.namespace('in-use')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await readyAttachment(client, namespace, 'web-0', { addresses: ['10.128.0.7/32'] })
  await makePod(client, namespace, 'workload', 'web-0')
  await report(client, { namespace, name: 'workload' }, [attached(`${namespace}/web-0`, '10.128.0.7')])
  await until(client, BridgeAttachment, at, 'is Programmed', says('Programmed', 'True Attached'))
  await client.remove(BridgeAttachment, at, {}, never)
  const waits = await until(client, BridgeAttachment, at, 'waits', says('Ready', 'False Detaching'))
  assert.match(messageOf(waits, 'Ready'), /^waits until Pod in-use\/workload no longer uses .*, at most 30 s$/)
  assert.ok(says('Programmed', 'True Attached')(waits))
  const stands = await client.find(NetworkAttachmentDefinition, at, never)
  assert.ok(stands && stands.metadata.deletionTimestamp === undefined)
  await endPod(client, { namespace, name: 'workload' })
  await gone(client, BridgeAttachment, at)
  assert.equal(await client.find(NetworkAttachmentDefinition, at, never), undefined)
})

test('B51: a Pod that stays is waited for no longer than the grace, which is counted and told', async () => {
  const { client } = world
  const namespace = await world.namespace('grace')
  const at = { namespace, name: 'web-0' }
  await using running = world.start({ settings: { detachGraceMs: 200 } })
  await readyAttachment(client, namespace, 'web-0')
  await makePod(client, namespace, 'workload', 'web-0')
  await eventually('the Pod is seen', () => running.process.caches.pods.by('definition', `${namespace}/web-0`).length === 1)
  await client.remove(BridgeAttachment, at, {}, never)
  await gone(client, BridgeAttachment, at)
  assert.equal(await client.find(NetworkAttachmentDefinition, at, never), undefined)
  assert.match(await running.process.manager.metrics.page(), /bridge_detach_grace_expired_total 1/)
  await eventually('people are told', async () => {
    const events = await client.raw({ method: 'GET', path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events` }, never)
    return JSON.stringify(events).includes('DetachGraceExpired')
  })
})

/** The role as installed, or without some verbs on one resource. */
async function setRole(without?: { resource: string; verbs: readonly string[] }): Promise<void> {
  const role = bridgeManifests().rbac.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'bridge')
  const rules = (role as Manifest & { rules: { resources: string[]; verbs: string[]; apiGroups: string[] }[] }).rules.flatMap(
    (rule) =>
      rule.resources.map((resource) => ({
        ...rule,
        resources: [resource],
        verbs: resource === without?.resource ? rule.verbs.filter((verb) => !without.verbs.includes(verb)) : rule.verbs,
      })),
  )
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/bridge'
  const contentType = 'application/merge-patch+json'
  await world.client.raw({ method: 'PATCH', path, contentType, query: by, body: { rules } }, never)
}

test('B51: a verb on definitions that is missing is said on the attachment, and goes on by itself once it is given', async () => {
  const { client } = world
  const namespace = await world.namespace('forbidden')
  await using _ = world.start()
  await readyAttachment(client, namespace, 'first')
  await setRole({ resource: 'network-attachment-definitions', verbs: ['create', 'delete'] })
  try {
    await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
    const at = { namespace, name: 'web-0' }
    const refused = await until(client, BridgeAttachment, at, 'is refused', says('Ready', 'False DefinitionsForbidden'))
    assert.match(messageOf(refused, 'Ready'), /bridge-system:bridge" cannot create resource "network-attachment-definitions"/)
    await client.remove(BridgeAttachment, { namespace, name: 'first' }, {}, never)
    await until(client, BridgeAttachment, { namespace, name: 'first' }, 'is refused', says('Ready', 'False DefinitionsForbidden'))
    await setRole()
    await until(client, BridgeAttachment, at, 'is Ready', isReady)
    await gone(client, BridgeAttachment, { namespace, name: 'first' })
  } finally {
    await setRole()
  }
})

const unread = [
  ['network-attachment-definitions', 'Ready', 'False DefinitionsForbidden', 'True DefinitionReady'],
  ['pods', 'Programmed', 'Unknown PodsForbidden', 'False NotAttached'],
] as const

for (const [resource, type, wanted, plain] of unread)
  test(`B51: to be refused to watch ${resource} is said, makes the process not ready, and heals`, async () => {
    const { client } = world
    const namespace = await world.namespace(`no-${resource.slice(0, 4)}`)
    await setRole({ resource, verbs: ['list', 'watch'] })
    try {
      await using running = world.start()
      await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
      await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
      const at = { namespace, name: 'web-0' }
      const refused = await until(client, BridgeAttachment, at, `is ${wanted}`, says(type, wanted))
      assert.match(messageOf(refused, type), new RegExp(`not allowed to list ${resource}`))
      const { host, port } = running.process.manager.address ?? {}
      const readiness = await fetch(`http://${host}:${port}/readyz`)
      assert.deepEqual([readiness.ok, (await readiness.text()).includes(`${resource} cannot be read`)], [false, true])
      await setRole()
      await until(client, BridgeAttachment, at, `is ${plain}`, says(type, plain))
    } finally {
      await setRole()
    }
  })
