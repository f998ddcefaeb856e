/**
 * Galactic and the bridge on one cluster, each for its locations, as processes with identities of their own and with ownership
 * enforced: each interface has its data plane, and the death of one is nothing to the other.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import {
  DataPlane,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  enforcement as nsoEnforcement,
  nsoManifests,
  ownershipProbes as nsoProbes,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { answerExplain } from '@nso/cli/explain'
import { answerOwners } from '@nso/cli/owners'
import { VPCAttachment } from 'galactic'
import {
  galacticAccount,
  enforcement as galacticEnforcement,
  galacticManifests,
  ownershipProbes as galacticProbes,
} from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { BridgeAttachment, BridgeNetwork } from 'kube-bridge/api'
import {
  bridgeAccount,
  enforcement as bridgeEnforcement,
  bridgeManifests,
  ownershipProbes as bridgeProbes,
} from 'kube-bridge/manifests'
import { podNaming, standInMultus, standInMultusAccount, standInMultusManifests } from 'kube-bridge/testing'
import {
  ApiError,
  apiVersionOf,
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
import { type Plane, parseManifests, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { NetworkAttachmentDefinition } from 'kube-multus'
import { assertGolden } from './support/golden.ts'
import { type Process, startProcess } from './support/process.ts'

const namespace = 'shop'
const never = new AbortController().signal
const by = { fieldManager: 'test' }

let plane: Plane
let transport: Transport
let client: Client
const running: {
  nso?: Process
  galactic?: Process
  bridge?: Process
  node?: { stop(): Promise<void> }
  multus?: { stop(): Promise<void> }
} = {}

const manifestOf = (name: string) => readFileSync(path.resolve(import.meta.dirname, `../deploy/data-planes/${name}.yaml`), 'utf8')

/** The manifest as shipped, for some locations only. */
const forLocations = (name: string, locations: readonly string[]) =>
  parseManifests(manifestOf(name).replace('locations: ["*"]', `locations: ${JSON.stringify(locations)}`))

const apps = [
  { enforcement: nsoEnforcement, probes: nsoProbes },
  { enforcement: galacticEnforcement, probes: galacticProbes },
  { enforcement: bridgeEnforcement, probes: bridgeProbes },
]

before(async () => {
  plane = await startPlane({ name: 'two-planes' })
  const [nso, galactic, bridge] = [nsoManifests(), galacticManifests(), bridgeManifests()]
  await plane.apply([
    ...nso.crds,
    ...galactic.crds,
    ...bridge.crds,
    ...galactic.local,
    ...nso.rbac,
    ...galactic.rbac,
    ...bridge.rbac,
  ] as never)
  await plane.apply([...standInNodeManifests(), ...standInMultusManifests()] as never)
  await plane.apply([
    ...apps.map(({ enforcement }) => ownershipParameters(enforcement, 'Deny')),
    ...nso.ownership,
    ...galactic.ownership,
    ...bridge.ownership,
  ] as never)
  await plane.apply([...forLocations('galactic', ['us-*']), ...forLocations('bridge', ['us-east'])])
  await plane.restartControllers()
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  transport = createHttpTransport({ access, clock: systemClock, userAgent: 'two-planes-test' })
  client = createClient(transport, { clock: systemClock, jitter: Math.random })
  await Promise.all(
    apps.map((app) => ownershipInForce({ ...app, client, clock: systemClock, signal: AbortSignal.timeout(60_000) })),
  )
  running.node = startStandInNode({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }),
    log: silentLogger,
  })
  running.multus = standInMultus({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInMultusAccount }),
    log: silentLogger,
  })
  await serve('us-east')
  const [one, two, three] = await Promise.all([
    // Contexts are delivered, as in a cell.
    startProcess({ plane, main: '@nso/operator/main', account: nsoAccount, flags: ['--no-network-controllers'] }),
    startProcess({ plane, main: 'galactic/main', account: galacticAccount }),
    startBridge(),
  ])
  Object.assign(running, { nso: one, galactic: two, bridge: three })
  await create(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' },
  )
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'default' } }
  await create(account, {
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    scope: 'Namespaced',
  }).catch(() => {})
  await Promise.all(['us-east', 'us-west'].map(presence))
})
after(async () => {
  await Promise.allSettled(Object.values(running).map((each) => each.stop()))
  await transport.close()
  await plane[Symbol.asyncDispose]()
})

