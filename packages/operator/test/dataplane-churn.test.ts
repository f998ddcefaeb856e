// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** DataPlanes that are made, changed and deleted at random while claims come and go and NSO is stopped and started. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  AddressLease,
  annotations,
  DataPlane,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  parseDataPlaneChoice,
  Subnet,
} from '@nso/api'
import { crdOf, type Kind } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { ToyNetwork } from './races/world.ts'
import { ToyAttachment, toyManifests } from './toy-plane.ts'
import {
  aClaim,
  create,
  gone,
  know,
  listed,
  location,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane, ToyAttachment, ToyNetwork)

const networkRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'nso-data-plane-toy-networks', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
  rules: [{ apiGroups: ['toy.example.dev'], resources: ['toynetworks'], verbs: ['get', 'list', 'watch', 'create', 'delete'] }],
}

let world: World
let nso: Running
before(async () => {
  world = await startWorld()
  await remove(world.client, DataPlane, undefined, 'toy')
  await world.plane.apply([crdOf(ToyNetwork), networkRole] as never)
  nso = await world.startNso()
})
after(() => world[Symbol.asyncDispose]())

function mulberry(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const toySpec = (toyManifests().plane as unknown as DataPlane).spec
const network = { apiVersion: 'toy.example.dev/v1', kind: 'ToyNetwork', spec: { networks: '${subnets.map(s, s.cidr)}' } }
const planeOf = (name: string) =>
  ({
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name },
    spec: { ...toySpec, locations: [name === 'a' ? location : '*'], ...(name === 'b' ? {} : { network }) },
  }) as unknown as DataPlane

const seed = Number(process.env.SEED ?? 7)
const rounds = Number(process.env.ROUNDS ?? 120)

test(`whatever becomes of DataPlanes, in the end every claim is served and everything goes (seed ${seed})`, async () => {
  const random = mulberry(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const { client } = world
  const namespace = await world.place({ prefix: 'churn', families: ['IPv6', 'IPv4'] })
  const names = ['a', 'b', 'c']
  const ignore = () => undefined
  const claims = new Set<string>()
  let made = 0
  let keeper = false
  const acts: Record<string, () => Promise<unknown>> = {
    makePlane: () => create(client, planeOf(pick(names))).catch(ignore),
    dropPlane: () => remove(client, DataPlane, undefined, pick(names)).catch(ignore),
    swap: async () => {
      const there = pick([[location], ['*'], ['he*'], ['other']])
      await merge(client, DataPlane, undefined, pick(names), { spec: { locations: there } }).catch(ignore)
    },
    capabilities: async () => {
      const capabilities = pick([
        null,
        { attachmentModes: ['Netns'], addressFamilies: null },
        { addressFamilies: ['IPv6'], attachmentModes: null },
      ])
      await merge(client, DataPlane, undefined, pick(names), { spec: { capabilities } }).catch(ignore)
    },
    contract: async () => {
      await merge(client, DataPlane, undefined, pick(names), { spec: { contract: pick(['v1', 'v9']) } }).catch(ignore)
    },
    claim: async () => {
      const name = `web-${made++}`
      claims.add(name)
      const attachmentMode = pick(['Netns', 'Hypervisor', 'HypervisorDeclared'] as const)
      const ipFamilies = pick([undefined, ['IPv4'], ['IPv6', 'IPv4']] as const)
      const families = ipFamilies ? { ipFamilies: [...ipFamilies] } : {}
      await create(client, aClaim(namespace, name, { attachmentMode, ...families }))
    },
    retain: async () => {
      if (keeper) return
      keeper = true
      const attachmentMode = pick(['Netns', 'Hypervisor'] as const)
      await create(client, aClaim(namespace, 'kept', { attachmentMode, reclaimPolicy: 'Retain' })).catch(ignore)
    },
    unretain: async () => {
      if (!keeper) return
      keeper = false
      await remove(client, NetworkInterfaceClaim, namespace, 'kept')
    },
    unclaim: async () => {
      const name = pick([...claims])
      if (!name) return
      claims.delete(name)
      await remove(client, NetworkInterfaceClaim, namespace, name)
    },
    network: () => remove(client, ToyNetwork, namespace, 'net-here').catch(ignore),
    restart: async () => {
      if (random() < 0.5) return
      await nso.stop()
      nso = await world.startNso()
    },
    pause: () => eventually('a moment', async () => random() < 0.2),
  }
  const weighted = [
    'makePlane',
    'makePlane',
    'dropPlane',
    'dropPlane',
    'swap',
    'swap',
    'capabilities',
    'contract',
    'claim',
    'claim',
    'claim',
    'claim',
    'unclaim',
    'retain',
    'unretain',
    'network',
    'restart',
    'pause',
  ]
  for (let round = 0; round < rounds; round++) await acts[pick(weighted)]?.()

  if (keeper) claims.add('kept')
  // Those that are going serve on whom they have; whoever waits is given to this one, or to one that stands.
  const all = [...names, 'last']
  await create(client, planeOf('last'))
  for (const name of names) {
    const spec = { capabilities: null, contract: 'v1', locations: planeOf(name).spec.locations }
    await merge(client, DataPlane, undefined, name, { spec }).catch(ignore)
  }
  const statesOf = async () =>
    Object.fromEntries((await listed(client, NetworkInterfaceClaim, namespace)).map((claim) => [claim.metadata.name, claim]))
  await eventually('every claim is served', async () => {
    const states = await statesOf()
    const open = [...claims].filter((name) => said(states[name], 'Ready') !== 'True Ready')
    if (open.length > 0)
      throw new Error(
        JSON.stringify(
          open.map((name) => [name, states[name]?.status?.conditions?.map((c) => [c.type, c.status, c.reason, c.message])]),
          null,
          1,
        ),
      )
    return true
  })
  const planes = new Map(
    (await client.list(DataPlane, {}, AbortSignal.timeout(10_000))).items.map((one) => [one.metadata.uid, one]),
  )
  const attachments = new Map((await listed(client, ToyAttachment, namespace)).map((one) => [one.metadata.name, one]))
  const nics = (await listed(client, NetworkInterface, namespace)).filter(({ spec }) => spec.claimRef)
  assert.deepEqual(nics.map(({ metadata }) => metadata.name).sort(), [...claims].sort())
  assert.deepEqual([...attachments.keys()].sort(), [...claims].sort())
  for (const nic of nics) {
    const choice = parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])
    assert.ok(choice && planes.has(choice.uid), `${nic.metadata.name} is with a plane that stands: ${JSON.stringify(choice)}`)
    const owner = attachments.get(nic.metadata.name)?.metadata.ownerReferences?.[0]
    assert.equal(owner?.uid, nic.metadata.uid)
  }
  for (const name of all) await remove(client, DataPlane, undefined, name).catch(ignore)
  await world.plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
  for (const name of all) await gone(client, DataPlane, undefined, name)
  for (const kind of [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, ToyNetwork, AddressLease] as Kind[]) {
    await eventually(`no ${kind.kind} is left`, async () => (await listed(client, kind, namespace)).length === 0)
  }
})
