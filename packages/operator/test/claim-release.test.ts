/** Claims and interfaces going away, on a real API server: what is given back, when, and what is kept. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { AddressLease, DataPlane, finalizers, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { Kind } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
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
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane)

let world: World
before(async () => {
  world = await startWorld()
  await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

/** Nothing of a claim is left: no claim, interface, attachment or lease in the namespace. */
async function nothingLeft(namespace: string): Promise<void> {
  await eventually('nothing is left', async () => {
    for (const kind of [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, AddressLease] as Kind[]) {
      const left = await listed(world.client, kind, namespace)
      assert.deepEqual(
        left.map(({ kind: is, metadata }) => `${is} ${metadata.name} (${metadata.finalizers?.join()})`),
        [],
      )
    }
    return true
  })
}

async function addressesOf(namespace: string, name: string): Promise<string[]> {
  const nic = await find(world.client, NetworkInterface, namespace, name)
  return [...(nic?.spec.addresses ?? []), ...(nic?.spec.externalAddresses ?? [])].map(({ address }) => address)
}

test('Delete: interface, attachment and addresses go with the claim', async () => {
  const { client } = world
  const namespace = await world.place({ families: ['IPv6', 'IPv4'] })
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv6', 'IPv4'] }))
  await ready(namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
})

test('a retained interface that another claim took, deleted by hand: the addresses of its first claim come back', async () => {
  const { client } = world
  const namespace = await world.place()
  const retained = { reclaimPolicy: 'Retain', networkInterfaceName: 'nic' } as const
  await create(client, aClaim(namespace, 'first', retained))
  await ready(namespace, 'first')
  await remove(client, NetworkInterfaceClaim, namespace, 'first')
  await gone(client, NetworkInterfaceClaim, namespace, 'first')
  await create(client, aClaim(namespace, 'second', retained))
  await ready(namespace, 'second')
  const before = await find(client, NetworkInterface, namespace, 'nic')
  await remove(client, NetworkInterface, namespace, 'nic')
  await eventually('what is leased is what the new interface lists', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'nic')
    const leased = (await listed(client, AddressLease, namespace)).map(({ spec }) => spec.address)
    assert.deepEqual(leased, await addressesOf(namespace, 'nic'))
    return nic !== undefined && nic.metadata.uid !== before?.metadata.uid
  })
  await ready(namespace, 'second')
})

test('B42: Retain keeps interface and addresses for the next claim, and gives them back with the interface', async () => {
  const { client } = world
  const namespace = await world.place()
  const retain = { reclaimPolicy: 'Retain' } as const
  await create(client, aClaim(namespace, 'web-0', retain))
  await ready(namespace, 'web-0')
  const addresses = await addressesOf(namespace, 'web-0')
  const first = await find(client, NetworkInterface, namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  const free = await eventually('the interface is free', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    return nic?.status?.phase === 'Available' && nic
  })
  assert.equal(free.spec.claimRef, undefined)
  assert.equal(free.status?.attachmentRef, undefined)
  assert.equal(await find(client, ToyAttachment, namespace, 'web-0'), undefined)
  assert.deepEqual([said(free, 'Prepared'), said(free, 'Programmed')], ['Unknown Pending', 'Unknown Pending'])

  await create(client, aClaim(namespace, 'other', { networkInterfaceName: 'web-0' }))
  await claimSays(client, namespace, 'other', 'Bound', 'False ReclaimPolicyMismatch')
  await remove(client, NetworkInterfaceClaim, namespace, 'other')
  await gone(client, NetworkInterfaceClaim, namespace, 'other')

  await create(client, aClaim(namespace, 'web-0', retain))
  await ready(namespace, 'web-0')
  assert.deepEqual(await addressesOf(namespace, 'web-0'), addresses)
  assert.equal((await find(client, NetworkInterface, namespace, 'web-0'))?.metadata.uid, first?.metadata.uid)
  assert.equal((await listed(client, AddressLease, namespace)).length, 1)

  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  await remove(client, NetworkInterface, namespace, 'web-0')
  await nothingLeft(namespace)

  // Name, address and range are free: for another policy, which gives them back at once, and for the end of the range.
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
  await remove(client, Subnet, namespace, 'net-here-0')
  await gone(client, Subnet, namespace, 'net-here-0')
})

