/** The built-in allocator on the real API server: the contract, and what only this adapter promises. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  AddressLease,
  contextName,
  finalizers,
  labels,
  managers,
  NetworkInterface,
  type NetworkInterfaceClaim,
  nsoAccount,
  nsoManifests,
  type Subnet,
} from '@nso/api'
import { type ApiRequest, keyFor, type Transport, WriteRaced } from 'kube-control-loop'
import { type Recorder, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { eventually, sharedPlane, testNamespace } from 'kube-localplane/testing'
import { createBuiltinAllocator } from '../src/addresses/builtin.ts'
import { readBlock } from '../src/addresses/cidr.ts'
import { type AllocatorWorld, allocatorCases, assertRefused } from '../src/addresses/contract.ts'
import { leaseFor } from '../src/addresses/lease.ts'
import { leaseCases } from './lease-cases.ts'
import { aClaim, aContext, anInterface, aSubnet } from './objects.ts'
import { transportTo, type View, viewOf } from './server.ts'
import { auditBodies, record } from './support/record.ts'

const stop = new AbortController()
let transport: Transport
/** What the allocator may do: NSO's own account. */
let asNso: Transport
let plane: Awaited<ReturnType<typeof sharedPlane>>
let recorder: Recorder

before(async () => {
  plane = await sharedPlane({ auditBodies })
  const { crds, rbac } = nsoManifests()
  await plane.apply([...crds, ...rbac])
  recorder = await record(plane, { inNamespace: (name) => name.startsWith('addresses-') })
  transport = transportTo(plane.kubeconfigPath)
  asNso = transportTo(await plane.kubeconfigFor({ serviceAccount: nsoAccount }))
})
after(async () => {
  stop.abort()
  await asNso.close()
  await transport.close()
  await recorder[Symbol.asyncDispose]()
})

/** One more process's worth of caches and allocator. */
async function another(namespace: string, over: Transport = asNso) {
  const view = await viewOf(over, { namespace, signal: stop.signal, names: ['leases', 'interfaces'] })
  return { view, allocator: createBuiltinAllocator(view.environment, view.caches) }
}

async function heldIn(view: View, namespace: string): Promise<string[]> {
  const { items } = await view.client.list(AddressLease, { namespace }, stop.signal)
  return items.map((lease) => lease.spec.address).sort()
}

function subnetIn(namespace: string, name: string, range: string, subnetClass = 'private'): Subnet {
  const [startAddress = '', length] = range.split('/')
  const block = readBlock(range)
  assert.ok(block, range)
  const spec = { subnetClass, ipFamily: block.family, startAddress, prefixLength: Number(length) }
  return aSubnet({ metadata: { name, namespace }, spec })
}

function claimIn(namespace: string, name: string, spec: Partial<NetworkInterfaceClaim['spec']> = {}): NetworkInterfaceClaim {
  return aClaim({ metadata: { name, namespace, uid: `${namespace}-${name}` }, spec: { ipFamilies: ['IPv6', 'IPv4'], ...spec } })
}

function interfaceOf(
  claim: NetworkInterfaceClaim,
  addresses: readonly string[],
  external: readonly { address: string; class: string }[] = [],
): NetworkInterface {
  const { name, namespace = '', uid = '' } = claim.metadata
  return anInterface({
    metadata: {
      name,
      namespace,
      annotations: { 'networking.datumapis.com/allocation-claim': name, 'networking.datumapis.com/claim-uid': uid },
    },
    spec: {
      claimRef: { name },
      addresses: addresses.map((address, n) => ({ family: readBlock(address)?.family ?? 'IPv6', address, primary: n === 0 })),
      externalAddresses: external.map((each) => ({ family: readBlock(each.address)?.family ?? 'IPv6', ...each })),
    },
  })
}

for (const each of [...allocatorCases, ...leaseCases]) {
  test(`contract, built-in: ${each.name}`, async () => {
    await using namespace = await testNamespace(plane, 'addresses')
    const { name } = namespace
    const views = new Map<object, View>()
    const first = await another(name)
    const world: AllocatorWorld = {
      context: aContext({ metadata: { namespace: name } }),
      async allocator() {
        const made = await another(name)
        views.set(made.allocator, made.view)
        return made.allocator
      },
      claim: (claim, spec) => claimIn(name, claim, spec),
      many: 99,
      range: async (subnet, range, subnetClass) => subnetIn(name, subnet, range, subnetClass),
      interface: interfaceOf,
      held: () => heldIn(first.view, name),
      async lose(allocator, cidr) {
        const { items } = await first.view.client.list(AddressLease, { namespace: name }, stop.signal)
        const lease = items.find(({ spec }) => spec.address === cidr)
        assert.ok(lease, `${cidr} is held`)
        await first.view.client.remove(AddressLease, lease.metadata, {}, stop.signal)
        const seen = views.get(allocator)?.caches.leases
        await eventually('the loss is seen', () => seen?.get(keyFor(lease.metadata.name, name)) === undefined || undefined)
      },
    }
    await each.run(world)
  })
}

