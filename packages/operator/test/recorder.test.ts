/** The recorder with NSO's and Galactic's tables: a claim's whole life is clean, and a second writer of any kind is found. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet, statusOwners } from '@nso/api'
import { type Condition, type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import { type Recorder, showViolation, type Violation } from 'kube-control-loop/testing'
import { type ApiConnection, connect, type Plane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { record } from './support/record.ts'
import { aClaim, claimSays, create, find, gone, know, type Running, remove, said, startWorld, type World } from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

type Status = { conditions?: readonly Condition[]; phase?: string }

let world: World
let nso: Running
/** The data plane of old, which puts whole statuses of interfaces. */
let legacy: ApiConnection
before(async () => {
  world = await startWorld()
  nso = await world.startNso()
  legacy = await connect(await world.plane.kubeconfigFor({ user: 'vpc-controller', groups: ['system:masters'] }))
})
after(async () => {
  legacy?.close()
  await world?.[Symbol.asyncDispose]()
})

/** A recorder of one test's own: the world's would fail on what is planted, so that is announced to it. */
async function planted(context: TestContext, plane: Plane, namespace: string): Promise<Recorder> {
  for (const kind of ['NetworkInterface', 'NetworkInterfaceClaim'])
    world.recorder.expect({ kind, namespace, path: '*', why: 'the test plants a second writer', maybe: true })
  const recorder = await record(plane, { inNamespace: (name) => name === namespace })
  context.after(() => recorder[Symbol.asyncDispose]().catch(() => {}))
  return recorder
}

async function readyClaim(): Promise<string> {
  const namespace = await world.place()
  await create(world.client, aClaim(namespace, 'web-0'))
  await claimSays(world.client, namespace, 'web-0', 'Ready', 'True Ready')
  return namespace
}

const brief = (found: readonly Violation[]) => found.map(({ invariant, kind, path }) => `${invariant} ${kind} ${path}`).sort()

/** As clients without server-side apply write: read, change, put all. */
async function put(kind: Kind, namespace: string, change: (status: Status) => Status): Promise<void> {
  const path = pathOf(kind, { namespace, name: 'web-0' })
  const object = (await legacy.must({ path })) as unknown as KubeObject<unknown, Status>
  await legacy.must({ method: 'PUT', path: `${path}/status`, body: { ...object, status: change(object.status ?? {}) } })
}

const turned = (status: Status): Status => ({
  ...status,
  conditions: (status.conditions ?? []).map((one) =>
    one.type === 'Programmed' ? { ...one, status: 'False' as const, reason: 'RouterGone' } : one,
  ),
})

test('a claim to Ready and away again: nothing to find, and something was seen', async () => {
  const namespace = await world.place()
  const recorder = await record(world.plane, { inNamespace: (name) => name === namespace })
  try {
    await create(world.client, aClaim(namespace, 'web-0'))
    await claimSays(world.client, namespace, 'web-0', 'Ready', 'True Ready')
    await remove(world.client, NetworkInterfaceClaim, namespace, 'web-0')
    await gone(world.client, NetworkInterfaceClaim, namespace, 'web-0')
    assert.deepEqual((await recorder.violations()).map(showViolation), [])
  } finally {
    await recorder[Symbol.asyncDispose]()
  }
})

test('a data plane that puts the status of an interface, as it did of old, is found though NSO heals it', async (context) => {
  const namespace = await readyClaim()
  const recorder = await planted(context, world.plane, namespace)
  await put(NetworkInterface, namespace, turned)
  await eventually('NSO has healed it', async () => {
    const nic = await find(world.client, NetworkInterface, namespace, 'web-0')
    return said(nic, 'Programmed') === 'True ToyProgrammed'
  })
  const found = await recorder.violations()
  for (const wanted of [
    'COND-3 NetworkInterface status.conditions/Programmed',
    'OWN-1 NetworkInterface status.conditions/Programmed',
    'OWN-3 NetworkInterface status.conditions/Programmed',
  ])
    assert.ok(brief(found).includes(wanted), `${wanted} in ${brief(found).join('; ')}`)
  const text = found.map(showViolation).join('\n')
  const owner = `system:serviceaccount:nso-system:nso as "${statusOwners.interface.writer}"`
  assert.ok(text.includes('vpc-controller') && text.includes(owner), text)
  await assert.rejects(async () => recorder[Symbol.asyncDispose](), /violations/)
})

test('a condition that a whole put drops, and that NSO puts back, is found', async (context) => {
  const namespace = await readyClaim()
  const recorder = await planted(context, world.plane, namespace)
  await put(NetworkInterfaceClaim, namespace, (status) => ({
    ...status,
    conditions: (status.conditions ?? []).filter(({ type }) => type !== 'Prepared'),
  }))
  await claimSays(world.client, namespace, 'web-0', 'Prepared', 'True AttachmentReady')
  assert.deepEqual(brief(await recorder.violations()), [
    'COND-6 NetworkInterfaceClaim status.conditions/Prepared',
    'OWN-3 NetworkInterfaceClaim status.conditions/Prepared',
  ])
  await assert.rejects(async () => recorder[Symbol.asyncDispose](), /COND-6 NetworkInterfaceClaim/)
})

test('NSO itself on a path that is another one’s is found', async (context) => {
  const namespace = await readyClaim()
  const recorder = await planted(context, world.plane, namespace)
  const condition: Condition = {
    type: 'HolderAvailable',
    status: 'True',
    reason: 'Available',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  }
  const at = { namespace, name: 'web-0' }
  const identity = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkInterface', metadata: at }
  await nso.operator.manager.client.apply(
    NetworkInterface,
    { ...at, subresource: 'status' },
    { ...identity, status: { conditions: [condition] } },
    { fieldManager: statusOwners.claim.writer, force: false },
    AbortSignal.timeout(10_000),
  )
  assert.deepEqual(brief(await recorder.violations()), [
    'OWN-1 NetworkInterface status.conditions/HolderAvailable',
    'OWN-3 NetworkInterface status.conditions/HolderAvailable',
  ])
  await assert.rejects(async () => recorder[Symbol.asyncDispose](), /HolderAvailable/)
})
