/** Galactic's own table, enforced on a control plane that knows no other kinds; Galactic works under it as it is installed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type KubeObject,
  ownershipInForce,
  ownershipParameters,
  silentLogger,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import {
  type Actor,
  assertPassed,
  assertRefused,
  type OwnershipAttempt,
  ownershipAttempts,
  read,
  type Target,
  write,
} from 'kube-control-loop/testing'
import { type ApiConnection, applyPatch, connect, type KubeObject as KubeManifest, type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { finalizer, managers, NetworkAttachmentDefinition, ownership, VPC, VPCAttachment } from '../src/api/index.ts'
import { enforcement, galacticAccount, galacticManifests, ownershipProbes } from '../src/manifests.ts'
import { startStandInNode } from '../testing/index.ts'
import { attachmentIs, attachmentOf, by, gone, isProgrammed, never, startWorld, vpcOf } from './harness.ts'

let plane: Plane
let client: Client
let galactic: Actor
let rogue: Actor
let admin: Actor
const namespace = 'enforced'
const connections: ApiConnection[] = []

async function actor(user: string, kubeconfig: string): Promise<Actor> {
  const connection = await connect(kubeconfig)
  connections.push(connection)
  return { user, connection }
}

const user = `system:serviceaccount:${galacticAccount.namespace}:${galacticAccount.name}`
const parameters = ownershipParameters(enforcement, 'Deny')

async function enforceOn(where: Plane, by: Client): Promise<void> {
  await where.apply([parameters, ...galacticManifests().ownership] as KubeManifest[])
  const given = { client: by, clock: systemClock, enforcement, probes: ownershipProbes, signal: AbortSignal.timeout(60_000) }
  assert.equal(await ownershipInForce(given), ownershipProbes.length)
}

let transport: Transport
before(async () => {
  plane = await startPlane({ name: 'galactic-ownership' })
  const { crds, rbac, local } = galacticManifests()
  const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await plane.apply([...crds, ...local, ...rbac, space] as KubeManifest[])
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  transport = createHttpTransport({ access, clock: systemClock, userAgent: 'galactic-test' })
  client = createClient(transport, { clock: systemClock, jitter: Math.random })
  await enforceOn(plane, client)
  admin = { user: 'admin', connection: plane.connection }
  galactic = await actor(user, await plane.kubeconfigFor({ user, groups: ['system:masters'] }))
  rogue = await actor('rogue', await plane.kubeconfigFor({ user: 'rogue', groups: ['system:masters'] }))
})
after(async () => {
  for (const connection of connections) connection.close()
  await transport?.close()
  await plane?.[Symbol.asyncDispose]()
})

test('Galactic brings an attachment to Programmed and takes everything away again, with nobody refused', async () => {
  await using world = await startWorld()
  await enforceOn(world.plane, world.client)
  const space = await world.namespace('chain')
  const at = { namespace: space, name: 'web-0' }
  await using _ = world.start()
  const node = startStandInNode({ kubeconfig: world.nodeKubeconfig, log: silentLogger })
  try {
    await world.client.create(VPC, vpcOf(space, 'blue', { finalizers: [finalizer] }), by, never)
    const link = { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] }
    await world.client.create(VPCAttachment, attachmentOf(space, 'web-0', 'blue', link, { finalizers: [finalizer] }), by, never)
    await attachmentIs(world.client, at, 'Programmed', isProgrammed)
    await world.client.remove(VPCAttachment, at, {}, never)
    await gone(world.client, VPCAttachment, at)
    await gone(world.client, NetworkAttachmentDefinition, at)
    await world.client.remove(VPC, { namespace: space, name: 'blue' }, {}, never)
    await gone(world.client, VPC, { namespace: space, name: 'blue' })
  } finally {
    await node.stop()
  }
  assert.deepEqual(
    world.log.filter((line) => line.includes('ValidatingAdmissionPolicy')),
    [],
  )
})

const condition = (type: string, is: 'True' | 'False') => ({
  ...{ type, status: is, reason: `Is${is}`, message: `it is ${is}`, lastTransitionTime: '2026-08-21T10:00:00Z' },
})

type Enforced = { kind: Kind; object: KubeObject; manager: string; status?: object; after: { spec: object; status?: object } }

const vpcObject = () => vpcOf(namespace, 'made', { finalizers: [finalizer] })
const attachmentObject = () => attachmentOf(namespace, 'made', 'made', {}, { finalizers: [finalizer] })
const definition = () => ({
  ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: NetworkAttachmentDefinition.kind, spec: { config: '{}' } },
  metadata: {
    ...{ name: 'made', namespace },
    labels: { 'cloud.datumapis.com/vpc': 'jU', 'cloud.datumapis.com/vpc-attachment': '1a' },
  },
})

const fields = (text: string) => ({
  ...{ vpc: text, vpcAttachment: text, networkAttachmentDefinition: text, node: text, hostInterface: text, vrfInterface: text },
  ...{
    podName: text,
    containerID: text.repeat(46),
    guestInterface: text,
    podSubnet: 'fd00:10:ff01:0:1::/80',
    observedGeneration: 7,
  },
  egress: { internet: { sourceAddresses: [{ family: 'IPv4', address: '198.51.100.7', stability: 'Stable' }] } },
})

const enforced: readonly { kind: Kind; make: () => Enforced }[] = [
  {
    kind: VPC,
    make: () => ({
      ...{ kind: VPC, object: vpcObject() as KubeObject, manager: managers.vpc },
      status: { vpc: 'jU', conditions: [condition('Ready', 'False')] },
      // The schema keeps an identifier as it is: that path is tried on an object without one.
      after: { spec: {}, status: { observedGeneration: 7, vpc: 'jV', conditions: [condition('Ready', 'True')] } },
    }),
  },
  {
    kind: VPCAttachment,
    make: () => ({
      ...{ kind: VPCAttachment, object: attachmentObject() as KubeObject, manager: managers.attachment },
      status: { conditions: [condition('Ready', 'False'), condition('Programmed', 'False')] },
      after: { spec: {}, status: { ...fields('a'), conditions: [condition('Ready', 'True'), condition('Programmed', 'True')] } },
    }),
  },
  {
    kind: NetworkAttachmentDefinition,
    make: () => ({
      ...{ kind: NetworkAttachmentDefinition, object: definition() as KubeObject, manager: managers.attachment },
      after: { spec: { config: '{"cniVersion":"1.0.0"}' } },
    }),
  },
]

const rowOf = (kind: Kind) => {
  const row = ownership.find((each) => each.kind.kind === kind.kind)
  assert.ok(row)
  return row
}

async function trying(kind: Kind, { subresource, patch }: OwnershipAttempt, by: Actor, manager?: string) {
  const at: Target = { kind, name: 'made', namespace }
  const body = patch(await read(admin, at))
  return await write(by, at, { subresource, body, dryRun: true, ...(manager === undefined ? {} : { manager }) })
}

for (const { kind, make } of enforced) {
  describe(kind.kind, () => {
    before(async () => {
      const { object, manager, status } = make()
      const at: Target = { kind, name: 'made', namespace }
      const maker = kind === NetworkAttachmentDefinition ? { by: galactic, manager } : { by: admin, manager: 'test' }
      assertPassed(await write(maker.by, at, { method: 'POST', manager: maker.manager, body: object }))
      if (!status) return
      const body = { apiVersion: object.apiVersion, kind: object.kind, metadata: { name: 'made' }, status }
      assertPassed(await write(galactic, at, { manager, subresource: 'status', contentType: applyPatch, force: true, body }))
    })
    after(async () => {
      const { name } = make().object.metadata
      await write(galactic, { kind, name, namespace }, { manager: make().manager, body: { metadata: { finalizers: null } } })
      await client.remove(kind, { name, namespace }, {}, never).catch(() => {})
    })

    // A row's paths do not depend on the other version.
    const paths = ownershipAttempts(rowOf(kind), Object.keys(enforcement.identities), { metadata: { name: '' }, spec: {} })
    for (const [index, { path, shown, writers }] of paths.entries()) {
      if (kind === VPC && path === 'vpc') continue
      const attempt = () => {
        const all = ownershipAttempts(rowOf(kind), Object.keys(enforcement.identities), {
          metadata: { name: 'made' },
          ...make().after,
        })
        const found = all[index]
        assert.ok(found)
        return found
      }
      test(`${path}: ${writers.length > 0 ? 'its documented writer may, nobody else' : 'nobody may'}`, async () => {
        for (const { managers } of writers)
          for (const manager of managers)
            assertPassed(await trying(kind, attempt(), galactic, manager === '' ? undefined : manager))
        const only = writers.length > 0 ? `${user} as ${writers[0]?.managers[0]}` : 'nobody'
        for (const manager of ['kubectl-edit', 'vpc-controller', undefined])
          assertRefused(await trying(kind, attempt(), rogue, manager), `${shown} written only by ${only}`, 'not by rogue')
        assertRefused(await trying(kind, attempt(), galactic, 'somebody'), `${shown} written only by ${only}`)
        for (const { managers } of writers) assertRefused(await trying(kind, attempt(), rogue, managers[0]), 'is reserved for')
      })
    }
  })
}

test('the identifier of a VPC is given by Galactic only', async () => {
  const at: Target = { kind: VPC, name: 'bare', namespace }
  assertPassed(await write(admin, at, { method: 'POST', body: vpcOf(namespace, 'bare') }))
  const given = { subresource: 'status', body: { status: { vpc: 'jU' } }, dryRun: true } as const
  assertPassed(await write(galactic, at, { ...given, manager: managers.vpc }))
  for (const manager of ['kubectl-edit', 'vpc-controller'])
    assertRefused(await write(rogue, at, { ...given, manager }), `status.vpc written only by ${user} as ${managers.vpc}`)
})

test('network definitions of others are nobody’s business', async () => {
  const at: Target = { kind: NetworkAttachmentDefinition, name: 'own', namespace }
  const body = { ...definition(), metadata: { name: 'own', namespace } }
  assertPassed(await write(rogue, at, { method: 'POST', manager: 'kubectl', body }))
  assertPassed(await write(rogue, at, { manager: 'kubectl', body: { spec: { config: '{"a":1}' } } }))
  const labels = { 'cloud.datumapis.com/vpc-attachment': '1a' }
  assertRefused(await write(rogue, at, { manager: 'kubectl', body: { metadata: { labels } } }), 'metadata.labels/')
  const marked = { ...body, metadata: { name: 'marked', namespace, labels } }
  assertRefused(await write(rogue, { ...at, name: 'marked' }, { method: 'POST', manager: 'kubectl', body: marked }), 'spec')
})

test('the garbage collector takes a marked definition with its attachment', async () => {
  await client.create(VPCAttachment, attachmentOf(namespace, 'owner', 'none'), by, never)
  const owner = await client.find(VPCAttachment, { name: 'owner', namespace }, never)
  const reference = { apiVersion: owner?.apiVersion, kind: 'VPCAttachment', name: 'owner', uid: owner?.metadata.uid }
  const made = definition()
  const body = { ...made, metadata: { ...made.metadata, name: 'owned', ownerReferences: [reference] } }
  const at: Target = { kind: NetworkAttachmentDefinition, name: 'owned', namespace }
  assertPassed(await write(galactic, at, { method: 'POST', manager: managers.attachment, body }))
  await client.remove(VPCAttachment, { name: 'owner', namespace }, {}, never)
  await eventually(
    'it is collected',
    async () => !(await client.find(NetworkAttachmentDefinition, { name: 'owned', namespace }, never)),
  )
})
