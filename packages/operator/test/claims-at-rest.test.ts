/**
 * Claims that have what they want, on a real API server: many of them, for long, through restarts and small changes. Full size
 * with SOAK set.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
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
import { type Clock, isWrite, type Kind, type KubeObject } from 'kube-control-loop'
import { createManualClock, narrowTransport, type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { passed, passesOf } from './support/at-rest.ts'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  aSubnet,
  claimSays,
  create,
  find,
  know,
  listed,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, ServingLocation, Network)

/** What belongs to no namespace. */
const seenWhole = {
  servinglocations: 'all',
  dataplanes: { only: 'toy' },
  customresourcedefinitions: 'all',
  clusterroles: { only: 'nso' },
} as const

const isFull = process.env.SOAK !== undefined
const claimPasses = 'networkinterfaceclaim'
const kinds = [NetworkInterfaceClaim, NetworkInterface, ToyAttachment] as Kind[]

let world: World
let running: Running | undefined
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

type Life = { nso: Running; script: ScriptedTransport; written(): string[] }

/** An NSO that sees one namespace: the others are of other times. */
async function begin(namespace: string, { clock, settings = {} }: { clock?: Clock; settings?: object } = {}): Promise<Life> {
  let script: ScriptedTransport | undefined
  const nso = await world.startNso({
    settings,
    ...(clock ? { clock } : {}),
    wrap: (transport) => {
      script = scriptTransport(narrowTransport(transport, namespace, seenWhole))
      return script
    },
  })
  running = nso
  assert.ok(script)
  const wire = script
  const written = () =>
    wire.requests.flatMap(({ request }) =>
      isWrite(request) && !request.path.includes('selfsubject') ? [`${request.method} ${request.path}`] : [],
    )
  return { nso, script, written }
}

async function end({ nso }: Life): Promise<void> {
  await nso.stop()
  running = undefined
}

const interfaceSays = (namespace: string, name: string, type: string, what: string) =>
  eventually(`interface ${name} says ${type} ${what}`, async () => {
    const nic = await find(world.client, NetworkInterface, namespace, name)
    return said(nic, type) === what && nic
  })

