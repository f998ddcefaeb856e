/**
 * Everything that a claim needs and all that was made for it, deleted in every order: what must not go yet stays, and then all of
 * it goes, without a restart and without an error.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  AddressLease,
  DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { ApiError, type Kind } from 'kube-control-loop'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { location as aLocation, network } from './network-world.ts'
import { passesOf, total } from './support/at-rest.ts'
import { ToyAttachment, toyManifests } from './toy-plane.ts'
import { aClaim, create, know, location, merge, type Running, remove, said, startWorld, type World } from './world.ts'

know(Network, NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, DataPlane, ServingLocation)

let world: World
let nso: Running
before(async () => {
  world = await startWorld()
  await remove(world.client, DataPlane, undefined, 'toy')
  await create(world.client, aLocation(location))
  nso = await world.startNso({ settings: { networkControllers: true, retryRejectedMs: 3_600_000 } })
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))

const kinds = { Network, Subnet, NetworkInterfaceClaim, NetworkInterface, DataPlane } as const
type Step = keyof typeof kinds | 'Namespace'
type Order = readonly Step[]

function ordersOf(steps: readonly Step[]): Order[] {
  if (steps.length === 0) return [[]]
  return steps.flatMap((step) => ordersOf(steps.filter((other) => other !== step)).map((rest) => [step, ...rest]))
}

/** One namespace with a claim that is Ready, and the data plane of its own that serves it. */
type Place = { order: Order; namespace: string; plane: string }

/**
 * Places are told by when their DataPlane is deleted: those of one turn share one. While they are made it serves this location;
 * afterwards it serves none, and its interfaces stay with it.
 */
async function placesFor(orders: readonly Order[], name: string): Promise<Place[]> {
  const places: Place[] = []
  for (const [turn, of] of Map.groupBy(orders, (order) => order.indexOf('DataPlane'))) {
    const plane = `${name}-${turn}`
    const { plane: toy } = toyManifests()
    await world.plane.apply([
      { ...toy, metadata: { name: plane }, spec: { ...(toy.spec as object), locations: [location] } },
    ] as never)
    const made = await Promise.all(of.map((order) => placeFor(order, plane)))
    await eventually(`the claims of ${plane} are Ready`, async () => {
      const claims = await within(NetworkInterfaceClaim, made)
      assert.deepEqual(
        claims.map((claim) => said(claim, 'Ready')),
        made.map(() => 'True Ready'),
      )
      return true
    })
    await merge(world.client, DataPlane, undefined, plane, { spec: { locations: [`not-${location}`] } })
    places.push(...made)
  }
  return places
}

async function placeFor(order: Order, plane: string): Promise<Place> {
  const { name: namespace } = await testNamespace(world.plane, 'orders')
  await create(world.client, network(namespace, 'net'))
  await create(world.client, aClaim(namespace, 'web-0'))
  return { order, namespace, plane }
}

/** One request for all places, of which there are many. */
async function within<S, T>(kind: Kind<S, T>, places: readonly Place[]) {
  const namespaces = new Set(places.map(({ namespace }) => namespace))
  const { items } = await world.client.list(kind, {}, AbortSignal.timeout(30_000))
  return items.filter(({ metadata }) => namespaces.has(metadata.namespace ?? ''))
}

const names = {
  Network: 'net',
  Subnet: `net-${location}-ipv6`,
  NetworkInterfaceClaim: 'web-0',
  NetworkInterface: 'web-0',
} as const

async function take({ namespace, plane }: Place, step: Step): Promise<void> {
  if (step === 'Namespace') {
    await world.plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
    return
  }
  const at = step === 'DataPlane' ? ([undefined, plane] as const) : ([namespace, names[step]] as const)
  await remove(world.client, kinds[step] as Kind, at[0], at[1]).catch((error: unknown) => {
    // What another step took along is gone already.
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  })
}

/** Each step is one instant for all places, so that those of one plane lose it together. */
async function takeAll(places: readonly Place[]): Promise<void> {
  const last = Math.max(...places.map(({ order }) => order.length))
  for (let at = 0; at < last; at += 1) {
    await Promise.all(
      places.map(async (place) => {
        const step = place.order[at]
        if (step) await take(place, step)
      }),
    )
  }
}

const ofClaims = [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, AddressLease] as Kind[]
const ofNetworks = [Subnet, NetworkContext, Network] as Kind[]

/** What stands, with the order of its place. */
async function standing(places: readonly Place[]): Promise<string[]> {
  const orders = new Map(places.map(({ namespace, order }) => [namespace, order.join()]))
  const found = await Promise.all([...ofClaims, ...ofNetworks].map((kind) => within(kind, places)))
  const objects = found.flat().map(({ kind, metadata }) => `${orders.get(metadata.namespace ?? '')}: ${kind} ${metadata.name}`)
  const planes = await planesOf(places)
  return [...objects, ...planes.map((name) => `DataPlane ${name}`)]
}

async function planesOf(places: readonly Place[]): Promise<string[]> {
  const { items } = await world.client.list(DataPlane, {}, AbortSignal.timeout(30_000))
  return items.map(({ metadata }) => metadata.name).filter((name) => places.some(({ plane }) => plane === name))
}

const everythingGoes = (places: readonly Place[]) =>
  eventually(
    'everything is gone',
    async () => {
      assert.deepEqual(await standing(places), [])
      return true
    },
    { timeoutMs: 60_000, everyMs: 250 },
  )

const errors = () => total(nso.operator, 'controller_runtime_reconcile_errors_total')

test('B39, B38: in every order, while the data plane holds on nothing is given back, and then everything goes', async () => {
  const orders = ordersOf(['Network', 'NetworkInterfaceClaim', 'NetworkInterface', 'DataPlane'])
  const places = await placesFor(orders, 'held')
  const before = await passesOf(nso.operator, 'networkinterface')
  world.toy.behave({ letsGo: false })
  await takeAll(places)
  await eventually('NSO has looked at every interface', async () => {
    const made = (await passesOf(nso.operator, 'networkinterface')) - before
    return made >= places.length || undefined
  })
  for (const kind of [NetworkInterface, ToyAttachment, AddressLease, Subnet, NetworkContext] as Kind[]) {
    const stands = new Set((await within(kind, places)).map(({ metadata }) => metadata.namespace))
    assert.deepEqual(
      places.filter(({ namespace }) => !stands.has(namespace)).map(({ order }) => order.join()),
      [],
      `${kind.kind} stands in every place`,
    )
  }
  assert.deepEqual(await planesOf(places), [...new Set(places.map(({ plane }) => plane))].sort(), 'the data planes stand')
  world.toy.behave({ letsGo: true })
  await everythingGoes(places)
  assert.equal(await errors(), 0)
})

test('B39, B40: in every order, all at once and with the namespace, everything goes', async () => {
  const places = await placesFor(ordersOf(['Subnet', 'NetworkInterfaceClaim', 'DataPlane', 'Namespace']), 'quick')
  await takeAll(places)
  await everythingGoes(places)
  await eventually(
    'the namespaces are gone',
    async () => {
      const answers = await Promise.all(
        places.map(({ namespace }) => world.plane.connection.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}` })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        places.map(() => 404),
      )
      return true
    },
    { timeoutMs: 60_000 },
  )
  assert.equal(await errors(), 0)
})
