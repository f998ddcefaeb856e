/** Claims on a real API server: on their way to Ready, and turned away. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  AddressLease,
  annotations,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment, toyFinalizer } from './toy-plane.ts'
import {
  aClaim,
  aContext,
  aSubnet,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  merge,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, ServingLocation)

let world: World
before(async () => {
  world = await startWorld()
  await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))

/** The test makes an object that only NSO makes. */
const playsNso = (kind: string, namespace: string, name: string) =>
  world.recorder.expect({ kind, namespace, name, path: 'spec', why: 'the test plays NSO' })

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

test('a claim becomes Ready with one write for each hop, one status at Prepared and one at Programmed', async () => {
  const { client, toy } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'first'))
  await ready(namespace, 'first')
  toy.behave({ programs: false })
  const writes = await world.writesDuring(async () => {
    await create(client, aClaim(namespace, 'web-0', { interfaceName: 'net1' }))
    await claimSays(client, namespace, 'web-0', 'Prepared', 'True AttachmentReady')
    await interfaceSays(namespace, 'web-0', 'Prepared', 'True AttachmentReady')
    toy.behave({ programs: true })
    await ready(namespace, 'web-0')
    await interfaceSays(namespace, 'web-0', 'Programmed', 'True ToyProgrammed')
  })
  // Of the first claim, and what is told of it when its network was not seen at once.
  const isOfFirst = ({ name }: { name: string }) => name.split('.')[0] === 'first'
  const own = writes.filter((one) => one.userAgent.startsWith('nso-test') && one.namespace === namespace && !isOfFirst(one))
  assert.deepEqual(
    own.map((one) => `${one.verb} ${one.resource}${one.subresource ? `/${one.subresource}` : ''} ${one.code}`).sort(),
    [
      'create addressleases 201',
      'create networkinterfaces 201',
      'create toyattachments 201',
      'patch networkinterfaceclaims 200',
      'patch networkinterfaceclaims/status 200',
      'patch networkinterfaceclaims/status 200',
      'patch networkinterfaces/status 200',
      'patch networkinterfaces/status 200',
    ],
  )
})

test('claim, interface, lease and attachment agree', async () => {
  const { client } = world
  const namespace = await world.place()
  const made = await create(client, aClaim(namespace, 'web-0'))
  const claim = await ready(namespace, 'web-0')
  // Its status follows the claim's.
  const nic = await eventually('the interface says so too', async () => {
    const found = await find(client, NetworkInterface, namespace, 'web-0')
    return said(found, 'Programmed') === 'True ToyProgrammed' && found
  })
  const [lease, ...others] = await listed(client, AddressLease, namespace)
  const attachment = await find(client, ToyAttachment, namespace, 'web-0')
  assert.ok(lease && attachment)
  assert.deepEqual(others, [])
  const address = { family: 'IPv6', address: lease.spec.address, gateway: 'fd20:0:0:1::1', primary: true }
  assert.deepEqual(nic.spec.addresses, [address])
  assert.deepEqual(claim.status?.addresses, [address])
  assert.equal(nic.metadata.annotations?.[annotations.claimUid], made.metadata.uid)
  assert.equal(lease.spec.holder.claimUID, made.metadata.uid)
  assert.deepEqual(nic.status?.attachmentRef, { apiGroup: 'toy.example.dev', kind: 'ToyAttachment', name: 'web-0' })
  assert.equal(nic.status?.phase, 'Bound')
  assert.equal(attachment.metadata.ownerReferences?.[0]?.uid, nic.metadata.uid)
  assert.deepEqual(attachment.metadata.finalizers, [toyFinalizer])
})

test('two families: the claim’s first is primary, each has its lease', async () => {
  const { client } = world
  const namespace = await world.place({ families: ['IPv6', 'IPv4'] })
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv4', 'IPv6'] }))
  const claim = await ready(namespace, 'web-0')
  assert.deepEqual(
    claim.status?.addresses?.map(({ family, primary }) => [family, primary ?? false]),
    [
      ['IPv4', true],
      ['IPv6', false],
    ],
  )
  assert.equal((await listed(client, AddressLease, namespace)).length, 2)
})