/** Claims with everything done, and the NSO that did it gone. */
async function settled(namespace: string, count: number): Promise<void> {
  const life = await begin(namespace)
  const names = Array.from({ length: count }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(world.client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  await Promise.all(names.map((name) => interfaceSays(namespace, name, 'Programmed', 'True ToyProgrammed')))
  await end(life)
}

async function versions(namespace: string): Promise<string[]> {
  const all = await Promise.all(kinds.map((kind) => listed(world.client, kind, namespace)))
  return all.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`)
}

type Times = Record<string, string>
async function timesOf(namespace: string, name: string): Promise<Times> {
  const claim = await find(world.client, NetworkInterfaceClaim, namespace, name)
  return Object.fromEntries(claim?.status?.conditions?.map((one) => [one.type, one.lastTransitionTime]) ?? [])
}

// The toy plane turns every attachment over: this comes before there are many.
/** What grows when a writer's name varies or a list has no end. Versions and times are of equal length anyway. */
async function measure(namespace: string, name: string) {
  const all = await Promise.all(kinds.map((kind) => find(world.client, kind, namespace, name)))
  return all.map((object) => {
    assert.ok(object)
    const { resourceVersion: _, ...metadata } = object.metadata
    return {
      kind: object.kind,
      managers: metadata.managedFields?.map((entry) => `${entry.manager} ${entry.operation} ${entry.subresource ?? ''}`),
      size: JSON.stringify({ ...object, metadata } as KubeObject).length,
    }
  })
}

test(`B10: ${isFull ? 100 : 12} lives of NSO, each under another name and with something to write: no object grows`, async () => {
  const { toy } = world
  const namespace = await world.place()
  const lives = isFull ? 100 : 12
  await settled(namespace, 1)
  let first: Awaited<ReturnType<typeof measure>> | undefined
  for (let life = 0; life < lives; life++) {
    const now = await begin(namespace)
    for (const prepares of [false, true]) {
      toy.behave({ prepares })
      const what = prepares ? 'True AttachmentReady' : 'False ToyNotReady'
      await claimSays(world.client, namespace, 'web-0', 'Prepared', what)
      await interfaceSays(namespace, 'web-0', 'Prepared', what)
    }
    await ready(namespace, 'web-0')
    await interfaceSays(namespace, 'web-0', 'Programmed', 'True ToyProgrammed')
    assert.ok(now.written().length > 0)
    await end(now)
    first ??= await measure(namespace, 'web-0')
  }
  assert.deepEqual(await measure(namespace, 'web-0'), first)
})

test(`B11: ${isFull ? 150 : 30} settled claims, two minutes of passes in each of three lives: nothing is written`, async () => {
  const { client } = world
  const count = isFull ? 150 : 30
  const namespace = await world.place()
  await settled(namespace, count)
  const before = await versions(namespace)
  const began = Date.now()
  for (const life of [1, 2, 3]) {
    const clock = createManualClock(new Date(began + life * 3_600_000))
    const { nso, written, script } = await begin(namespace, { clock })
    await passed(nso.operator, claimPasses, 0, count)
    await passed(nso.operator, 'networkinterface', 0, count)
    for (let round = 0; round < 4; round++) {
      const made = await passesOf(nso.operator, claimPasses)
      await clock.advance(30_000)
      // Every claim of the network looks again.
      await merge(client, Subnet, namespace, 'net-here-0', { metadata: { labels: { round: `${life}-${round}` } } })
      await passed(nso.operator, claimPasses, made, count)
    }
    assert.deepEqual(written(), [], `life ${life}`)
    assert.ok(script.requests.length > 0)
    await nso.stop()
  }
  assert.deepEqual(await versions(namespace), before)
})

test('B11: a transition time moves when that condition’s status value moves, and with no other change', async () => {
  const { toy } = world
  const namespace = await world.place()
  await settled(namespace, 1)
  const before = await timesOf(namespace, 'web-0')
  const clock = createManualClock(new Date(Date.now() + 3_600_000))
  await begin(namespace, { clock })
  toy.behave({ prepares: true, programs: false })
  toy.behave({ prepares: false })
  await eventually('the claim is not prepared', async () => {
    await clock.advance(100)
    const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'web-0')
    return said(claim, 'Prepared') === 'False ToyNotReady'
  })
  const { Bound, Allocated, Prepared, Ready } = await timesOf(namespace, 'web-0')
  assert.deepEqual({ Bound, Allocated }, { Bound: before.Bound, Allocated: before.Allocated })
  const now = clock.now().getTime()
  for (const time of [Prepared, Ready]) {
    const age = now - Date.parse(time ?? '')
    assert.ok(age >= 0 && age < 600_000, `${time} is of the test's clock`)
  }
})

