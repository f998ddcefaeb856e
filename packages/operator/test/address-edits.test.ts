/** Addresses of an interface that somebody edits, or whose lease somebody deletes, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { Kind } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  aSubnet,
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

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

let world: World
let running: Running
before(async () => {
  world = await startWorld()
  running = await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
})
after(() => world[Symbol.asyncDispose]())

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

async function addressesOf(namespace: string, name: string) {
  return (await find(world.client, NetworkInterface, namespace, name))?.spec.addresses
}

/** The test plays somebody who may write specs of interfaces. */
async function edit(namespace: string, name: string, spec: unknown): Promise<void> {
  world.recorder.expect({ kind: 'NetworkInterface', namespace, name, path: 'spec', why: 'edited by hand', maybe: true })
  await merge(world.client, NetworkInterface, namespace, name, { spec })
}

type Attachment = { spec: { addresses: readonly string[] } }
const attached = async (namespace: string, name: string) =>
  ((await find(world.client, ToyAttachment, namespace, name)) as unknown as Attachment | undefined)?.spec.addresses

const edits: { says: string; to: (other: readonly object[], own: readonly object[]) => unknown }[] = [
  { says: 'to those of another', to: (other) => ({ addresses: other }) },
  { says: 'to free ones', to: (_, own) => ({ addresses: own.map((one) => ({ ...one, address: 'fd20:0:0:1:0:77::/96' })) }) },
  { says: 'to none', to: () => ({ addresses: null }) },
  {
    says: 'and given an outer one that nobody allocated',
    to: () => ({ externalAddresses: [{ family: 'IPv6', address: '2001:db8::1', class: 'public' }] }),
  },
]
for (const { says, to } of edits) {
  test(`an interface whose addresses are edited ${says} gets its own back; its lease and attachment never move`, async () => {
    const { client } = world
    const namespace = await world.place()
    for (const name of ['a', 'b']) await create(client, aClaim(namespace, name))
    await ready(namespace, 'a')
    const told = (await ready(namespace, 'b')).status?.addresses
    const [other = [], own = []] = await Promise.all(['a', 'b'].map((name) => addressesOf(namespace, name)))
    const leases = (await listed(client, AddressLease, namespace)).map(({ metadata }) => metadata.uid).sort()
    const edited = await find(client, NetworkInterface, namespace, 'b')
    const writes = await world.writesDuring(async () => {
      await edit(namespace, 'b', to(other, own))
      await eventually('the interface lists its own', async () => {
        const nic = await find(client, NetworkInterface, namespace, 'b')
        assert.deepEqual(nic?.spec.addresses, own)
        assert.equal(nic?.spec.externalAddresses, undefined)
        return nic?.metadata.generation === (edited?.metadata.generation ?? 0) + 2 && nic.status?.conditions?.[0]
      })
      await eventually('claim and interface say so', async () => {
        const nic = await find(client, NetworkInterface, namespace, 'b')
        const allocated = nic?.status?.conditions?.find(({ type }) => type === 'Allocated')
        return allocated?.observedGeneration === nic?.metadata.generation && allocated?.status === 'True'
      })
    })
    const claim = await ready(namespace, 'b')
    assert.deepEqual(claim.status?.addresses, told)
    assert.deepEqual((await listed(client, AddressLease, namespace)).map(({ metadata }) => metadata.uid).sort(), leases)
    assert.deepEqual(
      writes.filter((one) => one.namespace === namespace && ['toyattachments', 'addressleases'].includes(one.resource ?? '')),
      [],
    )
    assert.deepEqual(
      await attached(namespace, 'b'),
      own.map(({ address }) => address),
    )
  })
}

test('an address that is not held for an interface is told to no claim and reaches no attachment', async () => {
  const { client } = world
  const namespace = await world.place()
  const retain = { reclaimPolicy: 'Retain' } as const
  await create(client, aClaim(namespace, 'a'))
  await create(client, aClaim(namespace, 'b', retain))
  await ready(namespace, 'a')
  await ready(namespace, 'b')
  await remove(client, NetworkInterfaceClaim, namespace, 'b')
  await eventually('b is free', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'b')
    return nic?.status?.phase === 'Available'
  })
  const other = await addressesOf(namespace, 'a')
  await edit(namespace, 'b', { addresses: other })
  await create(client, aClaim(namespace, 'b', retain))
  const claim = await claimSays(client, namespace, 'b', 'Allocated', 'False AddressAllocationMissing')
  assert.deepEqual([said(claim, 'Bound'), claim.status?.addresses], ['True Bound', undefined])
  await eventually('the interface says the same', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'b')
    return nic?.status?.phase === 'Bound' && said(nic, 'Allocated') === 'False AddressAllocationMissing'
  })
  assert.equal(await attached(namespace, 'b'), undefined)
  await remove(client, NetworkInterfaceClaim, namespace, 'a')
  await gone(client, NetworkInterface, namespace, 'a')
  const late = await ready(namespace, 'b')
  assert.deepEqual(late.status?.addresses, other)
  assert.deepEqual(
    await attached(namespace, 'b'),
    other?.map(({ address }) => address),
  )
})

