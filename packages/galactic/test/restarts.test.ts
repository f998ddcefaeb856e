/** Crashes, second leaders, many at once: what identifiers and statuses look like afterwards. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { apiVersionOf, createClient, createManager, silentLogger, systemClock } from 'kube-control-loop'
import { scriptTransport } from 'kube-control-loop/testing'
import { type AuditEntry, readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { BGPAdvertisement, finalizer, managers, NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { createParts, defaultSettings } from '../src/app.ts'
import { conflist } from '../src/attachment/conflist.ts'
import { attachmentController } from '../src/attachment/index.ts'
import { base62ToHex } from '../src/identifiers/base62.ts'
import { galacticManifests } from '../src/manifests.ts'
import type { Parts } from '../src/parts.ts'
import { vpcController } from '../src/vpc/index.ts'
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
  startWorld,
  vpcOf,
  type World,
} from './harness.ts'

let world: World
let namespace: string
let count = 0

before(async () => {
  world = await startWorld()
})
after(() => world?.[Symbol.asyncDispose]())
beforeEach(async () => {
  count += 1
  namespace = await world.namespace(`restarts-${count}`)
})

const client = () => world.client
const at = (name: string) => ({ namespace, name })
const withFinalizer = { finalizers: [finalizer] }
const attach = (name: string) =>
  client().create(VPCAttachment, attachmentOf(namespace, name, 'blue', {}, withFinalizer), by, never)
const ready = (name: string) => attachmentIs(client(), at(name), 'Ready', isReady)

async function makeVpc(): Promise<string> {
  await client().create(VPC, vpcOf(namespace, 'blue', withFinalizer), by, never)
  return eventually('the VPC has its identifier', async () => (await client().find(VPC, at('blue'), never))?.status?.vpc)
}

/** Galactic itself, as an earlier leader: same identity, same field managers. */
const leader = () => createClient(world.transport(world.galacticKubeconfig), { clock: systemClock, jitter: Math.random })

/** Stores a status as an earlier leader did. */
function leaderWrote<K extends typeof VPC | typeof VPCAttachment>(kind: K, name: string, status: object): Promise<unknown> {
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: at(name), status }
  const manager = kind.kind === 'VPC' ? 'galactic-vpc' : 'galactic-vpcattachment'
  return leader().apply<unknown, unknown>(
    kind as never,
    { ...at(name), subresource: 'status' },
    body,
    { fieldManager: manager, force: true },
    never,
  )
}

/** What Galactic wrote meanwhile, leases apart, from the audit log. */
async function writesOf(made: () => Promise<unknown>): Promise<AuditEntry[]> {
  const from = await tailAudit(world.plane)
  await made()
  const to = await tailAudit(world.plane)
  return (await readAudit(world.plane.auditLogPath ?? '', { from, to })).filter(
    ({ user, verb, resource }) =>
      user === 'system:serviceaccount:galactic-system:galactic' &&
      !['get', 'list', 'watch'].includes(verb) &&
      resource !== 'leases',
  )
}

