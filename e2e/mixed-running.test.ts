/**
 * The original and today's NSO and Galactic at the same time, under policies that only count: whichever comes first, it ends as if
 * the original had never been there, and nothing is lost meanwhile.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import {
  finalizers,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  enforcement as nsoEnforcement,
  nsoManifests,
  ownership,
} from '@nso/api'
import { createOperator } from '@nso/operator'
import { createGalactic } from 'galactic'
import { ownership as galacticOwnership } from 'galactic/api'
import { galacticAccount, enforcement as galacticEnforcement, galacticManifests } from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import {
  apiVersionOf,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  createLogger,
  type Kind,
  type KubeObject,
  ownershipParameters,
  pathOf,
  runMigration,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import { type Plane, parseManifests, readAudit, startPlane, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { Attachment, Definition, startEarlierSoftware, userObjects } from './support/earlier-software.ts'

const name = 'web-0'
const never = new AbortController().signal
const dataPlane = path.resolve(import.meta.dirname, '../deploy/data-planes/galactic.yaml')

type Conditioned = {
  conditions?: readonly { type: string; status: string }[]
  addresses?: unknown
  vpc?: string
  vpcAttachment?: string
}
type Stored = KubeObject<Record<string, unknown>, Conditioned>

async function startMixedPlane(): Promise<Plane> {
  const plane = await startPlane({ name: 'mixed' })
  const nso = nsoManifests()
  const galactic = galacticManifests()
  await plane.apply([...nso.crds, ...galactic.crds, ...galactic.local, ...nso.rbac, ...galactic.rbac] as never)
  await plane.apply(standInNodeManifests())
  await plane.apply(parseManifests(readFileSync(dataPlane, 'utf8')))
  const parameters = [nsoEnforcement, galacticEnforcement].map((app) => ownershipParameters(app, 'Audit'))
  await plane.apply([...parameters, ...nso.ownership, ...galactic.ownership] as never)
  await plane.restartControllers()
  return plane
}

const transportOf = (kubeconfig: string) =>
  createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig }),
    clock: systemClock,
    userAgent: 'mixed/1',
  })

/** Today's processes and the stand-in node. */
async function startToday(plane: Plane): Promise<AsyncDisposable> {
  const stop = new AbortController()
  const log = process.env.TEST_LOG === 'debug' ? createLogger({ name: 'today', level: 'debug' }) : silentLogger
  const kubeconfig = (serviceAccount: { namespace: string; name: string }) => plane.kubeconfigFor({ serviceAccount })
  const operator = createOperator({
    transport: transportOf(await kubeconfig(nsoAccount)),
    identity: 'today',
    settings: { location: 'here' },
    log,
  })
  const galactic = createGalactic({ transport: transportOf(await kubeconfig(galacticAccount)), log })
  const node = startStandInNode({ kubeconfig: await kubeconfig(standInNodeAccount), log: silentLogger })
  const running = [operator.run(stop.signal), galactic.run(stop.signal)]
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test is over'))
      await Promise.all([...running, node.stop().catch(() => {})])
    },
  }
}

type World = { plane: Plane; client: Client; namespace: string }

const read = async ({ client, namespace }: World, kind: Kind) =>
  (await client.find(kind, { name, namespace }, never)) as Stored | undefined

const isReady = (object: Stored | undefined) =>
  object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

const becomesReady = (world: World) =>
  eventually('the claim is Ready', async () => isReady(await read(world, NetworkInterfaceClaim)), { timeoutMs: 60_000 })

/** The holder of the interface says so, by whole object and in its own name. */
async function holderReports({ client, namespace }: World): Promise<void> {
  const condition = { type: 'HolderAvailable', status: 'True', reason: 'Running', message: 'it runs' }
  const body = {
    apiVersion: apiVersionOf(NetworkInterface),
    kind: NetworkInterface.kind,
    metadata: { name, namespace },
    status: { conditions: [{ ...condition, lastTransitionTime: '2029-01-01T00:00:00Z' }] },
  }
  await client.apply(
    NetworkInterface,
    { name, namespace, subresource: 'status' },
    body,
    { fieldManager: 'compute', force: false },
    never,
  )
}

async function migrateAll(client: Client, mode: 'write' | 'verify'): Promise<string[]> {
  const said: string[] = []
  for (const table of [ownership, galacticOwnership])
    await runMigration({ client, table, mode, format: 'text', print: (line) => said.push(line), signal: never })
  return said
}