test('the lease of an interface that no claim holds is put back at once, and goes with the interface', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0', { reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await eventually('the interface is free', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    return nic?.status?.phase === 'Available'
  })
  const [lease] = await listed(client, AddressLease, namespace)
  assert.ok(lease)
  await remove(client, AddressLease, namespace, lease.metadata.name)
  await eventually('the lease stands again', async () => {
    const now = await find(client, AddressLease, namespace, lease.metadata.name)
    return now && now.metadata.uid !== lease.metadata.uid
  })
  await eventually(
    'the interface is allocated',
    async () => said(await find(client, NetworkInterface, namespace, 'web-0'), 'Allocated') === 'True Allocated',
  )
  await create(client, aClaim(namespace, 'web-0', { reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web-0')
  assert.equal((await listed(client, AddressLease, namespace)).length, 1)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  await remove(client, NetworkInterface, namespace, 'web-0')
  await eventually('no lease is left', async () => (await listed(client, AddressLease, namespace)).length === 0)
})

test('an interface that is edited while NSO is away and then released keeps its own addresses and leases', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'a'))
  await create(client, aClaim(namespace, 'b', { reclaimPolicy: 'Retain' }))
  await ready(namespace, 'a')
  await ready(namespace, 'b')
  const [other, own] = await Promise.all(['a', 'b'].map((name) => addressesOf(namespace, name)))
  const leases = (await listed(client, AddressLease, namespace)).map(({ metadata }) => metadata.uid).sort()
  await running.stop()
  await edit(namespace, 'b', { addresses: other })
  await remove(client, NetworkInterfaceClaim, namespace, 'b')
  running = await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
  await gone(client, NetworkInterfaceClaim, namespace, 'b')
  await eventually('b is free', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'b')
    return nic?.status?.phase === 'Available' && said(nic, 'Allocated') === 'True Allocated'
  })
  assert.deepEqual(await addressesOf(namespace, 'b'), own)
  assert.deepEqual((await listed(client, AddressLease, namespace)).map(({ metadata }) => metadata.uid).sort(), leases)
})

test('B48: a range that shrinks, goes, comes back and is doubled: what is held stays, is told as out of range, and goes to nobody else', async () => {
  const { client } = world
  const range = (startAddress: string, prefixLength: number) => ({ ...aSubnet('IPv4'), startAddress, prefixLength })
  const subnet = (name: string, spec: Subnet['spec']) =>
    create(client, {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'Subnet',
      metadata: { name, namespace },
      spec,
    } as Subnet)
  // Thirteen claims hold all of a /28, so that most are out of range of a /29.
  const namespace = await world.place({ families: ['IPv4'], subnets: [range('10.0.0.0', 28)] })
  const names = Array.from({ length: 13 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name, { ipFamilies: ['IPv4'] }))))
  const told = await Promise.all(names.map(async (name) => (await ready(namespace, name)).status?.addresses?.[0]?.address ?? ''))
  assert.equal(new Set(told).size, 13)
  const outer = names.filter((_, at) => Number(told[at]?.split(/[./]/)[3]) > 7)
  const says = async (name: string) => {
    const of = await Promise.all(
      [NetworkInterfaceClaim, NetworkInterface].map((kind) => find(client, kind as Kind, namespace, name)),
    )
    return of.map((one) => (one as NetworkInterface).status?.conditions?.find(({ type }) => type === 'Allocated')?.message ?? '')
  }
  const allSay = (what: RegExp, which: readonly string[]) =>
    eventually(`${which.length} say ${what}`, async () => {
      for (const message of (await Promise.all(which.map(says))).flat()) assert.match(message, what)
      return true
    })
  await remove(client, Subnet, namespace, 'net-here-0')
  await allSay(/out of range/, names)
  await subnet('smaller', range('10.0.0.0', 29))
  await allSay(/out of range.*10\.0\.0\.(8|9|1\d)/, outer)
  await allSay(
    /is allocated\.$/,
    names.filter((name) => !outer.includes(name)),
  )
  await create(client, aClaim(namespace, 'late', { ipFamilies: ['IPv4'] }))
  await claimSays(client, namespace, 'late', 'Ready', 'False AddressPoolExhausted')
  await remove(client, Subnet, namespace, 'smaller')
  await subnet('again', range('10.0.0.0', 28))
  await allSay(/is allocated\.$/, names)
  await claimSays(client, namespace, 'late', 'Ready', 'False AddressPoolExhausted')
  await subnet('overlaps', range('10.0.0.8', 28))
  await subnet('overlaps-more', range('10.0.0.0', 27))
  const late = (await ready(namespace, 'late')).status?.addresses?.[0]?.address ?? ''
  const now = await Promise.all(names.map(async (name) => (await ready(namespace, name)).status?.addresses?.[0]?.address ?? ''))
  assert.deepEqual(now, told)
  assert.ok(!told.includes(late), `${late} is held`)
})