test('a retained interface is not taken before its attachment is gone', async () => {
  const { client, toy } = world
  const namespace = await world.place()
  const retain = { reclaimPolicy: 'Retain' } as const
  await create(client, aClaim(namespace, 'web-0', retain))
  await ready(namespace, 'web-0')
  toy.behave({ letsGo: false })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  await create(client, aClaim(namespace, 'web-0', retain))
  const waits = await claimSays(client, namespace, 'web-0', 'Ready', 'Unknown NotBound')
  assert.equal(waits.status?.addresses, undefined)
  assert.equal((await find(client, NetworkInterface, namespace, 'web-0'))?.spec.claimRef, undefined)
  toy.behave({ letsGo: true })
  await ready(namespace, 'web-0')
})

for (const reclaimPolicy of ['Delete', 'Retain'] as const) {
  test(`B35: a claim made again (${reclaimPolicy}) while the old interface is going waits, and never reports its addresses`, async () => {
    const { client, toy } = world
    const namespace = await world.place()
    await create(client, aClaim(namespace, 'web-0', { reclaimPolicy }))
    await ready(namespace, 'web-0')
    const old = await find(client, NetworkInterface, namespace, 'web-0')
    toy.behave({ letsGo: false })
    await remove(client, NetworkInterface, namespace, 'web-0')
    await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
    // The finalizer is the fence of late writes: it is taken away by force only when the last one of this life has been made.
    await eventually('the old claim says what it waits for', async () => {
      const going = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
      return going?.status?.conditions?.some(({ message }) => message.startsWith('Deletion waits')) || undefined
    })
    await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
    await eventually('the claim is made again', () =>
      create(client, aClaim(namespace, 'web-0', { reclaimPolicy })).catch(() => undefined),
    )
    const waits = await claimSays(client, namespace, 'web-0', 'Bound', 'Unknown Pending')
    assert.deepEqual([waits.status?.addresses, waits.status?.networkInterfaceRef], [undefined, undefined])
    toy.behave({ letsGo: true })
    await ready(namespace, 'web-0')
    const now = await find(client, NetworkInterface, namespace, 'web-0')
    assert.notEqual(now?.metadata.uid, old?.metadata.uid)
    assert.equal((await listed(client, AddressLease, namespace)).length, 1)
  })
}

test('an interface deleted under a live claim is made again with the same addresses', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  const [old, addresses] = [await find(client, NetworkInterface, namespace, 'web-0'), await addressesOf(namespace, 'web-0')]
  const [lease] = await listed(client, AddressLease, namespace)
  await remove(client, NetworkInterface, namespace, 'web-0')
  await eventually('another interface stands', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    return nic && nic.metadata.uid !== old?.metadata.uid
  })
  await ready(namespace, 'web-0')
  assert.deepEqual(await addressesOf(namespace, 'web-0'), addresses)
  assert.deepEqual(
    (await listed(client, AddressLease, namespace)).map(({ metadata }) => metadata.uid),
    [lease?.metadata.uid],
  )
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
})

