/** The network controllers on a real API server: what they make, and what they leave alone. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { contextName, finalizers, labels, Network, NetworkContext, ServingLocation, Subnet } from '@nso/api'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { overlaps, readBlock } from '../src/addresses/cidr.ts'
import { assertDisjoint, blockOf, by, condition, forever, location, network, startWorld, type World } from './network-world.ts'
import { aContext, aSubnet } from './objects.ts'

let world: World

before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
afterEach(() => world.clearLocations())

test('a network gets a prefix, and in each of two locations a context with Subnets that share nothing', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  await world.create(ServingLocation, location('dfw'))
  await world.create(ServingLocation, location('lhr'))
  const stored = await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv6', 'IPv4'], mtu: 8000 }))
  const contexts = [await world.readyContext(namespace.name, 'net-dfw'), await world.readyContext(namespace.name, 'net-lhr')]
  const net = await world.find(Network, namespace.name, 'net')
  assert.match(net?.status?.ipam?.ipv6Prefix ?? '', /^fd2[0-9a-f:]+::\/48$/)
  assert.deepEqual(condition(net, 'Ready')?.reason, 'Ready')
  assert.ok(net?.metadata.finalizers?.includes(finalizers.network))
  for (const context of contexts) {
    assert.deepEqual(context.spec, {
      network: { name: 'net' },
      location: { name: context.spec.location.name },
      ipFamilies: ['IPv6', 'IPv4'],
      mtu: 8000,
      networkGeneration: 1,
    })
    assert.equal(context.metadata.labels?.[labels.networkUid], stored.metadata.uid)
    assert.equal(context.metadata.name, contextName('net', context.spec.location.name))
    assert.deepEqual(context.status?.ipam, { ipv6SubnetRef: { name: `${context.metadata.name}-ipv6` } })
    assert.equal(condition(context, 'IPAMAllocated')?.reason, 'Allocated')
    assert.deepEqual(
      context.metadata.ownerReferences?.map(({ uid, controller }) => ({ uid, controller })),
      [{ uid: stored.metadata.uid, controller: true }],
    )
  }
  const subnets = await eventually('all Subnets are allocated', async () => {
    const found = await world.subnetsIn(namespace.name)
    return found.every((subnet) => condition(subnet, 'Allocated')?.status === 'True') ? found : undefined
  })
  assert.deepEqual(subnets.map(({ metadata }) => metadata.name).sort(), [
    'net-dfw-ipv4',
    'net-dfw-ipv6',
    'net-lhr-ipv4',
    'net-lhr-ipv6',
  ])
  assertDisjoint(subnets)
  const prefix = readBlock(net?.status?.ipam?.ipv6Prefix ?? '')
  for (const subnet of subnets) {
    assert.deepEqual([condition(subnet, 'Ready')?.reason, condition(subnet, 'Programmed')?.reason], ['NotProgrammed', 'Pending'])
    assert.equal(subnet.spec.prefixLength, subnet.spec.ipFamily === 'IPv6' ? 64 : 20)
    assert.ok(subnet.spec.ipFamily === 'IPv4' || (prefix && overlaps(prefix, blockOf(subnet))))
    assert.deepEqual(
      [subnet.status?.startAddress, subnet.status?.prefixLength],
      [subnet.spec.startAddress, subnet.spec.prefixLength],
    )
  }
  assert.deepEqual([running.errors, running.races], [0, 0])
  await world.assertAtRest(namespace.name)
})

test('what the context projects follows the network, and a location that comes or goes', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using _running = await world.system(namespace.name)
  const net = await world.create(Network, network(namespace.name, 'net'))
  const dfw = await world.create(ServingLocation, location('dfw'))
  await world.readyContext(namespace.name, 'net-dfw')
  await world.client.jsonPatch(Network, net.metadata, [{ op: 'replace', path: '/spec/mtu', value: 9000 - 200 }], by, forever)
  await eventually('the context has the new MTU', async () => {
    const context = await world.find(NetworkContext, namespace.name, 'net-dfw')
    return (context?.spec.mtu === 8800 && context.spec.networkGeneration === 2) || undefined
  })
  await world.client.jsonPatch(Network, net.metadata, [{ op: 'add', path: '/spec/ipFamilies/-', value: 'IPv4' }], by, forever)
  await eventually('the new family has a Subnet', async () => world.find(Subnet, namespace.name, 'net-dfw-ipv4'))
  await world.create(ServingLocation, location('lhr'))
  await world.readyContext(namespace.name, 'net-lhr')
  await world.remove(dfw, ServingLocation)
  await eventually(
    'the context of the location is gone',
    async () => !(await world.find(NetworkContext, namespace.name, 'net-dfw')) || undefined,
  )
  assert.deepEqual((await world.subnetsIn(namespace.name)).map(({ metadata }) => metadata.name).sort(), [
    'net-lhr-ipv4',
    'net-lhr-ipv6',
  ])
})

test('a Subnet made by hand is respected: none is made beside it, nobody carves into it, and it is never deleted', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using _running = await world.system(namespace.name)
  const at = { namespace: namespace.name }
  const byHand = aSubnet({
    metadata: { ...at, name: 'by-hand' },
    spec: { networkContext: { name: 'net-dfw' }, ipFamily: 'IPv4', startAddress: '10.128.0.0', prefixLength: 10 },
  })
  await world.create(Subnet, byHand)
  await world.create(ServingLocation, location('dfw'))
  await world.create(ServingLocation, location('lhr'))
  const net = await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv4'] }))
  await world.readyContext(namespace.name, 'net-dfw')
  await world.readyContext(namespace.name, 'net-lhr')
  const subnets = await world.subnetsIn(namespace.name)
  assert.deepEqual(subnets.map(({ metadata }) => metadata.name).sort(), ['by-hand', 'net-lhr-ipv4'])
  assertDisjoint(subnets)
  await world.remove(net, Network)
  await eventually('the network is gone', async () => !(await world.find(Network, namespace.name, 'net')) || undefined)
  assert.deepEqual(
    (await world.subnetsIn(namespace.name)).map(({ metadata }) => metadata.name),
    ['by-hand'],
  )
})

test('Subnets made by hand are respected also while their contexts do not stand yet', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  const at = { namespace: namespace.name }
  const ahead = [
    ['net-dfw', '10.128.0.0', 10],
    ['net-sea', '10.192.0.0', 11],
    ['net-ams', '10.224.0.0', 12],
  ] as const
  for (const [name, startAddress, prefixLength] of ahead) {
    const spec = { networkContext: { name }, ipFamily: 'IPv4', startAddress, prefixLength } as const
    await world.create(Subnet, aSubnet({ metadata: { ...at, name: `by-hand-${name}` }, spec }))
  }
  await using _running = await world.system(namespace.name)
  await world.create(ServingLocation, location('lhr'))
  await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv4'] }))
  await world.readyContext(namespace.name, 'net-lhr')
  assertDisjoint(await world.subnetsIn(namespace.name))
})

test('a Subnet that is in the way of another context is deleted, as the message advises, and that is enough', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  const at = { namespace: namespace.name }
  const misnamed = aSubnet({
    metadata: { ...at, name: 'net-dfw-ipv4' },
    spec: { networkContext: { name: 'typo' }, ipFamily: 'IPv4', startAddress: '10.9.0.0', prefixLength: 24 },
  })
  const inTheWay = await world.create(Subnet, misnamed)
  await eventually('the Subnet is known', () => running.caches.subnets.size === 1 || undefined)
  await world.create(ServingLocation, location('dfw'))
  await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv4'] }))
  await eventually('the context says to delete it', async () => {
    const ready = condition(await world.find(NetworkContext, namespace.name, 'net-dfw'), 'Ready')
    return (ready?.reason === 'AllocationFailed' && /delete it/.test(ready.message)) || undefined
  })
  await eventually('nothing is tried meanwhile', () => running.idle() || undefined)
  await world.remove(inTheWay, Subnet)
  await world.readyContext(namespace.name, 'net-dfw')
  assert.equal((await world.find(Subnet, namespace.name, 'net-dfw-ipv4'))?.spec.networkContext.name, 'net-dfw')
  assert.equal(running.errors, 0)
})

test('a Subnet made by hand that moves to another context is made up for in the one that it left', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  const at = { namespace: namespace.name }
  const byHand = aSubnet({
    metadata: { ...at, name: 'by-hand' },
    spec: { networkContext: { name: 'net-dfw' }, ipFamily: 'IPv4', startAddress: '10.9.0.0', prefixLength: 24 },
  })
  const stored = await world.create(Subnet, byHand)
  await eventually('the Subnet is known', () => running.caches.subnets.size === 1 || undefined)
  await world.create(ServingLocation, location('dfw'))
  await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv4'] }))
  await world.readyContext(namespace.name, 'net-dfw')
  await eventually('nothing is left to do', () => running.idle() || undefined)
  const move = { op: 'replace', path: '/spec/networkContext/name', value: 'elsewhere' } as const
  await world.client.jsonPatch(Subnet, stored.metadata, [move], by, forever)
  await eventually('the context has a Subnet of its own', () => world.find(Subnet, namespace.name, 'net-dfw-ipv4'))
  await world.readyContext(namespace.name, 'net-dfw')
  assert.equal(running.errors, 0)
})

test("a context made by hand works in any order with its network, stays its maker's, and outlives the network", async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  await world.create(
    NetworkContext,
    aContext({ metadata: { namespace: namespace.name }, spec: { ipFamilies: ['IPv6', 'IPv4'] } }),
  )
  await eventually('it says what it waits for', async () => {
    const ready = condition(await world.find(NetworkContext, namespace.name, 'net-here'), 'Ready')
    return (ready?.status === 'Unknown' && /Network net/.test(ready.message)) || undefined
  })
  await eventually('nothing is tried meanwhile', () => running.idle() || undefined)
  const net = await world.create(Network, network(namespace.name, 'net', { ipFamilies: ['IPv6', 'IPv4'] }))
  const context = await world.readyContext(namespace.name, 'net-here')
  assert.equal(context.metadata.ownerReferences, undefined)
  await world.remove(net, Network)
  await eventually('the network is gone', async () => !(await world.find(Network, namespace.name, 'net')) || undefined)
  assert.equal((await world.find(NetworkContext, namespace.name, 'net-here'))?.metadata.deletionTimestamp, undefined)
  assert.equal((await world.subnetsIn(namespace.name)).length, 2)
  assert.equal(running.errors, 0)
})

test('a range that cannot be used is told, and correcting it is enough', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(namespace.name, 'net', { ipam: { mode: 'Auto', ipv6Range: '10.0.0.0/8' } }))
  await eventually('the network tells', async () => {
    const ready = condition(await world.find(Network, namespace.name, 'net'), 'Ready')
    return ready?.reason === 'RangeUnsupported' || undefined
  })
  await eventually('so does its context', async () => {
    const ready = condition(await world.find(NetworkContext, namespace.name, 'net-dfw'), 'Ready')
    return ready?.reason === 'RangeUnsupported' || undefined
  })
  await world.client.jsonPatch(
    Network,
    net.metadata,
    [{ op: 'replace', path: '/spec/ipam/ipv6Range', value: 'FD00:1::/48' }],
    by,
    forever,
  )
  await world.readyContext(namespace.name, 'net-dfw')
  assert.equal((await world.find(Network, namespace.name, 'net'))?.status?.ipam?.ipv6Prefix, 'fd00:1::/48')
  const subnet = await world.find(Subnet, namespace.name, 'net-dfw-ipv6')
  assert.match(subnet?.spec.startAddress ?? '', /^fd00:1:0:/)
  assert.equal(running.errors, 0)
})

test('a Subnet whose text is no range of its family says so', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using _running = await world.system(namespace.name)
  const wrong = { ipFamily: 'IPv6', startAddress: '10.0.0.0', prefixLength: 24 } as const
  const stored = await world.create(Subnet, aSubnet({ metadata: { namespace: namespace.name, name: 'odd' }, spec: wrong }))
  await eventually('it is not allocated', async () => {
    const subnet = await world.find(Subnet, namespace.name, 'odd')
    return condition(subnet, 'Allocated')?.reason === 'RangeUnsupported' || undefined
  })
  await world.client.jsonPatch(Subnet, stored.metadata, [{ op: 'replace', path: '/spec/ipFamily', value: 'IPv4' }], by, forever)
  await eventually('it is allocated', async () => {
    const subnet = await world.find(Subnet, namespace.name, 'odd')
    return (condition(subnet, 'Allocated')?.status === 'True' && subnet?.status?.startAddress === '10.0.0.0') || undefined
  })
})

test('many networks and contexts at once share no prefix and no block, and the last block of a range is used', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  const cities = Array.from({ length: 16 }, (_, n) => `city-${n}`)
  await Promise.all(cities.map((city) => world.create(ServingLocation, location(city))))
  const tight = { ipam: { mode: 'Auto', ipv4Range: '10.0.0.0/24' }, ipFamilies: ['IPv4'] } as const
  await world.create(Network, network(namespace.name, 'tight', { ...tight, ipFamilies: [...tight.ipFamilies] }))
  await Promise.all(['a', 'b', 'c'].map((name) => world.create(Network, network(namespace.name, name))))
  for (const name of ['a', 'b', 'c', 'tight'])
    await Promise.all(cities.map((city) => world.readyContext(namespace.name, `${name}-${city}`)))
  const subnets = await world.subnetsIn(namespace.name)
  assert.equal(subnets.length, 64)
  assertDisjoint(subnets)
  await world.create(ServingLocation, location('one-more'))
  await eventually('the range has no more room', async () => {
    const ready = condition(await world.find(NetworkContext, namespace.name, 'tight-one-more'), 'Ready')
    return ready?.reason === 'AddressPoolExhausted' || undefined
  })
  const freed = subnets.find(({ metadata }) => metadata.name === 'tight-city-3-ipv4')
  const context = await world.find(NetworkContext, namespace.name, 'tight-city-3')
  assert.ok(freed && context)
  await world.client.remove(ServingLocation, { name: 'city-3' }, {}, forever)
  await world.readyContext(namespace.name, 'tight-one-more')
  assert.equal((await world.find(Subnet, namespace.name, 'tight-one-more-ipv4'))?.spec.startAddress, freed.spec.startAddress)
  assert.equal(running.errors, 0)
})

test('names that no label can carry are no hindrance, and one that no object can bear is told once', async () => {
  await using namespace = await testNamespace(world.plane, 'network')
  await using running = await world.system(namespace.name)
  const place = 'l'.repeat(70)
  await world.create(ServingLocation, location(place))
  const long = await world.create(Network, network(namespace.name, 'n'.repeat(70)))
  const context = await world.readyContext(namespace.name, contextName(long.metadata.name, place))
  assert.deepEqual(context.metadata.labels, { [labels.networkUid]: long.metadata.uid })
  const [subnet] = await world.subnetsIn(namespace.name)
  assert.deepEqual(subnet?.metadata.labels, { [labels.networkUid]: long.metadata.uid })
  const endless = 'n'.repeat(200)
  await world.create(Network, network(namespace.name, endless))
  const told = await eventually('the network says why it is nowhere', async () =>
    condition(await world.find(Network, namespace.name, endless), 'Ready')?.reason === 'AllocationFailed'
      ? world.find(Network, namespace.name, endless)
      : undefined,
  )
  assert.match(condition(told, 'Ready')?.message ?? '', /No NetworkContext can be named n+-l+, longer than 253 characters/)
  await eventually('nothing is left to do', () => running.idle() || undefined)
  assert.equal(running.errors, 0)
  await world.assertAtRest(namespace.name)
})
