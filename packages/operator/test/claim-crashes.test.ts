/**
 * NSO killed before and after each of its writes, on a real API server: the next process always ends in the same world. And two
 * processes that both believe to lead.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { ApiRequest, Kind } from 'kube-control-loop'
import { type ScriptedTransport, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { blockAt } from '../src/addresses/cidr.ts'
import { leaseFor } from '../src/addresses/lease.ts'
import { total } from './support/at-rest.ts'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  aSubnet,
  claimSays,
  create,
  find,
  know,
  listed,
  type Running,
  remove,
  type StartOptions,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

let world: World
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))

const kinds = [NetworkInterfaceClaim, NetworkInterface, AddressLease, ToyAttachment] as Kind[]
const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

async function counts(namespace: string): Promise<number[]> {
  return Promise.all(kinds.map(async (kind) => (await listed(world.client, kind, namespace)).length))
}

async function scripted(): Promise<{ nso: Running; script: ScriptedTransport }> {
  let script: ScriptedTransport | undefined
  const nso = await world.startNso({
    wrap: (transport) => {
      script = scriptTransport(transport)
      return script
    },
  })
  assert.ok(script)
  return { nso, script }
}

/** Writes about the objects of one namespace, the finalizer of its context apart. */
const writesIn = (namespace: string) => (request: ApiRequest) =>
  request.method !== 'GET' && request.path.includes(`/namespaces/${namespace}/`) && !request.path.includes('/networkcontexts/')

/** Does `act` under an NSO that is killed at its n-th write, then under one that is not. False: there was no n-th write. */
async function killedAt(
  n: number,
  when: 'before' | 'after',
  namespace: string,
  act: () => Promise<unknown>,
  done: () => Promise<unknown>,
) {
  const first = await scripted()
  const rule = first.script.on({ where: writesIn(namespace) }, { skip: n })
  const held = when === 'before' ? rule.hold() : rule.holdAnswer()
  await act()
  const was = await Promise.race([held.arrived().then(() => true), done().then(() => false)])
  await first.nso.stop()
  const second = await world.startNso()
  await done()
  await second.stop()
  return was
}

for (const when of ['before', 'after'] as const) {
  test(`killed ${when} any of its writes while a claim comes up: one interface, one lease, one attachment, Ready`, async () => {
    const { client } = world
    let writes = 0
    for (let n = 0; n < 12; n++) {
      const namespace = await world.place()
      const done = () => ready(namespace, 'web-0')
      const was = await killedAt(n, when, namespace, () => create(client, aClaim(namespace, 'web-0')), done)
      assert.deepEqual(await counts(namespace), [1, 1, 1, 1], `killed ${when} write ${n}`)
      if (!was) break
      writes += 1
    }
    assert.ok(writes >= 5, `${writes} writes were tried`)
  })

  test(`killed ${when} any of its writes while a claim goes: nothing is left`, async () => {
    const { client } = world
    let writes = 0
    for (let n = 0; n < 12; n++) {
      const namespace = await world.place()
      const calm = await world.startNso()
      await create(client, aClaim(namespace, 'web-0'))
      await ready(namespace, 'web-0')
      await eventually('the interface is said too', async () => {
        const nic = await find(client, NetworkInterface, namespace, 'web-0')
        return nic?.status?.conditions?.every(({ status }) => status === 'True')
      })
      await calm.stop()
      const done = () =>
        eventually('nothing is left', async () => {
          assert.deepEqual(await counts(namespace), [0, 0, 0, 0])
          return true
        })
      const was = await killedAt(n, when, namespace, () => remove(client, NetworkInterfaceClaim, namespace, 'web-0'), done)
      if (!was) break
      writes += 1
    }
    assert.ok(writes >= 4, `${writes} writes were tried`)
  })
}