const shown = (writes: readonly string[]) => writes.map((one) => one.replace(/ .*\/v1alpha(\/namespaces\/[^/]+)?\//, ' ')).sort()

test('B12: a new generation that alters no condition is said in exactly one status write', async () => {
  const { client } = world
  const namespace = await world.place()
  await settled(namespace, 1)
  const { nso, written } = await begin(namespace)
  await passed(nso.operator, claimPasses, 0, 1)
  await passed(nso.operator, 'networkinterface', 0, 1)
  const before = await find(client, NetworkInterface, namespace, 'web-0')
  // Another gateway: of no interest to the data plane's template.
  await merge(client, Subnet, namespace, 'net-here-0', { spec: { startAddress: 'fd20:0:0:1::10' } })
  await eventually('the interface speaks of its new generation', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    assert.notEqual(nic?.metadata.generation, before?.metadata.generation)
    return nic?.status?.conditions?.every((one) => one.observedGeneration === nic.metadata.generation)
  })
  await eventually('the claim tells of the gateway', async () => {
    const claim = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
    return claim?.status?.addresses?.[0]?.gateway === 'fd20:0:0:1::11'
  })
  await passed(nso.operator, 'networkinterface', 0, 2)
  assert.deepEqual(shown(written()), [
    'PATCH networkinterfaceclaims/web-0/status',
    'PATCH networkinterfaces/web-0',
    'PATCH networkinterfaces/web-0/status',
  ])
  const after = await find(client, NetworkInterface, namespace, 'web-0')
  const timeless = (nic: NetworkInterface | undefined) =>
    nic?.status?.conditions?.map(({ observedGeneration: _, ...rest }) => rest)
  assert.deepEqual(timeless(after), timeless(before))
})

test('B12: the same of a data plane, a network and its context', async () => {
  const { client } = world
  const namespace = await world.place({ context: false, subnets: [] })
  await create(client, {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'ServingLocation',
    metadata: { name: 'here' },
    spec: { topology: { 'topology.datum.net/city-code': 'XXX' } },
  } as ServingLocation)
  const { nso, written } = await begin(namespace, { settings: { networkControllers: true } })
  await create(client, {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Network',
    metadata: { name: 'net', namespace },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460 },
  } as Network)
  const current = <S, T>(kind: Kind<S, T>, at: string | undefined, name: string, generation: number) =>
    eventually(`${kind.kind} ${name} speaks of generation ${generation}`, async () => {
      const found = (await find(client, kind, at, name)) as NetworkContext | undefined
      const conditions = found?.status?.conditions ?? []
      return (
        found?.metadata.generation === generation &&
        conditions.length > 0 &&
        conditions.every((one) => one.status === 'True' && one.observedGeneration === generation)
      )
    })
  await current(Network, namespace, 'net', 1)
  await current(NetworkContext, namespace, 'net-here', 1)
  const [toy] = (await client.list(DataPlane, {}, AbortSignal.timeout(5_000))).items
  assert.ok(toy?.metadata.generation)
  const from = written().length
  await merge(client, Network, namespace, 'net', { spec: { mtu: 1400 } })
  await merge(client, DataPlane, undefined, 'toy', { spec: { locations: ['*', 'here'] } })
  await current(Network, namespace, 'net', 2)
  await current(NetworkContext, namespace, 'net-here', 2)
  await current(DataPlane, undefined, 'toy', toy.metadata.generation + 1)
  await passed(nso.operator, 'networkcontext', 0, 1)
  assert.deepEqual(shown(written().slice(from)), [
    'PATCH dataplanes/toy/status',
    'PATCH networkcontexts/net-here',
    'PATCH networkcontexts/net-here/status',
    'PATCH networks/net/status',
  ])
  await remove(client, Network, namespace, 'net')
  await remove(client, ServingLocation, undefined, 'here')
  await eventually('the network is gone', async () => !(await find(client, Network, namespace, 'net')))
})

test('B09: addresses that go leave no empty list behind, come back, and go again, without a write too many', async () => {
  const { client, toy } = world
  const external = { ...aSubnet('IPv4'), subnetClass: 'public', startAddress: '198.51.100.0', prefixLength: 24 }
  const namespace = await world.place({ families: ['IPv4'], subnets: [aSubnet('IPv4'), external] })
  const { nso } = await begin(namespace)
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv4'], addresses: [{ class: 'public' }] }))
  const had = (await ready(namespace, 'web-0')).status?.externalAddresses
  assert.equal(had?.length, 1)
  for (const round of [1, 2]) {
    toy.behave({ letsGo: false })
    await remove(client, NetworkInterface, namespace, 'web-0')
    const { status } = await claimSays(client, namespace, 'web-0', 'Bound', 'Unknown Pending')
    assert.deepEqual(Object.keys(status ?? {}).sort(), ['conditions'], `round ${round}`)
    await eventually('the interface has said what its deletion waits for', async () => {
      const nic = await find(client, NetworkInterface, namespace, 'web-0')
      return nic?.status?.conditions?.some(({ message }) => message.startsWith('Deletion waits for the data plane'))
    })
    await passed(nso.operator, 'networkinterface', 0, 1)
    const made = await passesOf(nso.operator, claimPasses)
    const writes = await world.writesDuring(async () => {
      await merge(client, Subnet, namespace, 'net-here-0', { metadata: { labels: { round: `${round}` } } })
      await passed(nso.operator, claimPasses, made, 1)
    })
    assert.deepEqual(
      writes.filter(({ userAgent }) => userAgent.startsWith('nso-test')).map(({ verb, uri }) => `${verb} ${uri}`),
      [],
    )
    toy.behave({ letsGo: true })
    assert.deepEqual((await ready(namespace, 'web-0')).status?.externalAddresses, had)
  }
})
