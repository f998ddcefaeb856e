/** Galactic and another data plane in one installation, each for its locations: who gets what, who keeps what, and what one's absence does. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import {
  annotations,
  DataPlane,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  parseDataPlaneChoice,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { createGalactic, galacticAccount, galacticManifests, VPCAttachment } from 'galactic'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { type Kind, silentLogger } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { location as aLocation } from './network-world.ts'
import { isAtRest, total } from './support/at-rest.ts'
import { ToyAttachment, toyManifests } from './toy-plane.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, DataPlane, ServingLocation)

const locations = ['us-east', 'us-west', 'eu'] as const
type Location = (typeof locations)[number]

let world: World
let nso: Running
let namespace: string
let galactic: { stop(): Promise<void> } | undefined
let node: { stop(): Promise<void> }

before(async () => {
  world = await startWorld()
  const { plane, client } = world
  const manifests = galacticManifests()
  await plane.apply([...manifests.crds, ...manifests.local, ...manifests.rbac, ...standInNodeManifests()] as never)
  const joint = await readFile(new URL('../../../deploy/data-planes/galactic.yaml', import.meta.url), 'utf8')
  await plane.apply(joint.replace('locations: ["*"]', 'locations: ["us-*"]'))
  await applyToy('exact', ['us-east'])
  node = startStandInNode({ kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }), log: silentLogger })
  await startGalactic()
  nso = await world.startNso({ settings: { location: undefined, retryRejectedMs: 3_600_000 } })
  namespace = await world.place({ context: false, subnets: [] })
  await Promise.all(locations.map((name, at) => presence(client, name, at)))
})
after(async () => {
  await galactic?.stop()
  await node?.stop()
  await world[Symbol.asyncDispose]()
})

async function startGalactic(): Promise<void> {
  const kubeconfig = await world.plane.kubeconfigFor({ serviceAccount: galacticAccount })
  const stop = new AbortController()
  const running = createGalactic({ kubeconfig, log: silentLogger }).run(stop.signal)
  galactic = {
    async stop() {
      galactic = undefined
      stop.abort(new Error('the test stops it'))
      await running
    },
  }
}

/** A DataPlane of the toy's kind beside the one for everywhere else. */
async function applyToy(name: string, of: readonly string[]): Promise<void> {
  const { plane } = toyManifests()
  await world.plane.apply([{ ...plane, metadata: { name }, spec: { ...(plane.spec as object), locations: of } }] as never)
}

/** Network `net` in a location, with a range of its own. */
async function presence(client: World['client'], name: Location, at: number): Promise<void> {
  const own = (kind: string) => ({
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind,
    metadata: { name: `net-${name}`, namespace },
  })
  const shared = { network: { name: 'net' }, location: { name } }
  await create(client, { ...own('NetworkContext'), spec: { ...shared, ipFamilies: ['IPv6'], mtu: 1460 } } as NetworkContext)
  const range = { ipFamily: 'IPv6', startAddress: `fd20:0:0:${at + 1}::`, prefixLength: 64 } as const
  const spec = { subnetClass: 'private', networkContext: { name: `net-${name}` }, location: { name }, ...range } as const
  await create(client, { ...own('Subnet'), spec } as Subnet)
}

/** This cluster serves the location from now on. */
async function serve(name: Location): Promise<void> {
  const { client } = world
  const others = (await client.list(ServingLocation, {}, AbortSignal.timeout(5_000))).items
  await Promise.all(others.map(({ metadata }) => remove(client, ServingLocation, undefined, metadata.name)))
  await create(client, aLocation(name))
  await eventually('NSO knows where it is', () => {
    const known = [...nso.operator.caches.servingLocations.values()].map(({ metadata }) => metadata.name)
    return known.join() === name || undefined
  })
}