test('two processes that both act: each claim has one interface, one lease, one attachment; lost races are no errors', async () => {
  const { client } = world
  const both = await Promise.all([world.startNso(), world.startNso()])
  const namespace = await world.place()
  const names = Array.from({ length: 15 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface'])
    world.recorder.expect({
      kind,
      namespace,
      path: 'status',
      why: 'one process writes late what the other has overtaken',
      maybe: true,
    })
  assert.deepEqual(await counts(namespace), [15, 15, 15, 15])
  await Promise.all(names.map((name) => remove(client, NetworkInterfaceClaim, namespace, name)))
  await eventually('nothing is left', async () => (await counts(namespace)).every((count) => count === 0))
  for (const { operator } of both) {
    const page = await operator.manager.metrics.page()
    const errors = page
      .split('\n')
      .filter((line) => /^controller_runtime_reconcile_errors_total/.test(line) && !line.endsWith(' 0'))
    assert.deepEqual(errors, [])
  }
  await Promise.all(both.map((one) => one.stop()))
})

/** One address, which the first to come holds. */
const one = { ...aSubnet('IPv4'), startAddress: '10.0.0.5', prefixLength: 32 }
const onlyAddress = { families: ['IPv4' as const], subnets: [one] }
const wanting = (namespace: string, name: string, spec: Partial<NetworkInterfaceClaim['spec']> = {}) =>
  create(world.client, aClaim(namespace, name, { ipFamilies: ['IPv4'], ...spec }))
const exhausted = (namespace: string, name: string) =>
  claimSays(world.client, namespace, name, 'Ready', 'False AddressPoolExhausted')
const holders = async (namespace: string) =>
  (await listed(world.client, AddressLease, namespace)).map(({ spec }) => spec.holder.claimName)
/** Stopped at the end of the test at the latest. */
const begun: Running[] = []
async function begin(options: StartOptions): Promise<Running> {
  const nso = await world.startNso(options)
  begun.push(nso)
  return nso
}
afterEach(() => Promise.all(begun.splice(0).map((nso) => nso.stop())))

/** No retry can help: whoever waits is woken. */
const noRetry = { settings: { retryRejectedMs: 3_600_000 } }
const interfaceLists = { path: /\/networkinterfaces$/ }

/** An NSO whose first list of interfaces does not come before it is let go. */
async function withLateInterfaces() {
  let script: ScriptedTransport | undefined
  const late: { release(): void }[] = []
  const nso = await begin({
    ...noRetry,
    wrap: (transport) => {
      script = scriptTransport(transport)
      late.push(script.on(interfaceLists).hold())
      return script
    },
  })
  const { caches } = nso.operator
  await eventually('all else is known', () =>
    Object.entries(caches).every(([name, { state }]) => state === 'synced' || name === 'interfaces'),
  )
  assert.equal(caches.interfaces.state, 'starting')
  assert.ok(script)
  return { nso, script, release: () => late[0]?.release() }
}

/** What NSO has written about the objects of a namespace. */
const written = (script: ScriptedTransport, namespace: string) =>
  script.sent({ where: writesIn(namespace) }).map(({ request }) => `${request.method} ${request.path}`)

test('B43: after a restart the one who waits comes first and the interfaces late: the address stays with its holder until its attachment is gone', async () => {
  const { client, toy } = world
  const namespace = await world.place(onlyAddress)
  const first = await begin(noRetry)
  await wanting(namespace, 'z-holds')
  await ready(namespace, 'z-holds')
  await wanting(namespace, 'a-waits')
  await exhausted(namespace, 'a-waits')
  await first.stop()
  toy.behave({ letsGo: false })
  await remove(client, NetworkInterfaceClaim, namespace, 'z-holds')
  // Only the interface still tells who has the address.
  const [lease] = await listed(client, AddressLease, namespace)
  await remove(client, AddressLease, namespace, lease?.metadata.name ?? '')

  const { nso, script, release } = await withLateInterfaces()
  assert.deepEqual(written(script, namespace), [])
  release()
  await eventually('its attachment is being taken away', async () => {
    const attachment = await find(client, ToyAttachment, namespace, 'z-holds')
    return attachment?.metadata.deletionTimestamp !== undefined || undefined
  })
  await exhausted(namespace, 'a-waits')
  assert.ok(!(await holders(namespace)).includes('a-waits'))
  toy.behave({ letsGo: true })
  await ready(namespace, 'a-waits')
  assert.deepEqual(await holders(namespace), ['a-waits'])
  // A pass that had begun before the interfaces were known would have asked for an address, which is an error.
  assert.equal(await total(nso.operator, 'controller_runtime_reconcile_errors_total', 'networkinterfaceclaim'), 0)
  await nso.stop()
})

test('B50: what a deleted claim held is free when its attachment is gone, also across a restart, and goes to who waits at once', async () => {
  const { client, toy } = world
  const namespace = await world.place(onlyAddress)
  const first = await begin(noRetry)
  await wanting(namespace, 'old')
  await ready(namespace, 'old')
  toy.behave({ letsGo: false })
  await remove(client, NetworkInterfaceClaim, namespace, 'old')
  await eventually('its attachment is being taken away', async () => {
    const attachment = await find(client, ToyAttachment, namespace, 'old')
    return attachment?.metadata.deletionTimestamp !== undefined || undefined
  })
  await wanting(namespace, 'early')
  await exhausted(namespace, 'early')
  await first.stop()
  const second = await begin(noRetry)
  await wanting(namespace, 'new')
  await exhausted(namespace, 'new')
  assert.deepEqual(await holders(namespace), ['old'])
  toy.behave({ letsGo: true })
  const served = await eventually('one of the two has it', async () => {
    const [holder] = await holders(namespace)
    return holder !== 'old' && holder
  })
  await ready(namespace, served)
  await remove(client, NetworkInterfaceClaim, namespace, served)
  const other = served === 'new' ? 'early' : 'new'
  await ready(namespace, other)
  assert.deepEqual(await holders(namespace), [other])
  await second.stop()
})

/** A lease that a crash left of a claim that is gone. */
async function leftBehind(namespace: string): Promise<string> {
  const unit = blockAt('IPv6', 0xfd20_0000_0000_0001_0000_00fe_0000_0000n, 96)
  const holder = { claimName: 'nobody', claimUID: 'nobody-uid', request: { family: 'IPv6' } } as const
  const lease = leaseFor({ network: 'net', context: { name: 'net-here', namespace }, unit }, holder)
  const { name } = lease.metadata
  world.recorder.expect({
    kind: 'AddressLease',
    namespace,
    name,
    path: 'spec',
    why: 'the test plays a leader that died',
    maybe: true,
  })
  await create(world.client, lease)
  return name
}

/** An NSO that sees interfaces as they were at a version of long ago, when there were none, and is told of no change since. */
async function withOldInterfaces(resourceVersion: string, prepare: (script: ScriptedTransport) => void): Promise<Running> {
  const end = { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } }
  const bookmark = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkInterface', metadata: end }
  return begin({
    ...noRetry,
    wrap: (transport) => {
      const script = scriptTransport(transport)
      const isFollowed = ({ query }: ApiRequest) => query?.watch === 'true'
      script
        .on({ ...interfaceLists, where: isFollowed }, { times: 100 })
        .stream([JSON.stringify({ type: 'BOOKMARK', object: bookmark })], 'stays')
      prepare(script)
      return script
    },
  })
}

test('B49: the sweep at start takes nothing of the living, though the list of interfaces comes late, fails, or is old', async () => {
  const namespace = await world.place()
  const long = (await world.client.list(NetworkInterface, { namespace }, AbortSignal.timeout(30_000))).resourceVersion
  const first = await begin({})
  await create(world.client, aClaim(namespace, 'lives'))
  await create(world.client, aClaim(namespace, 'retained', { reclaimPolicy: 'Retain' }))
  for (const name of ['lives', 'retained']) await ready(namespace, name)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'retained')
  await eventually('it is free', async () => {
    const nic = await find(world.client, NetworkInterface, namespace, 'retained')
    return nic?.status?.phase === 'Available' || undefined
  })
  await first.stop()
  const living = (await listed(world.client, AddressLease, namespace)).map(({ metadata }) => metadata.uid).sort()
  const left = await leftBehind(namespace)
  const isLeft = async () => (await find(world.client, AddressLease, namespace, left)) !== undefined
  const stand = async () =>
    (await listed(world.client, AddressLease, namespace))
      .filter((one) => one.metadata.name !== left)
      .map(({ metadata }) => metadata.uid)
      .sort()

  const late = await withLateInterfaces()
  assert.deepEqual(written(late.script, namespace), [])
  assert.ok(await isLeft())
  await late.nso.stop()
  late.release()

  const during: boolean[] = []
  const old = await withOldInterfaces(long, (script) => {
    const isLiveList = ({ query, path }: ApiRequest) => !query?.watch && path.includes(`/${namespace}/`)
    script.on({ ...interfaceLists, method: 'GET', where: isLiveList }, { times: 3 }).answer(async () => {
      during.push(await isLeft())
      return statusAnswer(403, 'Forbidden', 'the list fails')
    })
  })
  await eventually('what was left behind is gone', async () => !(await isLeft()))
  assert.deepEqual(during, [true, true, true])
  await ready(namespace, 'lives')
  assert.deepEqual(await stand(), living)
  await old.stop()
})
