/** Objects and kinds that come, go and come back in any order. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pathOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { BridgeAttachment, BridgeNetwork, NetworkAttachmentDefinition } from '../src/api/index.ts'
import { bridgeManifests } from '../src/manifests.ts'
import { sha256 } from '../src/network/bridge-name.ts'
import {
  attachmentOf,
  by,
  gone,
  isReady,
  messageOf,
  networkOf,
  never,
  readyAttachment,
  says,
  startWorld,
  until,
  type World,
} from './harness.ts'

let world: World
before(async () => {
  // Without the CRD that Multus brings: the first test looks at that.
  world = await startWorld({ local: false })
})
after(() => world?.[Symbol.asyncDispose]())

const named = says('Ready', 'True BridgeNamed')
const definitionsCrd = 'network-attachment-definitions.k8s.cni.cncf.io'

test('definitions are not installed, are installed, go, and come back: each time it is said, and goes on by itself', async () => {
  const { client, plane } = world
  const namespace = await world.namespace('installed')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  const waits = await until(client, BridgeAttachment, at, 'says so', says('Ready', 'False DefinitionsNotInstalled'))
  assert.match(messageOf(waits, 'Ready'), /serves no NetworkAttachmentDefinitions/)
  await plane.apply(bridgeManifests().local as never)
  await until(client, BridgeAttachment, at, 'is Ready', isReady)
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definitionsCrd}`
  await client.raw({ method: 'DELETE', path }, never)
  const lost = await until(client, BridgeAttachment, at, 'says so again', says('Ready', 'False DefinitionsNotInstalled'))
  assert.equal(lost.status?.networkAttachmentDefinition, undefined)
  await eventually('the CRD is gone', async () => !(await client.raw({ method: 'GET', path }, never).catch(() => undefined)))
  await plane.apply(bridgeManifests().local as never)
  await until(client, BridgeAttachment, at, 'is Ready again', isReady)
  await client.raw({ method: 'DELETE', path }, never)
  await client.remove(BridgeAttachment, at, {}, never)
  await gone(client, BridgeAttachment, at)
  await eventually('the CRD is gone', async () => !(await client.raw({ method: 'GET', path }, never).catch(() => undefined)))
  await plane.apply(bridgeManifests().local as never)
})

test('an attachment that is made first waits for its network', async () => {
  const { client } = world
  const namespace = await world.namespace('first')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue'), by, never)
  await until(client, BridgeAttachment, at, 'waits', says('Ready', 'False AwaitingNetwork'))
  await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
  await until(client, BridgeAttachment, at, 'is Ready', isReady)
})

test('an address outside the network is said, and is right once its range is added', async () => {
  const { client } = world
  const namespace = await world.namespace('ranges')
  const at = { namespace, name: 'web-0' }
  await using _ = world.start()
  await readyAttachment(client, namespace, 'inside', { addresses: ['10.128.0.7/32'] })
  await client.create(BridgeAttachment, attachmentOf(namespace, 'web-0', 'blue', { addresses: ['10.200.0.7/32'] }), by, never)
  const outside = await until(client, BridgeAttachment, at, 'is told', says('Ready', 'False AddressOutsideNetwork'))
  assert.match(messageOf(outside, 'Ready'), /address 10\.200\.0\.7\/32 is in none of the ranges 10\.128\.0\.0\/20, fd20:1::\/64/)
  const body = { spec: { ranges: ['10.128.0.0/20', 'fd20:1::/64', '10.200.0.0/20'] } }
  const path = pathOf(BridgeNetwork, { namespace, name: 'blue' })
  await client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', query: by, body }, never)
  await until(client, BridgeAttachment, at, 'is Ready', isReady)
  // Whoever was there reaches it: the new range is on its link too, for the next Pod that starts with it.
  await eventually('the other definition knows the range', async () => {
    const definition = await client.find(NetworkAttachmentDefinition, { namespace, name: 'inside' }, never)
    return definition?.spec.config?.includes('{"dst":"10.200.0.0/20"}')
  })
})

test('a network goes when the last attachment on it is gone, and takes no new one meanwhile', async () => {
  const { client } = world
  const namespace = await world.namespace('last')
  const network = { namespace, name: 'blue' }
  await using _ = world.start()
  const before = await readyAttachment(client, namespace, 'web-0')
  await client.remove(BridgeNetwork, network, {}, never)
  await until(client, BridgeNetwork, network, 'waits', (found) => messageOf(found, 'Ready').includes('waits'))
  await client.create(BridgeAttachment, attachmentOf(namespace, 'late', 'blue'), by, never)
  await until(client, BridgeAttachment, { namespace, name: 'late' }, 'waits', says('Ready', 'False AwaitingNetwork'))
  const still = await client.find(BridgeAttachment, { namespace, name: 'web-0' }, never)
  assert.deepEqual(still?.status, before.status)
  await client.remove(BridgeAttachment, { namespace, name: 'web-0' }, {}, never)
  await gone(client, BridgeNetwork, network)
  assert.ok(await client.find(BridgeAttachment, { namespace, name: 'late' }, never))
})

test('B40: a network made again is another one: who was on the first keeps its bridge and is told', async () => {
  const { client } = world
  const namespace = await world.namespace('again')
  const network = { namespace, name: 'blue' }
  await using _ = world.start()
  const before = await readyAttachment(client, namespace, 'web-0')
  await client.remove(BridgeNetwork, network, {}, never)
  world.recorder.expect({
    ...{ kind: 'BridgeNetwork', namespace, name: 'blue', path: 'metadata.finalizers/bridge.datumapis.com/finalizer' },
    why: 'somebody takes the network away by force',
  })
  const body = { metadata: { finalizers: null } }
  await client.raw(
    { method: 'PATCH', path: pathOf(BridgeNetwork, network), contentType: 'application/merge-patch+json', query: by, body },
    never,
  )
  await gone(client, BridgeNetwork, network)
  await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
  const at = { namespace, name: 'web-0' }
  const told = await until(client, BridgeAttachment, at, 'is told', says('Ready', 'False NetworkReplaced'))
  assert.equal(told.status?.bridge, before.status?.bridge)
  const second = await until(client, BridgeNetwork, network, 'has a bridge', named)
  assert.notEqual(second.status?.bridge, before.status?.bridge)
  await client.remove(BridgeAttachment, at, {}, never)
  await gone(client, BridgeAttachment, at)
  assert.equal(await client.find(NetworkAttachmentDefinition, at, never), undefined)
})

test('two networks whose names of devices would be the same get different ones, and keep them over a restart', async () => {
  const { client } = world
  const namespace = await world.namespace('collide')
  const digest = (text: string) => (text.includes('.') ? sha256(text) : '0'.repeat(64))
  const names = async () => {
    const found = await Promise.all(
      ['one', 'two', 'three'].map((name) => until(client, BridgeNetwork, { namespace, name }, 'has a bridge', named)),
    )
    return found.map(({ status }) => status?.bridge)
  }
  const first = world.start({ digest })
  await Promise.all(['one', 'two', 'three'].map((name) => client.create(BridgeNetwork, networkOf(namespace, name), by, never)))
  const given = await names()
  assert.equal(new Set(given).size, 3)
  assert.ok(given.includes('kb-000000000000'))
  await first.stop()
  await using _ = world.start({ digest })
  await client.create(BridgeNetwork, networkOf(namespace, 'four'), by, never)
  const fourth = await until(client, BridgeNetwork, { namespace, name: 'four' }, 'has a bridge', named)
  assert.deepEqual(await names(), given)
  assert.ok(!given.includes(fourth.status?.bridge))
})

test('B39: a namespace with everything in it goes at once', async () => {
  const { client } = world
  const namespace = await world.namespace('whole')
  await using _ = world.start()
  for (const name of ['web-0', 'web-1']) await readyAttachment(client, namespace, name)
  await client.raw({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` }, never)
  await eventually(
    'the namespace is gone',
    async () => !(await client.raw({ method: 'GET', path: `/api/v1/namespaces/${namespace}` }, never).catch(() => undefined)),
    { timeoutMs: 60_000 },
  )
})