test('after a crash between definition and status, with a node that advertises already: one write, the same identity', async () => {
  await using first = world.start()
  const vpc = await makeVpc()
  await first.stop()
  const attachment = await attach('web-0')
  const identity = { vpc, attachment: 'zz' }
  await leader().create(
    NetworkAttachmentDefinition,
    {
      apiVersion: apiVersionOf(NetworkAttachmentDefinition),
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        ...at('web-0'),
        labels: { 'cloud.datumapis.com/vpc': vpc, 'cloud.datumapis.com/vpc-attachment': 'zz' },
        ownerReferences: [
          {
            apiVersion: apiVersionOf(VPCAttachment),
            kind: 'VPCAttachment',
            name: 'web-0',
            uid: attachment.metadata.uid ?? '',
            controller: true,
            blockOwnerDeletion: false,
          },
        ],
      },
      spec: { config: conflist('web-0', identity, { mode: 'Netns', addresses: [], gateways: [] }, 'galactic-system') },
    },
    { fieldManager: managers.attachment },
    never,
  )
  const name = `${base62ToHex(vpc)}-${base62ToHex('zz')}`
  await client().create(BGPAdvertisement, advertisementOf(name), by, never)
  await advertise(client(), name, 'True', 'Advertised')

  const writes = await writesOf(async () => {
    await using _second = world.start()
    const programmed = await attachmentIs(client(), at('web-0'), 'Programmed', isProgrammed)
    assert.equal(programmed.status?.vpcAttachment, 'zz')
    assert.equal(conditionOf(programmed, 'Ready'), 'True AttachmentDefinitionReady')
  })
  assert.deepEqual(
    writes.map(({ verb, resource, subresource, code }) => [verb, resource, subresource, code]),
    [['patch', 'vpcattachments', 'status', 200]],
  )
})

test('a second leader wrote the VPC identifier first: its value stands, no error, counted', async () => {
  const wire = scriptTransport(world.transport(world.galacticKubeconfig))
  const held = wire.on({ method: 'PATCH', path: new RegExp(`/namespaces/${namespace}/vpcs/blue/status`) }).hold()
  await using running = world.start({ transport: wire })
  await client().create(VPC, vpcOf(namespace, 'blue', withFinalizer), by, never)
  await held.arrived(1)
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'IdentifierAllocated',
    message: 'identifier allocated',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  }
  await leaderWrote(VPC, 'blue', { vpc: 'first', observedGeneration: 1, conditions: [condition] })
  held.release()
  await attach('web-0')
  assert.equal((await ready('web-0')).status?.vpc, 'first')
  assert.equal((await client().find(VPC, at('blue'), never))?.status?.vpc, 'first')
  const page = await running.galactic.manager.metrics.page()
  assert.match(
    page,
    /galactic_write_race_requeues_total\{controller="vpc",resource="vpcs\/status",verb="apply",cause="stale"\} 1/,
  )
  assert.match(page, /controller_runtime_reconcile_errors_total\{controller="vpc"\} 0/)
})

test('one identity given out twice: the younger says so, and is served when the older goes', async () => {
  await using first = world.start()
  const vpc = await makeVpc()
  await attach('older')
  const older = await ready('older')
  await first.stop()
  // Creation times have whole seconds: the younger one must be of a later one to be known as that.
  await eventually('another second', () => Date.now() > Date.parse(older.metadata.creationTimestamp ?? '') + 1_000)
  await attach('younger')
  await leaderWrote(VPCAttachment, 'younger', { vpc, vpcAttachment: older.status?.vpcAttachment })

  await using _second = world.start()
  const younger = await attachmentIs(
    client(),
    at('younger'),
    'in conflict',
    (found) => conditionOf(found, 'Ready') === 'False IdentifierConflict',
  )
  assert.match(
    younger.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
    new RegExp(`older ${namespace}/older$`),
  )
  assert.equal(conditionOf(await client().find(VPCAttachment, at('older'), never), 'Ready'), 'True AttachmentDefinitionReady')
  await client().remove(VPCAttachment, at('older'), {}, never)
  await gone(client(), VPCAttachment, at('older'))
  await ready('younger')
})