test('an address of a class is external, and stored bare where it is one address', async () => {
  const { client } = world
  const external = { ...aSubnet('IPv4'), subnetClass: 'public', startAddress: '198.51.100.0', prefixLength: 24 }
  const namespace = await world.place({ families: ['IPv4'], subnets: [aSubnet('IPv4'), external] })
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv4'], addresses: [{ class: 'public' }] }))
  const claim = await ready(namespace, 'web-0')
  const [address, ...others] = claim.status?.externalAddresses ?? []
  assert.match(address?.address ?? '', /^198\.51\.100\.\d+$/)
  assert.deepEqual(others, [])
  assert.equal(claim.status?.addresses?.length, 1)
})

test('B14: Prepared needs nothing of what comes after it', async () => {
  const { client, toy } = world
  toy.behave({ programs: false })
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Prepared', 'True AttachmentReady')
  await claimSays(client, namespace, 'web-0', 'Ready', 'False NotProgrammed')
})

test('a data plane that takes its time: an early status says Bound and Allocated, and what the plane says', async () => {
  const { client, toy } = world
  toy.behave({ prepares: false })
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Prepared', 'False ToyNotReady')
  const claim = await claimSays(client, namespace, 'web-0', 'Ready', 'False NotPrepared')
  assert.deepEqual([said(claim, 'Bound'), said(claim, 'Allocated')], ['True Bound', 'True Allocated'])
  toy.behave({ prepares: true })
  await ready(namespace, 'web-0')
})

type Row = {
  says: string
  given: Parameters<World['place']>[0]
  spec?: Parameters<typeof aClaim>[2]
  reason: string
  /** What lets the claim through, without a retry. */
  cure?: (namespace: string) => Promise<unknown>
}

const turnedAway: Row[] = [
  {
    says: 'a network that is not here yet',
    given: { context: false },
    reason: 'NetworkNotAvailableInLocation',
    cure: (namespace) => create(world.client, aContext(namespace)),
  },
  {
    says: 'a network of unknown families',
    given: { families: [], subnets: [aSubnet('IPv6')] },
    reason: 'AddressFamiliesUnknown',
    cure: (namespace) => merge(world.client, NetworkContext, namespace, 'net-here', { spec: { ipFamilies: ['IPv6'] } }),
  },
  {
    says: 'a family that the network does not carry',
    // The subnet stands from the start: of two cures in a row NSO may see the second first.
    given: { families: ['IPv4'], subnets: [aSubnet('IPv6')] },
    reason: 'AddressFamilyNotCarried',
    cure: (namespace) => merge(world.client, NetworkContext, namespace, 'net-here', { spec: { ipFamilies: ['IPv4', 'IPv6'] } }),
  },
  {
    says: 'a family without a subnet yet',
    given: { subnets: [] },
    reason: 'AddressAllocationRejected',
    cure: (namespace) => create(world.client, subnetObject(namespace, 'late')),
  },
  {
    says: 'a class that no subnet offers',
    given: {},
    spec: { addresses: [{ class: 'public' }] },
    reason: 'AddressAllocationRejected',
  },
  {
    says: 'B56: a subnet whose start gives no gateway',
    given: { subnets: [{ ...aSubnet('IPv6'), startAddress: 'not-an-address' }] },
    reason: 'SubnetGatewayUnusable',
    cure: (namespace) => merge(world.client, Subnet, namespace, 'net-here-0', { spec: { startAddress: 'fd20:0:0:1::' } }),
  },
  {
    says: 'a range without a free address',
    given: { families: ['IPv4'], subnets: [{ ...aSubnet('IPv4'), startAddress: '10.0.0.0', prefixLength: 30 }] },
    spec: { ipFamilies: ['IPv4'], networkInterfaceName: 'wanted' },
    reason: 'AddressPoolExhausted',
    cure: (namespace) => merge(world.client, Subnet, namespace, 'net-here-0', { spec: { prefixLength: 24 } }),
  },
]