test('interface and claim deleted at once: whichever is first, nothing stays', async () => {
  const { client } = world
  const namespace = await world.place()
  const names = Array.from({ length: 6 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  await Promise.all(
    names.flatMap((name, at) => {
      const both = [
        () => remove(client, NetworkInterface, namespace, name),
        () => remove(client, NetworkInterfaceClaim, namespace, name),
      ]
      return (at % 2 ? both : both.reverse()).map((call) => call())
    }),
  )
  await nothingLeft(namespace)
})

test('B37: a claim deleted within milliseconds of its creation leaves nothing', async () => {
  const { client } = world
  const namespace = await world.place()
  const names = Array.from({ length: 12 }, (_, at) => `web-${at}`)
  await Promise.all(
    names.map(async (name, at) => {
      await create(client, aClaim(namespace, name))
      await new Promise((resolve) => setTimeout(resolve, at * 4))
      await remove(client, NetworkInterfaceClaim, namespace, name)
    }),
  )
  await nothingLeft(namespace)
})

test('B38: deletion needs no network context, subnet or data plane', async () => {
  const { client, plane } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await remove(client, Subnet, namespace, 'net-here-0')
  await remove(client, NetworkContext, namespace, 'net-here')
  await strip(world, NetworkContext, namespace, 'net-here').catch(() => {})
  await removeByForce('toy')
  try {
    await claimSays(client, namespace, 'web-0', 'Prepared', 'False NoDataPlane')
    await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
    await nothingLeft(namespace)
  } finally {
    await plane.apply([toyManifests().plane] as never)
  }
})

/** While it serves, only force ends it. */
async function removeByForce(dataPlane: string): Promise<void> {
  await remove(world.client, DataPlane, undefined, dataPlane)
  await strip(world, DataPlane, undefined, dataPlane)
}

test('a DataPlane that is made again under its name takes its interfaces up again', async () => {
  const { client, plane } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  const attachment = await find(client, ToyAttachment, namespace, 'web-0')
  await removeByForce('toy')
  await claimSays(client, namespace, 'web-0', 'Ready', 'False NotPrepared')
  await plane.apply([toyManifests().plane] as never)
  await ready(namespace, 'web-0')
  assert.equal((await find(client, ToyAttachment, namespace, 'web-0'))?.metadata.uid, attachment?.metadata.uid)
})

test('B12: a claim whose deletion something holds up says what it waits for, for its new generation', async () => {
  const { client, toy } = world
  const namespace = await world.place()
  const held = aClaim(namespace, 'web-0')
  await create(client, { ...held, metadata: { ...held.metadata, finalizers: ['example.dev/hold'] } })
  await ready(namespace, 'web-0')
  toy.behave({ letsGo: false })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  const waits = await claimSays(client, namespace, 'web-0', 'Bound', 'Unknown Pending')
  assert.match(waits.status?.conditions?.[0]?.message ?? '', /Deletion waits for network interface web-0/)
  assert.equal(waits.status?.conditions?.[0]?.observedGeneration, waits.metadata.generation)
  const nic = await eventually('the interface says what it waits for', async () => {
    const found = await find(client, NetworkInterface, namespace, 'web-0')
    const prepared = found?.status?.conditions?.find(({ type }) => type === 'Prepared')
    return prepared?.message.startsWith('Deletion waits for the data plane') && found
  })
  assert.ok(nic.status?.conditions?.every((one) => one.observedGeneration === nic.metadata.generation))
  toy.behave({ letsGo: true })
  const left = await eventually('only the other finalizer keeps the claim', async () => {
    const claim = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
    return claim?.metadata.finalizers?.join() === 'example.dev/hold' && claim
  })
  assert.match(left.status?.conditions?.[0]?.message ?? '', /finalizers of others \(example.dev\/hold\)/)
  assert.equal(left.status?.addresses, undefined)
  await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
})

test('B40: a claim that is being deleted and never had the finalizer gets none, and goes', async () => {
  const { client } = world
  const namespace = await world.place({ context: false })
  const held = aClaim(namespace, 'web-0')
  await create(client, { ...held, metadata: { ...held.metadata, finalizers: ['example.dev/hold'] } })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await merge(client, NetworkInterfaceClaim, namespace, 'web-0', { metadata: { labels: { nudge: 'yes' } } })
  await eventually('it does not have ours', async () => {
    const claim = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
    return claim?.metadata.finalizers?.join() === 'example.dev/hold'
  })
  await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
})

test('B40: a namespace deleted under claims disappears, new ones made in the last moment included', async () => {
  const { client, plane } = world
  const namespace = await world.place()
  const names = Array.from({ length: 5 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  await create(client, aClaim(namespace, 'last'))
  await plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
  await eventually(
    'the namespace is gone',
    async () => (await plane.connection.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}` })).status === 404,
    { timeoutMs: 40_000 },
  )
})

test('an interface whose claim lost its finalizer by force goes, and its addresses with it', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  world.toy.behave({ letsGo: false })
  await remove(client, NetworkInterface, namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  world.toy.behave({ letsGo: true })
  await nothingLeft(namespace)
})

test('only the finalizer of the claim is NSO’s on a claim, and it comes before any lease', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const claim = await ready(namespace, 'web-0')
  assert.deepEqual(claim.metadata.finalizers, [finalizers.claim])
  const [lease] = await listed(client, AddressLease, namespace)
  const managed = claim.metadata.managedFields?.find(
    ({ manager, subresource }) => manager === 'nso-networkinterfaceclaim' && !subresource,
  )
  assert.ok((managed?.time ?? '') <= (lease?.metadata.creationTimestamp ?? ''))
})