const ipv4 = { family: 'IPv4' } as const

test('a lease is named after context and address, and says who holds it', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const { allocator, view } = await another(namespace.name)
  const context = aContext({ metadata: { namespace: namespace.name } })
  const claim = claimIn(namespace.name, 'a')
  const subnets = [subnetIn(namespace.name, 'v4', '10.0.0.0/30')]
  await allocator.allocate({ claim, context, subnets, wants: [ipv4] }, stop.signal)
  const { items } = await view.client.list(AddressLease, { namespace: namespace.name }, stop.signal)
  assert.deepEqual(
    items.map(({ metadata, spec }) => ({ name: metadata.name, owners: metadata.ownerReferences, spec })),
    [
      {
        name: 'net.10-0-0-2',
        owners: undefined,
        spec: {
          network: { name: 'net' },
          networkContext: { name: 'net-here' },
          subnet: { name: 'v4' },
          family: 'IPv4',
          address: '10.0.0.2/32',
          holder: { claimName: 'a', claimUID: claim.metadata.uid, family: 'IPv4' },
        },
      },
    ],
  )
})

test('B43: an address that a live interface lists is given to nobody, also after a restart and though its lease is gone', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const { view } = await another(namespace.name)
  const holder = claimIn(namespace.name, 'a')
  const nic = interfaceOf(holder, ['10.0.0.2/32'])
  const { uid: _, resourceVersion: __, generation: ___, ...metadata } = nic.metadata
  const labelled = { ...metadata, labels: { [labels.location]: 'here' }, finalizers: [finalizers.interface] }
  const stored = await view.client.create(
    NetworkInterface,
    { ...nic, metadata: labelled },
    { fieldManager: managers.claim },
    stop.signal,
  )
  await view.client.remove(NetworkInterface, stored.metadata, {}, stop.signal)
  const restarted = await another(namespace.name)
  assert.equal(contextName('net', 'here'), 'net-here')
  const request = {
    claim: claimIn(namespace.name, 'b'),
    context: aContext({ metadata: { namespace: namespace.name } }),
    subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/30')],
    wants: [ipv4],
  }
  const answer = await restarted.allocator.allocate(request, stop.signal)
  assert.equal(answer.kind === 'refused' && answer.reason, 'AddressPoolExhausted')
  const path = [{ op: 'remove', path: '/metadata/finalizers' } as const]
  await view.client.jsonPatch(NetworkInterface, stored.metadata, path, { fieldManager: managers.interface }, stop.signal)
  await eventually('the interface is gone', () => [...restarted.view.caches.interfaces.values()].length === 0 || undefined)
  assert.equal((await restarted.allocator.allocate(request, stop.signal)).kind, 'allocated')
})

test('B36: a lease that comes and goes before the answer to its POST leaves no reservation, and its address is free again', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const script = scriptTransport(asNso)
  const { allocator, view } = await another(namespace.name, script)
  const context = aContext({ metadata: { namespace: namespace.name } })
  const request = {
    claim: claimIn(namespace.name, 'a'),
    context,
    subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/30')],
    wants: [ipv4],
  }
  const hold = script.on({ method: 'POST', path: /addressleases$/ }).holdAnswer()
  const pending = allocator.allocate(request, stop.signal)
  await hold.arrived()
  assert.equal(allocator.reserved, 1)
  const key = keyFor('net.10-0-0-2', namespace.name)
  const lease = await eventually('the lease is seen', () => view.caches.leases.get(key))
  await view.client.remove(AddressLease, lease.metadata, {}, stop.signal)
  await eventually('its end is seen', () => view.caches.leases.get(key) === undefined || undefined)
  hold.release()
  await pending
  assert.equal(allocator.reserved, 0)
  assert.equal(view.caches.leases.get(key), undefined)
  const next = await allocator.allocate({ ...request, claim: claimIn(namespace.name, 'b') }, stop.signal)
  assert.deepEqual(next.kind === 'allocated' && next.addresses.map(({ cidr }) => cidr), ['10.0.0.2/32'])
})

for (const code of [422, 500]) {
  test(`one of two leases that is not made (${code}) takes the other back`, () => oneIsNotMade(code))
}