/** What holds once the original has gone, whoever came first. */
async function isToday(world: World, identity: Record<string, string> | undefined): Promise<void> {
  await becomesReady(world)
  const [claim, nic, definition] = await Promise.all(
    [NetworkInterfaceClaim, NetworkInterface, Definition].map((kind) => read(world, kind)),
  )
  assert.deepEqual(claim?.status?.addresses, nic?.spec.addresses)
  assert.ok(
    nic?.status?.conditions?.some(({ type }) => type === 'HolderAvailable'),
    'the holder’s word is not lost',
  )
  assert.deepEqual(definition?.metadata.labels, identity, 'the identifiers stand')
  assert.equal((await read(world, Attachment))?.status?.vpc, nic?.status?.vpc)
  await migrateAll(world.client, 'write')
  const left = await migrateAll(world.client, 'verify')
  assert.deepEqual(
    left.map((line) => line.replace(/^\d+ objects looked at: /, '')),
    ['nothing is held by an earlier manager', 'nothing is held by an earlier manager'],
  )
  const again = await migrateAll(world.client, 'write')
  assert.ok(
    again.every((line) => line.endsWith(': 0 moved to their documented writers')),
    again.join('\n'),
  )
}

async function definitionWrites({ plane, namespace }: World, act: () => Promise<unknown>): Promise<string[]> {
  const from = await tailAudit(plane)
  await act()
  const to = await tailAudit(plane)
  const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
  return entries
    .filter(({ stage, verb }) => stage === 'ResponseComplete' && ['create', 'update', 'patch', 'delete'].includes(verb))
    .filter(({ resource, namespace: of }) => resource === Definition.plural && of === namespace)
    .map(({ verb, user, fieldManager }) => `${verb} by ${user} ${fieldManager}`)
}

/** What both render of the attachment: a change of it would be a new generation. */
async function rendering(world: World) {
  const attachment = await read(world, Attachment)
  assert.ok(attachment)
  const { metadata, spec, status } = attachment
  return { uid: metadata.uid, generation: metadata.generation, spec, identifiers: [status?.vpc, status?.vpcAttachment] }
}

async function openWorld(plane: Plane, namespace: string): Promise<World> {
  await plane.apply(userObjects(namespace) as never)
  return {
    plane,
    namespace,
    client: createClient(transportOf(plane.kubeconfigPath), { clock: systemClock, jitter: Math.random }),
  }
}

test('the original and today’s software at the same time', async (t) => {
  await using plane = await startMixedPlane()

  await t.test(
    'B03: today’s software comes while the original runs; a claim of the original is then released in one pass',
    async () => {
      const world = await openWorld(plane, 'original-first')
      const { client, namespace } = world
      await using original = startEarlierSoftware(plane.kubeconfigPath, namespace)
      await eventually('the original has done its work', () => original.passes > 2)
      await holderReports(world)
      const identity = (await read(world, Definition))?.metadata.labels
      const rendered = await rendering(world)
      await using _today = await startToday(plane)
      const from = original.passes
      const writes = await definitionWrites(world, () => eventually('both have run', () => original.passes > from + 20))
      assert.deepEqual(writes, [], 'both render the same')
      const { generation = 0, spec: _, ...same } = await rendering(world)
      const { generation: first = 0, spec: __, ...was } = rendered
      assert.deepEqual(same, was)
      assert.ok(generation <= first + 1, 'NSO adds once what only its template has (interfaceRef)')
      await original.stop()
      await isToday(world, identity)

      const patch = { metadata: { finalizers: [finalizers.claim, 'example.dev/other'] } }
      const at = pathOf(NetworkInterfaceClaim, { name, namespace })
      await client.raw({ method: 'PATCH', path: at, contentType: 'application/merge-patch+json', body: patch }, never)
      await client.remove(NetworkInterfaceClaim, { name, namespace }, {}, never)
      await eventually('only the finalizer of others is left', async () => {
        const claim = await read(world, NetworkInterfaceClaim)
        return claim?.metadata.finalizers?.join() === 'example.dev/other'
      })
      const none = { metadata: { finalizers: null } }
      await client.raw({ method: 'PATCH', path: at, contentType: 'application/merge-patch+json', body: none }, never)
      await eventually('claim, interface, attachment and definition are gone', async () => {
        const left = await Promise.all(
          [NetworkInterfaceClaim, NetworkInterface, Attachment, Definition].map((kind) => read(world, kind)),
        )
        return left.every((each) => each === undefined)
      })
    },
  )

  await t.test('the original comes while today’s software runs, and goes again', async () => {
    const world = await openWorld(plane, 'today-first')
    await using _today = await startToday(plane)
    const first = await definitionWrites(world, () => becomesReady(world))
    assert.deepEqual(first, ['create by system:serviceaccount:galactic-system:galactic galactic-vpcattachment'])
    await holderReports(world)
    const identity = (await read(world, Definition))?.metadata.labels
    const rendered = await rendering(world)
    await using original = startEarlierSoftware(plane.kubeconfigPath, world.namespace)
    const writes = await definitionWrites(world, () => eventually('both have run', () => original.passes > 20))
    assert.deepEqual(writes, [], 'both render the same')
    assert.deepEqual(await rendering(world), rendered)
    await original.stop()
    await isToday(world, identity)
  })
})