for (const { says, given, spec, reason, cure } of turnedAway) {
  test(`turned away: ${says}`, async () => {
    const { client } = world
    const namespace = await world.place(given)
    if (reason === 'AddressPoolExhausted') {
      await create(client, aClaim(namespace, 'holder', { ipFamilies: ['IPv4'] }))
      await ready(namespace, 'holder')
    }
    const standing = (await listed(client, AddressLease, namespace)).length
    await create(client, aClaim(namespace, 'web-0', spec))
    const claim = await claimSays(client, namespace, 'web-0', 'Ready', `False ${reason}`)
    assert.deepEqual([said(claim, 'Bound'), said(claim, 'Allocated')], [`False ${reason}`, `False ${reason}`])
    assert.deepEqual([said(claim, 'Prepared'), said(claim, 'Programmed')], ['Unknown Pending', 'Unknown Pending'])
    assert.equal(await find(client, NetworkInterface, namespace, 'web-0'), undefined)
    assert.equal((await listed(client, AddressLease, namespace)).length, standing)
    await eventually('one Warning event says why', async () => (await eventsOf(namespace, 'web-0')).join() === reason)
    if (!cure) return
    await cure(namespace)
    await ready(namespace, 'web-0')
    assert.deepEqual(await eventsOf(namespace, 'web-0'), [reason])
  })
}

test('an interface of another claim is left alone, and taken when its holder lets go of it', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'a', { networkInterfaceName: 'shared' }))
  await ready(namespace, 'a')
  await create(client, aClaim(namespace, 'b', { networkInterfaceName: 'shared' }))
  await claimSays(client, namespace, 'b', 'Bound', 'False InterfaceHeldByAnotherClaim')
  assert.equal((await find(client, NetworkInterface, namespace, 'shared'))?.spec.claimRef?.name, 'a')
  await remove(client, NetworkInterfaceClaim, namespace, 'a')
  await ready(namespace, 'b')
  assert.equal((await find(client, NetworkInterface, namespace, 'shared'))?.spec.claimRef?.name, 'b')
})

test('B32: one claim that can never be served keeps no other waiting', async () => {
  const { client } = world
  const namespace = await world.place()
  // First by name and by time, and its next try is far off.
  await create(client, aClaim(namespace, 'a-bad', { addresses: [{ class: 'none' }] }))
  const bad = await claimSays(client, namespace, 'a-bad', 'Ready', 'False AddressAllocationRejected')
  const good = Array.from({ length: process.env.SOAK === undefined ? 20 : 99 }, (_, at) => `b-${at}`)
  await Promise.all(good.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(good.map((name) => ready(namespace, name)))
  const now = await find(client, NetworkInterfaceClaim, namespace, 'a-bad')
  assert.equal(now?.metadata.resourceVersion, bad.metadata.resourceVersion, 'what the others get is no news of it')
  await eventually('it is told once', async () => (await eventsOf(namespace, 'a-bad')).join() === 'AddressAllocationRejected')
})

test('a bound interface follows MTU, gateway and labels; addresses stay, and each claim stays Ready or becomes it again', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const before = (await ready(namespace, 'web-0')).status?.addresses?.[0]?.address
  await merge(client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1500 } })
  await merge(client, Subnet, namespace, 'net-here-0', { spec: { startAddress: 'fd20:0:0:1::10' } })
  await merge(client, NetworkInterfaceClaim, namespace, 'web-0', {
    metadata: { labels: { 'compute.datumapis.com/workload-name': 'web', other: 'no' } },
  })
  await eventually('the interface is in step', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    const { 'networking.datumapis.com/location': at, ...labels } = nic?.metadata.labels ?? {}
    assert.deepEqual(
      { mtu: nic?.spec.mtu, gateway: nic?.spec.addresses?.[0]?.gateway, address: nic?.spec.addresses?.[0]?.address, labels, at },
      {
        mtu: 1500,
        gateway: 'fd20:0:0:1::11',
        address: before,
        labels: { 'compute.datumapis.com/workload-name': 'web' },
        at: 'here',
      },
    )
    return true
  })
  await eventually('B12: its conditions are those of its new generation', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    return nic?.status?.conditions?.every((one) => one.observedGeneration === nic.metadata.generation)
  })
  await eventually('the attachment follows', async () => {
    const attachment = await find(client, ToyAttachment, namespace, 'web-0')
    return (attachment?.spec as { mtu?: number } | undefined)?.mtu === 1500
  })
  await ready(namespace, 'web-0')
})