/** What the API server refuses in words is an answer; a fault that may pass stays one. */
async function oneIsNotMade(code: number) {
  await using namespace = await testNamespace(plane, 'addresses')
  const script = scriptTransport(asNso)
  const { allocator, view } = await another(namespace.name, script)
  const subnets = [subnetIn(namespace.name, 'v4', '10.0.0.0/24'), subnetIn(namespace.name, 'v6', 'fd20::/64')]
  const request = {
    claim: claimIn(namespace.name, 'a'),
    context: aContext({ metadata: { namespace: namespace.name } }),
    subnets,
    wants: [ipv4, { family: 'IPv6' } as const],
  }
  const isIpv6 = ({ body }: ApiRequest) => JSON.stringify(body).includes('IPv6')
  script.on({ method: 'POST', path: /addressleases$/, where: isIpv6 }).answer(async () => {
    // The other POST is through by then: what is taken back was really there.
    await eventually('the other lease stands', async () => (await heldIn(view, namespace.name)).length === 1 || undefined)
    return statusAnswer(code, 'Invalid', 'a policy refuses it', { causes: [{ field: 'spec', message: 'refused' }] })
  })
  const pending = allocator.allocate(request, stop.signal)
  if (code === 500) await assert.rejects(pending, /a policy refuses it/)
  else assertRefused(await pending, 'AllocationFailed', /a policy refuses it/)
  assert.deepEqual(await heldIn(view, namespace.name), [])
  assert.equal(allocator.reserved, 0)
  assert.equal((await allocator.allocate(request, stop.signal)).kind, 'allocated')
}

test('a POST whose answer never came is found by the release, though no event has told of it', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const script = scriptTransport(asNso)
  const { allocator, view } = await another(namespace.name, script)
  const claim = claimIn(namespace.name, 'a')
  const request = {
    claim,
    context: aContext({ metadata: { namespace: namespace.name } }),
    subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/24')],
    wants: [ipv4],
  }
  const hold = script.on({ method: 'POST', path: /addressleases$/ }).holdAnswer()
  const giveUp = new AbortController()
  const pending = allocator.allocate(request, giveUp.signal)
  await hold.arrived()
  const [address] = await eventually('it is stored', async () => {
    const held = await heldIn(view, namespace.name)
    return held.length === 1 ? held : undefined
  })
  giveUp.abort(new Error('the pass took too long'))
  await assert.rejects(pending)
  const lease = [...view.caches.leases.values()][0]
  if (lease) view.caches.leases.absorbGone(lease)
  await allocator.releaseClaim({ namespace: namespace.name, name: 'a', uid: claim.metadata.uid ?? '' }, stop.signal)
  assert.deepEqual(await heldIn(view, namespace.name), [], `${address} was given back`)
})

test('no address is handed out before all holders are known', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const view = await viewOf(asNso, { namespace: namespace.name, signal: stop.signal, names: ['leases'] })
  const allocator = createBuiltinAllocator(view.environment, view.caches)
  const request = {
    claim: claimIn(namespace.name, 'a'),
    context: aContext({ metadata: { namespace: namespace.name } }),
    subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/24')],
    wants: [ipv4],
  }
  await assert.rejects(allocator.allocate(request, stop.signal), /networkinterfaces are not listed/)
  assert.deepEqual(await heldIn(view, namespace.name), [])
})

test('two controllers that find one lease missing share one POST', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const script = scriptTransport(asNso)
  const { allocator, view } = await another(namespace.name, script)
  const claim = claimIn(namespace.name, 'a')
  const given = {
    interface: interfaceOf(claim, ['10.0.0.2/32']),
    context: aContext({ metadata: { namespace: namespace.name } }),
    subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/24')],
  }
  const answers = await Promise.all([allocator.verify(given, stop.signal), allocator.verify(given, stop.signal)])
  assert.deepEqual(answers, [{ kind: 'standing' }, { kind: 'standing' }])
  assert.equal(script.sent({ method: 'POST' }).length, 1)
  assert.deepEqual(await heldIn(view, namespace.name), ['10.0.0.2/32'])
})

test('a retained interface that a later claim holds keeps the addresses of the first, and gives them back', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const { allocator, view } = await another(namespace.name)
  const context = aContext({ metadata: { namespace: namespace.name } })
  const subnets = [subnetIn(namespace.name, 'v4', '10.0.0.0/24')]
  const first = claimIn(namespace.name, 'a')
  const answer = await allocator.allocate({ claim: first, context, subnets, wants: [ipv4] }, stop.signal)
  const cidrs = answer.kind === 'allocated' ? answer.addresses.map(({ cidr }) => cidr) : []
  const again = interfaceOf({ ...first, metadata: { ...first.metadata, uid: 'a-made-again' } }, cidrs)
  assert.deepEqual(await allocator.verify({ interface: again, context, subnets }, stop.signal), { kind: 'standing' })
  assert.deepEqual(await heldIn(view, namespace.name), cidrs)
  await allocator.releaseInterface(again, stop.signal)
  assert.deepEqual(await heldIn(view, namespace.name), [])
})