test('forty at once: all identities differ, two writes each to Ready, no refusal, and at rest nothing is written', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `web-${index}`)
  await using running = world.start()
  await makeVpc()
  const writes = await writesOf(async () => {
    await Promise.all(names.map(attach))
    await Promise.all(names.map(ready))
  })
  const attachments = await client().list(VPCAttachment, { namespace }, never)
  assert.equal(new Set(attachments.items.map(({ status }) => status?.vpcAttachment)).size, names.length)
  assert.deepEqual(
    writes.filter(({ code }) => code >= 300),
    [],
  )
  assert.equal(writes.length, 2 * names.length)

  const node = startStandInNode({ kubeconfig: world.nodeKubeconfig })
  await Promise.all(names.map((name) => attachmentIs(client(), at(name), 'Programmed', isProgrammed)))
  await running.stop()
  const atRest = await writesOf(async () => {
    await using again = world.start()
    await eventually('all passes are done', async () => {
      const page = await again.galactic.manager.metrics.page()
      return (
        Number(/controller_runtime_reconcile_total\{controller="vpcattachment",result="success"\} (\d+)/.exec(page)?.[1]) >=
        names.length
      )
    })
  })
  assert.deepEqual(atRest, [])
  await node.stop()
})

test('a VPC without an identifier left says so on the attachment, which is served as soon as one is given back', async () => {
  const stop = new AbortController()
  const manager = createManager({
    name: 'galactic',
    transport: world.transport(world.galacticKubeconfig),
    metricPrefix: 'galactic_',
    eventController: 'cloud.datumapis.com/galactic',
    identity: 'test',
    log: silentLogger,
  })
  const parts = createParts(manager, defaultSettings, randomInt)
  const scopesThatAreFull = new Set<string>()
  const isTaken: Parts['reservations']['isTaken'] = (scope, id, except) =>
    scopesThatAreFull.has(scope) || parts.reservations.isTaken(scope, id, except)
  const full = { ...parts, reservations: { ...parts.reservations, isTaken } }
  manager.add(vpcController(full))
  manager.add(attachmentController(full))
  const running = manager.run(stop.signal)
  const vpc = await makeVpc()
  await attach('web-0')
  await ready('web-0')
  scopesThatAreFull.add(vpc)
  await attach('web-1')
  const waits = await attachmentIs(
    client(),
    at('web-1'),
    'waiting',
    (found) => conditionOf(found, 'Ready') === 'False IdentifiersExhausted',
  )
  assert.equal(waits.status?.vpcAttachment, undefined)
  scopesThatAreFull.clear()
  await client().remove(VPCAttachment, at('web-0'), {}, never)
  await ready('web-1')
  stop.abort()
  await running
})

test('definitions go with their kind and come back with it; meanwhile attachments wait, and deleted ones go', async () => {
  await using running = world.start()
  await makeVpc()
  await attach('stays')
  const before = await ready('stays')
  await attach('goes')
  await ready('goes')
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/network-attachment-definitions.k8s.cni.cncf.io'
  await client().raw({ method: 'DELETE', path }, never)
  await eventually('the kind is not served', () => running.galactic.caches.definitions.state === 'unserved')
  await attach('new')
  for (const name of ['new', 'stays']) {
    await attachmentIs(
      client(),
      at(name),
      'without its kind',
      (found) => conditionOf(found, 'Ready') === 'False DefinitionKindNotServed',
    )
  }
  await client().remove(VPCAttachment, at('goes'), {}, never)
  await gone(client(), VPCAttachment, at('goes'))
  await world.plane.apply(galacticManifests().local)
  assert.notEqual((await ready('new')).status?.vpcAttachment, before.status?.vpcAttachment)
  assert.equal((await ready('stays')).status?.vpcAttachment, before.status?.vpcAttachment)
  const again = await client().find(NetworkAttachmentDefinition, at('stays'), never)
  assert.equal(again?.metadata.labels?.['cloud.datumapis.com/vpc-attachment'], before.status?.vpcAttachment)
})

test('the standby takes over: what the first leader began is finished by the second', async () => {
  const lease = { namespace: 'galactic-system', name: 'takeover', termMs: 3_000, renewDeadlineMs: 2_000, retryMs: 200 }
  await using one = world.start({ lease })
  await eventually('the first leads', () => one.galactic.manager.leads)
  await using two = world.start({ lease })
  await makeVpc()
  await one.stop()
  await attach('web-0')
  await ready('web-0')
  assert.equal(two.galactic.manager.leads, true)
})