test('a lease that is taken away is put back, and the claim stays Ready', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  const [lease] = await listed(client, AddressLease, namespace)
  assert.ok(lease)
  await remove(client, AddressLease, namespace, lease.metadata.name)
  await eventually('the lease stands again', async () => {
    const now = await find(client, AddressLease, namespace, lease.metadata.name)
    return now && now.metadata.uid !== lease.metadata.uid
  })
  await ready(namespace, 'web-0')
})

test('an address that someone else holds is reported: Allocated is lost, Bound and the address stay', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const before = await ready(namespace, 'web-0')
  const [lease] = await listed(client, AddressLease, namespace)
  assert.ok(lease)
  const { uid = '' } = (await create(client, aClaim(namespace, 'thief', { network: { name: 'elsewhere' } }))).metadata
  const foreign = {
    ...lease,
    metadata: { name: lease.metadata.name, namespace },
    spec: { ...lease.spec, holder: { claimName: 'thief', claimUID: uid, family: 'IPv6' as const } },
  }
  playsNso('AddressLease', namespace, lease.metadata.name)
  // NSO puts the lease back at once: the thief tries until it is the first.
  await eventually('the thief has it', async () => {
    await client.remove(AddressLease, lease.metadata, {}, AbortSignal.timeout(5_000)).catch(() => {})
    return create(client, foreign).catch(() => undefined)
  })
  const claim = await claimSays(client, namespace, 'web-0', 'Allocated', 'False AddressAllocationMissing')
  assert.deepEqual([said(claim, 'Bound'), said(claim, 'Ready')], ['True Bound', 'False NotAllocated'])
  assert.deepEqual(claim.status?.addresses, before.status?.addresses)
  await interfaceSays(namespace, 'web-0', 'Allocated', 'False AddressAllocationMissing')
  await eventually('an event tells of the loss', async () =>
    (await eventsOf(namespace, 'web-0')).includes('AddressAllocationMissing'),
  )
  await remove(client, AddressLease, namespace, lease.metadata.name)
  await ready(namespace, 'web-0')
})

test('an annotation on a settled claim causes no write', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await settled(namespace)
  const writes = await world.writesDuring(async () => {
    await client.jsonPatch(
      NetworkInterfaceClaim,
      { name: 'web-0', namespace },
      [{ op: 'add', path: '/metadata/annotations', value: { note: 'x' } }],
      { fieldManager: 'test' },
      AbortSignal.timeout(5_000),
    )
    await settled(namespace)
  })
  assert.deepEqual(
    writes.filter((one) => one.userAgent.startsWith('nso-test') && one.namespace === namespace),
    [],
  )
})

test('both statuses say where their reports come from; what others write on that object changes nothing', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const claim = await ready(namespace, 'web-0')
  await settled(namespace)
  const attachment = await find(client, ToyAttachment, namespace, 'web-0')
  const { uid, generation } = attachment?.metadata ?? {}
  const object = { apiVersion: 'toy.example.dev/v1', kind: 'ToyAttachment', name: 'web-0', uid }
  const reported = { dataPlane: 'toy', object, generation, manager: 'toy-plane' }
  const sources = [
    { type: 'Prepared', ...reported, condition: 'Ready' },
    { type: 'Programmed', ...reported, condition: 'Programmed' },
  ]
  assert.deepEqual(claim.status?.conditionSources, sources)
  assert.deepEqual((await find(client, NetworkInterface, namespace, 'web-0'))?.status?.conditionSources, sources)

  const writes = await world.writesDuring(async () => {
    const at = { name: 'web-0', namespace }
    const labels = [{ op: 'add', path: '/metadata/labels', value: { team: 'x' } }] as const
    await client.jsonPatch(ToyAttachment, at, labels, { fieldManager: 'another' }, AbortSignal.timeout(5_000))
    await settled(namespace)
  })
  assert.deepEqual(
    writes.filter((one) => one.userAgent.startsWith('nso-test') && one.namespace === namespace),
    [],
  )
})

