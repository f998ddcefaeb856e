/** The network controllers on a real API server: holds, tear-down, and crashes at every write. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { finalizers, labels, Network, NetworkContext, NetworkInterface, ServingLocation, Subnet } from '@nso/api'
import { fenceWrites } from 'kube-control-loop'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { by, condition, forever, location, network, startWorld, type World } from './network-world.ts'
import { aContext, anInterface } from './objects.ts'

let world: World

before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())

/** An interface as claims would have it; the test plays their controllers. */
function makeInterface(metadata: Parameters<typeof anInterface>[0]): Promise<NetworkInterface> {
  const object = anInterface(metadata)
  const { namespace, name } = object.metadata
  world.recorder.expect({ kind: object.kind, namespace, name, path: '*', why: 'the test plays the controllers of claims' })
  return world.create(NetworkInterface, object)
}
afterEach(() => world.clearLocations())

test('B39: network, contexts, Subnets and interfaces deleted at once all go, the ranges after the last interface', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(namespace.name, 'net'))
  const context = await world.readyContext(namespace.name, 'net-dfw')
  const stored = await makeInterface({ metadata: { namespace: namespace.name, labels: { [labels.location]: 'dfw' } } })
  await eventually('the context is held', async () => {
    const held = await world.find(NetworkContext, namespace.name, 'net-dfw')
    return held?.metadata.finalizers?.includes(finalizers.contextInUse) || undefined
  })
  const [subnet] = await world.subnetsIn(namespace.name)
  assert.ok(subnet)
  await Promise.all([world.remove(net, Network), world.remove(context, NetworkContext), world.remove(stored, NetworkInterface)])
  await eventually('the controllers have seen it', async () => {
    const going = await world.find(NetworkContext, namespace.name, 'net-dfw')
    return (going?.metadata.deletionTimestamp !== undefined && running.idle()) || undefined
  })
  assert.equal((await world.subnetsIn(namespace.name)).length, 1, 'the range stands while an interface is going')
  assert.ok(await world.find(Network, namespace.name, 'net'))
  await world.client.jsonPatch(NetworkInterface, stored.metadata, [{ op: 'remove', path: '/metadata/finalizers' }], by, forever)
  await eventually('everything is gone', async () => {
    const left = [
      await world.find(Network, namespace.name, 'net'),
      await world.find(NetworkContext, namespace.name, 'net-dfw'),
      ...(await world.subnetsIn(namespace.name)),
    ]
    return left.every((object) => object === undefined) || undefined
  })
  assert.equal(running.errors, 0)
})

test('the hold ends with the last interface, on every location, and only on the word of the server', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  for (const name of ['dfw', 'lhr']) {
    const metadata = { namespace: namespace.name, name: `net-${name}` }
    await world.create(NetworkContext, aContext({ metadata, spec: { location: { name } } }))
  }
  const make = async (name: string, at: string) => {
    const metadata = { namespace: namespace.name, name, finalizers: [], labels: { [labels.location]: at } }
    return makeInterface({ metadata })
  }
  const isHeld = async (context: string) =>
    (await world.find(NetworkContext, namespace.name, context))?.metadata.finalizers?.includes(finalizers.contextInUse) ?? false
  const one = await make('one', 'lhr')
  const two = await make('two', 'lhr')
  await eventually('the context of the location is held', async () => (await isHeld('net-lhr')) || undefined)
  assert.equal(await isHeld('net-dfw'), false)
  await world.remove(one, NetworkInterface)
  await eventually('the first is out of sight', () => running.idle() || undefined)
  assert.equal(await isHeld('net-lhr'), true)
  await world.remove(two, NetworkInterface)
  await eventually('the hold has ended', async () => !(await isHeld('net-lhr')) || undefined)
  assert.ok(running.script.sent({ method: 'GET', path: new RegExp(`${namespace.name}/networkinterfaces$`) }).length >= 2)
  assert.equal(running.errors, 0)
})

test('several contexts of one network, of locations delivered or only configured: each is held by its own interfaces, a going one by no new ones', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  await world.create(ServingLocation, location('dfw'))
  await world.create(Network, network(namespace.name, 'net'))
  await world.readyContext(namespace.name, 'net-dfw')
  // The locations of these two are nowhere delivered, as where a setting tells the location.
  for (const name of ['lhr', 'sea']) {
    const metadata = { namespace: namespace.name, name: `net-${name}`, finalizers: name === 'sea' ? ['test/keep'] : [] }
    await world.create(NetworkContext, aContext({ metadata, spec: { location: { name } } }))
    await world.readyContext(namespace.name, `net-${name}`)
  }
  const find = (name: string) => world.find(NetworkContext, namespace.name, name)
  const isHeld = async (name: string) => (await find(name))?.metadata.finalizers?.includes(finalizers.contextInUse) ?? false
  const make = (name: string, at: string) =>
    makeInterface({ metadata: { namespace: namespace.name, name, finalizers: [], labels: { [labels.location]: at } } })
  const going = await find('net-sea')
  assert.ok(going)
  await world.remove(going, NetworkContext)
  await eventually('it has no Subnet any more', async () => {
    const left = (await find('net-sea'))?.metadata.finalizers
    return left?.join() === 'test/keep' || undefined
  })
  const nics = [await make('at-dfw', 'dfw'), await make('at-lhr', 'lhr'), await make('at-sea', 'sea')]
  for (const name of ['net-dfw', 'net-lhr']) await eventually(`${name} is held`, async () => (await isHeld(name)) || undefined)
  await eventually('nothing is left to do', () => running.idle() || undefined)
  assert.equal(await isHeld('net-sea'), false)
  for (const nic of nics) await world.remove(nic, NetworkInterface)
  for (const name of ['net-dfw', 'net-lhr'])
    await eventually(`${name} is not held any more`, async () => !(await isHeld(name)) || undefined)
  await world.client.jsonPatch(NetworkContext, going.metadata, [{ op: 'remove', path: '/metadata/finalizers' }], by, forever)
  assert.equal(running.errors, 0)
})