test('B48: an address that no Subnet of the context contains any more is told as out of range, and stands', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const { allocator, view } = await another(namespace.name)
  const context = aContext({ metadata: { namespace: namespace.name } })
  const wide = [subnetIn(namespace.name, 'v4', '10.0.0.0/28')]
  const claim = claimIn(namespace.name, 'a')
  const nic = interfaceOf(claim, ['::ffff:10.0.0.10'])
  const verified = (given: { context: typeof context | undefined; subnets: readonly Subnet[] }) =>
    allocator.verify({ interface: nic, ...given }, stop.signal)
  assert.deepEqual(await verified({ context, subnets: wide }), { kind: 'standing' })
  const outside = { kind: 'standing', outOfRange: ['::ffff:10.0.0.10'] }
  assert.deepEqual(await verified({ context, subnets: [subnetIn(namespace.name, 'v4', '10.0.0.0/29')] }), outside)
  assert.deepEqual(await verified({ context, subnets: [] }), outside)
  assert.deepEqual(await verified({ context: undefined, subnets: [] }), { kind: 'standing' }, 'nothing is known of its Subnets')
  assert.deepEqual(await heldIn(view, namespace.name), ['10.0.0.10/32'])
})

test('B48: two contexts of one network whose Subnets overlap never hand out one address twice, two networks do', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const [here, there] = await Promise.all([another(namespace.name), another(namespace.name)])
  const at = (name: string, network: string) =>
    aContext({ metadata: { name, namespace: namespace.name }, spec: { network: { name: network }, location: { name: 'x' } } })
  const subnetOf = (context: string) => {
    const subnet = subnetIn(namespace.name, `${context}-v4`, '10.0.0.0/28')
    return { ...subnet, spec: { ...subnet.spec, networkContext: { name: context } } }
  }
  const ask = async (by: typeof here, network: string, context: string, n: number) => {
    const claim = claimIn(namespace.name, `${context}-${n}`, { network: { name: network } })
    const request = { claim, context: at(context, network), subnets: [subnetOf(context)], wants: [ipv4] }
    for (let tries = 0; tries < 50; tries += 1) {
      const answer = await by.allocator.allocate(request, stop.signal).catch((error: unknown) => {
        if (!(error instanceof WriteRaced)) throw error
      })
      if (answer) return answer.kind === 'allocated' ? answer.addresses.map(({ cidr }) => cidr) : [answer.reason]
    }
    throw new Error('fifty lost races in a row')
  }
  const asked = Array.from({ length: 8 }, (_, n) => [ask(here, 'net', 'net-here', n), ask(there, 'net', 'net-there', n)])
  const answers = (await Promise.all(asked.flat())).flat()
  const addresses = answers.filter((one) => one.startsWith('10.'))
  assert.equal(addresses.length, 13)
  assert.equal(new Set(addresses).size, 13)
  assert.deepEqual(new Set(answers.filter((one) => !one.startsWith('10.'))), new Set(['AddressPoolExhausted']))
  const others = await Promise.all(Array.from({ length: 13 }, (_, n) => ask(here, 'other', 'other-here', n)))
  assert.deepEqual(new Set(others.flat()), new Set(addresses))
})

test('a lease made by hand whose name and address differ keeps both, and holds up nobody', async () => {
  await using namespace = await testNamespace(plane, 'addresses')
  const { allocator, view } = await another(namespace.name)
  const context = aContext({ metadata: { namespace: namespace.name } })
  const odd = leaseFor(
    { network: 'net', context: context.metadata, unit: readBlock('10.0.0.2') ?? assert.fail() },
    { claimName: 'hand', claimUID: 'hand', request: ipv4 },
  )
  const made = { ...odd, spec: { ...odd.spec, address: '10.0.0.4/32' } }
  await view.client.create(AddressLease, made, { fieldManager: managers.claim }, stop.signal)
  await eventually('it is seen', () => [...view.caches.leases.values()].length === 1)
  const subnets = [subnetIn(namespace.name, 'v4', '10.0.0.0/29')]
  const answers = []
  for (const name of ['a', 'b', 'c', 'd']) {
    answers.push(await allocator.allocate({ claim: claimIn(namespace.name, name), context, subnets, wants: [ipv4] }, stop.signal))
  }
  assert.deepEqual(
    answers
      .map((answer) => (answer.kind === 'allocated' ? answer.addresses.map(({ cidr }) => cidr).join() : answer.reason))
      .sort(),
    ['10.0.0.3/32', '10.0.0.5/32', '10.0.0.6/32', 'AddressPoolExhausted'],
  )
  assert.equal(allocator.reserved, 0)
})