test('a lease that a claim holds and its interface does not list is given back', async () => {
  const { client } = world
  const namespace = await world.place()
  const { uid = '' } = (await create(client, aClaim(namespace, 'web-0'))).metadata
  await ready(namespace, 'web-0')
  const surplus = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'AddressLease',
    metadata: { name: 'net.fd20000000000001000000ff00000000', namespace },
    spec: {
      network: { name: 'net' },
      networkContext: { name: 'net-here' },
      family: 'IPv6' as const,
      address: 'fd20:0:0:1:0:ff::/96',
      holder: { claimName: 'web-0', claimUID: uid, family: 'IPv6' as const },
    },
  }
  playsNso('AddressLease', namespace, surplus.metadata.name)
  await create(client, surplus)
  await eventually('the surplus is gone', async () => !(await find(client, AddressLease, namespace, surplus.metadata.name)))
  await ready(namespace, 'web-0')
  assert.equal((await listed(client, AddressLease, namespace)).length, 1)
})

test('a lease of a claim that never was is given back', async () => {
  const { client } = world
  const namespace = await world.place()
  const stray = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'AddressLease',
    metadata: { name: 'net.fd20000000000001000000fe00000000', namespace },
    spec: {
      network: { name: 'net' },
      networkContext: { name: 'net-here' },
      family: 'IPv6' as const,
      address: 'fd20:0:0:1:0:fe::/96',
      holder: { claimName: 'nobody', claimUID: 'nobody-uid', family: 'IPv6' as const },
    },
  }
  playsNso('AddressLease', namespace, stray.metadata.name)
  await create(client, stray)
  await eventually('it is gone', async () => !(await find(client, AddressLease, namespace, stray.metadata.name)))
})

test('settled claims are written to by nobody', async () => {
  const { client } = world
  const namespace = await world.place()
  const names = Array.from({ length: 10 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  await settled(namespace)
  // As long as it takes others to come up and go.
  const elsewhere = await world.place()
  const writes = await world.writesDuring(async () => {
    await create(client, aClaim(elsewhere, 'web-0'))
    await ready(elsewhere, 'web-0')
    await remove(client, NetworkInterfaceClaim, elsewhere, 'web-0')
    await gone(client, NetworkInterfaceClaim, elsewhere, 'web-0')
    await settled(namespace)
  })
  const own = writes.filter((one) => one.userAgent.startsWith('nso-test'))
  assert.ok(own.some((one) => one.namespace === elsewhere))
  assert.deepEqual(
    own.filter((one) => one.namespace !== elsewhere && one.resource !== 'events').map((one) => `${one.verb} ${one.uri}`),
    [],
  )
})

/** Until nothing in the namespace moves any more: the same versions at two looks. */
async function settled(namespace: string): Promise<void> {
  let last = ''
  await eventually(
    'nothing moves',
    async () => {
      const all = [
        ...(await listed(world.client, NetworkInterfaceClaim, namespace)),
        ...(await listed(world.client, NetworkInterface, namespace)),
        ...(await listed(world.client, ToyAttachment, namespace)),
      ]
      const now = all.map(({ metadata }) => metadata.resourceVersion).join()
      const same = now === last
      last = now
      return same
    },
    { everyMs: 400 },
  )
}

function subnetObject(namespace: string, name: string): Subnet {
  return { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'Subnet', metadata: { name, namespace }, spec: aSubnet('IPv6') }
}

function interfaceSays(namespace: string, name: string, type: string, what: string) {
  return eventually(`interface ${name} says ${type} ${what}`, async () => {
    assert.equal(said(await find(world.client, NetworkInterface, namespace, name), type), what)
    return true
  })
}

type Event = { type: string; reason: string; regarding: { kind: string; name: string } }

async function eventsOf(namespace: string, name: string): Promise<string[]> {
  const list = await world.plane.connection.must({ method: 'GET', path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events` })
  const { items } = list as { items: Event[] }
  return items.filter(({ regarding, type }) => regarding.name === name && type === 'Warning').map(({ reason }) => reason)
}