const startBridge = () => startProcess({ plane, main: 'kube-bridge/main', account: bridgeAccount })

const create = (object: object, kind: Kind) => client.create(kind, object as KubeObject, by, never)

/** Network `net` in a location, with a range of its own. */
async function presence(name: string, at: number): Promise<void> {
  const own = (kind: Kind) => ({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace, name: `net-${name}` } })
  const spec = { network: { name: 'net' }, location: { name }, ipFamilies: ['IPv6'], mtu: 1460 }
  await create({ ...own(NetworkContext), spec }, NetworkContext)
  const range = { ipFamily: 'IPv6', startAddress: `fd20:0:0:${at + 1}::`, prefixLength: 64 }
  const subnet = { subnetClass: 'private', networkContext: { name: `net-${name}` }, location: { name }, ...range }
  await create({ ...own(Subnet), spec: subnet }, Subnet)
}

/** The cluster is in this location from now on; whoever delivers locations takes the last one back first. */
async function serve(name: string): Promise<void> {
  for (const { metadata } of (await client.list(ServingLocation, {}, never)).items)
    await client.remove(ServingLocation, metadata, {}, never)
  const spec = { topology: { 'topology.datum.net/city-code': 'DFW' } }
  await create(
    { apiVersion: apiVersionOf(ServingLocation), kind: ServingLocation.kind, metadata: { name }, spec },
    ServingLocation,
  )
}

const claim = (name: string) =>
  create(
    {
      apiVersion: apiVersionOf(NetworkInterfaceClaim),
      kind: NetworkInterfaceClaim.kind,
      metadata: { namespace, name },
      spec: { network: { name: 'net' } },
    },
    NetworkInterfaceClaim,
  )

type Conditioned = { conditions?: readonly { type: string; status: string; reason: string }[] }

/** Claim and interface say so. */
function says(name: string, type: string, what: string) {
  const kinds = type === 'Ready' ? [NetworkInterfaceClaim] : [NetworkInterfaceClaim, NetworkInterface]
  return eventually(`${name} says ${type} ${what}`, async () => {
    for (const kind of kinds as Kind[]) {
      const found = (await client.find(kind, { namespace, name }, never))?.status as Conditioned | undefined
      const condition = found?.conditions?.find((each) => each.type === type)
      assert.equal(condition && `${condition.status} ${condition.reason}`, what, `it says ${JSON.stringify(found?.conditions)}`)
    }
    return true
  })
}

const gone = (kind: Kind, name: string) =>
  eventually(`${kind.kind} ${name} is gone`, async () => (await client.find(kind, { namespace, name }, never)) === undefined)

async function removed(name: string): Promise<void> {
  await client.remove(NetworkInterfaceClaim, { namespace, name }, {}, never)
  await gone(NetworkInterfaceClaim, name)
}

const attachmentKinds = async (name: string) => {
  const found = await Promise.all(
    ([VPCAttachment, BridgeAttachment] as Kind[]).map((kind) => client.find(kind, { namespace, name }, never)),
  )
  return found.flatMap((each) => each?.kind ?? [])
}

const explained = (name: string) =>
  answerExplain([`claim/${name}`], { namespace, output: 'text', kubeconfig: plane.kubeconfigPath })

const pod = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' } as const

test('B14: the bridge prepares with no Pod anywhere, and reports it when one comes and when it goes', async () => {
  await claim('east')
  await says('east', 'Prepared', 'True AttachmentReady')
  await says('east', 'Programmed', 'False NotAttached')
  assert.deepEqual(await attachmentKinds('east'), ['BridgeAttachment'])
  assertGolden('bridge-without-pod', await explained('east'))
  await create(podNaming(namespace, 'shopkeeper', 'east'), pod)
  await says('east', 'Ready', 'True Ready')
  await says('east', 'Programmed', 'True Attached')
  assertGolden('bridge-ready', await explained('east'))
})