test('a cache that lost sight of a location or an interface takes nothing away', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  const dfw = await world.create(ServingLocation, location('dfw'))
  await world.create(Network, network(namespace.name, 'net'))
  await world.readyContext(namespace.name, 'net-dfw')
  const nic = await makeInterface({ metadata: { namespace: namespace.name, labels: { [labels.location]: 'dfw' } } })
  const held = async () =>
    (await world.find(NetworkContext, namespace.name, 'net-dfw'))?.metadata.finalizers?.includes(finalizers.contextInUse)
  await eventually('the context is held', async () => (await held()) || undefined)
  running.caches.servingLocations.absorbGone(dfw)
  running.caches.interfaces.absorbGone(nic)
  await eventually('both were asked for', () => {
    const asked = [/servinglocations\/dfw$/, new RegExp(`${namespace.name}/networkinterfaces$`)]
    const reads = asked.map((path) =>
      running.script.sent({ method: 'GET', path }).filter(({ isStream, response }) => !isStream && response),
    )
    return (reads.every((each) => each.length > 0) && running.idle()) || undefined
  })
  assert.equal(await held(), true)
  assert.equal((await world.find(NetworkContext, namespace.name, 'net-dfw'))?.metadata.deletionTimestamp, undefined)
  await world.client.jsonPatch(NetworkInterface, nic.metadata, [{ op: 'remove', path: '/metadata/finalizers' }], by, forever)
  await world.remove(nic, NetworkInterface)
})

test('a crash before any write ends in the same world', async () => {
  await world.create(ServingLocation, location('dfw'))
  /** Without what differs between any two runs: names of the server's making, and times. */
  const worldOf = async (namespace: string) => {
    const contexts = (await world.client.list(NetworkContext, { namespace }, forever)).items
    const subnets = await world.subnetsIn(namespace)
    const networks = (await world.client.list(Network, { namespace }, forever)).items
    return [...networks, ...contexts, ...subnets].map((object) => ({
      name: object.metadata.name,
      finalizers: object.metadata.finalizers,
      conditions: object.status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort(),
    }))
  }
  const run = async (crashBefore: number) => {
    await using namespace = await testNamespace(world.plane, 'network')
    await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv6', 'IPv4'] }))
    let writes = 0
    {
      const mayWrite = () => {
        writes += 1
        return writes <= crashBefore
      }
      await using first = await world.system(namespace.name, fenceWrites(world.asNso, { mayWrite }))
      await eventually('nothing more gets through', () => writes > crashBefore || first.idle() || undefined)
    }
    await using second = await world.system(namespace.name)
    const subnets = ['net-dfw-ipv4', 'net-dfw-ipv6']
    await world.readyContext(namespace.name, 'net-dfw')
    for (const name of subnets) {
      await eventually(`${name} is allocated`, async () => {
        const subnet = await world.find(Subnet, namespace.name, name)
        return condition(subnet, 'Allocated')?.status === 'True' || undefined
      })
    }
    assert.equal(second.errors, 0)
    return { world: await worldOf(namespace.name), writes }
  }
  const calm = await run(Number.POSITIVE_INFINITY)
  assert.ok(calm.writes >= 9, `${calm.writes} writes`)
  for (let n = 0; n < calm.writes; n += 1) assert.deepEqual((await run(n)).world, calm.world, `crash before write ${n}`)
})

test('a crash before any write of the tear-down leaves nothing behind', async () => {
  await world.create(ServingLocation, location('dfw'))
  const run = async (crashBefore: number) => {
    await using namespace = await testNamespace(world.plane, 'network')
    const net = await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv6', 'IPv4'] }))
    {
      await using first = await world.system(namespace.name)
      await world.readyContext(namespace.name, 'net-dfw')
      await eventually('all is said', () => first.idle() || undefined)
    }
    await world.remove(net, Network)
    let writes = 0
    const mayWrite = () => {
      writes += 1
      return writes <= crashBefore
    }
    const isGone = async () => {
      const left = [await world.find(Network, namespace.name, 'net'), await world.find(NetworkContext, namespace.name, 'net-dfw')]
      return [...left, ...(await world.subnetsIn(namespace.name))].every((object) => object === undefined) || undefined
    }
    {
      await using _first = await world.system(namespace.name, fenceWrites(world.asNso, { mayWrite }))
      await eventually('nothing more gets through', async () => writes > crashBefore || (await isGone()) || undefined)
    }
    await using second = await world.system(namespace.name)
    await eventually(`everything is gone after a crash before write ${crashBefore}`, isGone)
    assert.equal(second.errors, 0)
    return writes
  }
  const writes = await run(Number.POSITIVE_INFINITY)
  assert.ok(writes >= 5, `${writes} writes`)
  for (let n = 0; n < writes; n += 1) await run(n)
})