const ready = (name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

async function claimReady(name: string): Promise<void> {
  await create(world.client, aClaim(namespace, name))
  await ready(name)
}

/** Which data plane an interface was given, and the kinds of the attachments that stand for it. */
async function servedBy(name: string): Promise<{ plane: string | undefined; attachments: string[] }> {
  const nic = await find(world.client, NetworkInterface, namespace, name)
  const kinds = await Promise.all(
    ([ToyAttachment, VPCAttachment] as Kind[]).map(async (kind) => {
      const all = await listed(world.client, kind, namespace)
      return all.filter(({ metadata }) => metadata.name === name).map((each) => each.kind)
    }),
  )
  const choice = parseDataPlaneChoice(nic?.metadata.annotations?.[annotations.dataPlane])
  return { plane: choice?.name, attachments: kinds.flat() }
}

const chosen = {
  east: { plane: 'exact', attachments: ['ToyAttachment'] },
  west: { plane: 'galactic', attachments: ['VPCAttachment'] },
  europe: { plane: 'toy', attachments: ['ToyAttachment'] },
} as const

async function nothingMoved(): Promise<void> {
  for (const [name, want] of Object.entries(chosen)) {
    await ready(name)
    assert.deepEqual(await servedBy(name), want)
  }
}

test('the location moves: exact goes before a prefix, a prefix before everywhere, and each interface stays with its data plane', async () => {
  await serve('us-east')
  await claimReady('east')
  await serve('us-west')
  await claimReady('west')
  await serve('eu')
  await claimReady('europe')
  await nothingMoved()
})

test('a new life of NSO, at whatever location, writes nothing and moves nothing', async () => {
  await eventually('all is said', () => isAtRest(nso.operator).then((rests) => rests || undefined))
  await nso.stop()
  const writes = await world.writesDuring(async () => {
    nso = await world.startNso({ settings: { location: undefined, retryRejectedMs: 3_600_000 } })
    await eventually('every interface was looked at', async () => {
      const page = await nso.operator.manager.metrics.page()
      const passes = page.split('\n').filter((line) => /^controller_runtime_reconcile_total\{.*"networkinterface"/.test(line))
      return passes.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0) >= 3 && (await isAtRest(nso.operator))
    })
  })
  // Reviews of permissions store nothing; the account is the test's.
  const stored = writes.filter(({ resource }) => resource !== 'selfsubjectaccessreviews' && resource !== 'serviceaccounts')
  assert.deepEqual(
    stored.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`),
    [],
  )
  await nothingMoved()
})

test('more specific patterns that come later take new interfaces, and none of those that stand', async () => {
  await applyToy('later', ['us-west'])
  await serve('us-west')
  await eventually('the new one is offered', () => nso.operator.planes.choose('us-west')?.ref.name === 'later' || undefined)
  await claimReady('west-too')
  assert.deepEqual(await servedBy('west-too'), { plane: 'later', attachments: ['ToyAttachment'] })
  await nothingMoved()
  await remove(world.client, NetworkInterfaceClaim, namespace, 'west-too')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'west-too')
  await remove(world.client, DataPlane, undefined, 'later')
  await eventually('it is gone', async () => (await find(world.client, DataPlane, undefined, 'later')) === undefined || undefined)
})

test('a data plane that is down holds up its own claims only, and goes on where it was', async () => {
  const { client } = world
  await galactic?.stop()
  await create(client, aClaim(namespace, 'west-later'))
  await remove(client, NetworkInterfaceClaim, namespace, 'west')
  await eventually('the interface waits for its data plane', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'west')
    const prepared = nic?.status?.conditions?.find(({ type }) => type === 'Prepared')
    return prepared?.message.startsWith('Deletion waits for the data plane') || undefined
  })
  const waits = await claimSays(client, namespace, 'west-later', 'Ready', 'Unknown NotPrepared')
  assert.deepEqual([said(waits, 'Bound'), said(waits, 'Prepared')], ['True Bound', 'Unknown Pending'])

  await serve('us-east')
  await claimReady('east-later')
  await remove(client, NetworkInterfaceClaim, namespace, 'east')
  await gone(client, NetworkInterfaceClaim, namespace, 'east')
  await merge(client, NetworkContext, namespace, 'net-us-east', { spec: { mtu: 1400 } })
  await eventually('a change reaches its attachment', async () => {
    const attachment = await find(client, ToyAttachment, namespace, 'east-later')
    return (attachment?.spec as { mtu?: number } | undefined)?.mtu === 1400 || undefined
  })
  assert.ok(await find(client, NetworkInterfaceClaim, namespace, 'west'), 'what Galactic holds stands')

  await startGalactic()
  await gone(client, NetworkInterfaceClaim, namespace, 'west')
  await ready('west-later')
  assert.deepEqual(await servedBy('west-later'), chosen.west)
})

test('the other way round: the toy plane holds on, and Galactic’s claims come and go', async () => {
  const { client, toy } = world
  toy.behave({ letsGo: false, prepares: false })
  await remove(client, NetworkInterfaceClaim, namespace, 'europe')
  await serve('us-west')
  await claimReady('west-last')
  await remove(client, NetworkInterfaceClaim, namespace, 'west-last')
  await gone(client, NetworkInterfaceClaim, namespace, 'west-last')
  assert.ok(await find(client, ToyAttachment, namespace, 'europe'))
  toy.behave({ letsGo: true, prepares: true })
  await gone(client, NetworkInterfaceClaim, namespace, 'europe')
  assert.equal(await total(nso.operator, 'controller_runtime_reconcile_errors_total'), 0)
})