test('another location, another data plane: both serve, and each interface stays', async () => {
  await serve('us-west')
  await claim('west')
  await says('west', 'Ready', 'True Ready')
  assert.deepEqual(await attachmentKinds('west'), ['VPCAttachment'])
  await says('east', 'Ready', 'True Ready')
  assert.deepEqual(await attachmentKinds('east'), ['BridgeAttachment'])
})

test('nobody but its data plane writes a report, of either', async () => {
  const status = {
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'Rogue',
        message: 'no',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      },
    ],
  }
  for (const [kind, name] of [
    [BridgeAttachment, 'east'],
    [VPCAttachment, 'west'],
  ] as const) {
    const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace, name }, status }
    const forged = client.apply(
      kind as Kind,
      { namespace, name, subresource: 'status' },
      body as never,
      { fieldManager: 'rogue', force: true },
      never,
    )
    await assert.rejects(forged, (error) => error instanceof ApiError && error.status === 403)
  }
})

test('owners --check finds every path of both as documented', async () => {
  await eventually('all is said', async () => {
    const { status, text } = await answerOwners(undefined, { check: true, kubeconfig: plane.kubeconfigPath, output: 'text' })
    assert.equal(status, 0, text)
    return true
  })
})

test('one is killed: its own claims wait for it, the other’s come and go, and it goes on where it was', async () => {
  await running.bridge?.kill()
  await serve('us-east')
  await claim('east-later')
  await says('east-later', 'Prepared', 'Unknown Pending')
  await client.remove(NetworkInterfaceClaim, { namespace, name: 'east' }, {}, never)

  await serve('us-west')
  await claim('west-later')
  await says('west-later', 'Ready', 'True Ready')
  await removed('west-later')
  await says('west', 'Ready', 'True Ready')
  assert.ok(await client.find(NetworkInterfaceClaim, { namespace, name: 'east' }, never), 'what the bridge holds stands')

  running.bridge = await startBridge()
  await says('east-later', 'Prepared', 'True AttachmentReady')
  assert.deepEqual(await attachmentKinds('east-later'), ['BridgeAttachment'])
  await client.remove(pod, { namespace, name: 'shopkeeper' }, {}, never)
  await gone(NetworkInterfaceClaim, 'east')
  await gone(NetworkAttachmentDefinition, 'east')
})

test('both are taken away: each goes when what it serves is gone, and no pass has failed', async () => {
  await client.remove(DataPlane, { name: 'bridge' }, {}, never)
  await eventually('it says what it waits for', async () => {
    const found = (await client.find(DataPlane, { name: 'bridge' }, never))?.status
    const accepted = found?.conditions?.find(({ type }) => type === 'Accepted')
    assert.equal(accepted?.reason, 'Deleting')
    assert.match(accepted?.message ?? '', /east-later/)
    return true
  })
  await says('east-later', 'Prepared', 'True AttachmentReady')
  // The next most specific one takes what is new there, with an object of its own for the same network.
  await serve('us-east')
  await claim('east-next')
  await says('east-next', 'Ready', 'True Ready')
  assert.deepEqual(await attachmentKinds('east-next'), ['VPCAttachment'])
  assert.ok(await client.find(BridgeNetwork, { namespace, name: 'net-us-east' }, never), 'the bridge still serves there')
  await removed('east-later')
  await eventually('it is gone', async () => (await client.find(DataPlane, { name: 'bridge' }, never)) === undefined)
  assert.equal(await client.find(BridgeNetwork, { namespace, name: 'net-us-east' }, never), undefined)
  await says('east-next', 'Ready', 'True Ready')
  await client.remove(DataPlane, { name: 'galactic' }, {}, never)
  await Promise.all(['west', 'east-next'].map(removed))
  await eventually('it is gone', async () => (await client.find(DataPlane, { name: 'galactic' }, never)) === undefined)
  for (const each of [running.nso, running.galactic, running.bridge]) {
    const failed = ((await each?.metrics()) ?? '')
      .split('\n')
      .filter((line) => /^controller_runtime_reconcile_errors_total\{.*\} [1-9]/.test(line))
    assert.deepEqual(failed, [])
  }
})
