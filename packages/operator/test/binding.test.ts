/** Which interface a claim gets, and what is said when it gets none or may not keep it as it is, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import {
  AddressLease,
  DataPlane,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  type RejectReason,
  Subnet,
} from '@nso/api'
import type { Kind, KubeObject } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from './toy-plane.ts'
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
  type Running,
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane)

let world: World
let nso: Running
before(async () => {
  world = await startWorld()
  nso = await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')
const claimAt = (namespace: string, name: string) => find(world.client, NetworkInterfaceClaim, namespace, name)
const interfaceAt = (namespace: string, name: string) => find(world.client, NetworkInterface, namespace, name)
const leases = async (namespace: string) => (await listed(world.client, AddressLease, namespace)).length
const partsOf = (claim: NetworkInterfaceClaim | undefined) =>
  ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready'].map((type) => said(claim, type))

/** The table of the published API for a claim that is bound to nothing. */
function saysUnbound(claim: NetworkInterfaceClaim, reason: RejectReason): void {
  const rejected = `False ${reason}`
  assert.deepEqual(partsOf(claim), [rejected, rejected, 'Unknown Pending', 'Unknown Pending', rejected])
  const { networkInterfaceRef, addresses, externalAddresses } = claim.status ?? {}
  assert.deepEqual([networkInterfaceRef, addresses, externalAddresses], [undefined, undefined, undefined])
}

/** What an administrator makes of an object that only NSO writes. */
async function meddle(kind: Kind, namespace: string, name: string, spec: object): Promise<void> {
  world.recorder.expect({ kind: kind.kind, namespace, name, path: 'spec', why: 'the test edits what is NSO’s' })
  await merge(world.client, kind, namespace, name, { spec })
}

type BoundRow = {
  reason: RejectReason
  spoil: (namespace: string) => Promise<unknown>
  cure: (namespace: string) => Promise<unknown>
}

const setContext = (spec: object) => (namespace: string) => merge(world.client, NetworkContext, namespace, 'net-here', { spec })
const setSubnet = (spec: object) => (namespace: string) => merge(world.client, Subnet, namespace, 'net-here-0', { spec })
const setInterface = (spec: object) => (namespace: string) => meddle(NetworkInterface, namespace, 'web-0', spec)

/** What can come over a claim that has its interface. The others are answers to the wish for one, or are edited back. */
const bound: BoundRow[] = [
  {
    reason: 'NetworkNotAvailableInLocation',
    async spoil(namespace) {
      await remove(world.client, NetworkContext, namespace, 'net-here')
      await strip(world, NetworkContext, namespace, 'net-here').catch(() => undefined)
      await gone(world.client, NetworkContext, namespace, 'net-here')
    },
    cure: (namespace) => create(world.client, aContext(namespace)),
  },
  { reason: 'AddressFamiliesUnknown', spoil: setContext({ ipFamilies: null }), cure: setContext({ ipFamilies: ['IPv6'] }) },
  { reason: 'AddressFamilyNotCarried', spoil: setContext({ ipFamilies: ['IPv4'] }), cure: setContext({ ipFamilies: ['IPv6'] }) },
  {
    reason: 'SubnetGatewayUnusable',
    spoil: setSubnet({ startAddress: 'no-address' }),
    cure: setSubnet({ startAddress: 'fd20:0:0:1::' }),
  },
  {
    reason: 'InterfaceNameMismatch',
    spoil: setInterface({ interfaceName: 'net7' }),
    cure: setInterface({ interfaceName: 'eth0' }),
  },
  {
    reason: 'ReclaimPolicyMismatch',
    spoil: setInterface({ reclaimPolicy: 'Retain' }),
    cure: setInterface({ reclaimPolicy: 'Delete' }),
  },
]

test('B56: what comes over a bound claim is said of Ready alone, its data plane’s report goes on, and it ends with its cause', async () => {
  const { client, toy } = world
  const rows = await Promise.all(bound.map(async (row) => ({ ...row, namespace: await world.place() })))
  const each = <T>(act: (row: (typeof rows)[number]) => Promise<T>) => Promise.all(rows.map(act))
  await each(({ namespace }) => create(client, aClaim(namespace, 'web-0')))
  const told = await each(async ({ namespace }) => (await ready(namespace, 'web-0')).status?.addresses)
  await each(({ namespace, spoil }) => spoil(namespace))
  const kept = ['True Bound', 'True Allocated', 'True AttachmentReady', 'True ToyProgrammed']
  await each(async ({ namespace, reason }) => {
    // Nothing is allocated without the context, so whether all is allocated is not known.
    const allocated = reason === 'NetworkNotAvailableInLocation' ? ['True Allocated', 'Unknown Pending'] : ['True Allocated']
    const [bound, is, ...report] = partsOf(await claimSays(client, namespace, 'web-0', 'Ready', `False ${reason}`))
    assert.deepEqual([bound, ...report], [kept[0], kept[2], kept[3], `False ${reason}`])
    assert.ok(allocated.includes(is ?? ''), `${reason}: ${is}`)
  })
  toy.behave({ prepares: false })
  await each(({ namespace }) => claimSays(client, namespace, 'web-0', 'Prepared', 'False ToyNotReady'))
  await each(async ({ namespace, reason }) => assert.equal(said(await claimAt(namespace, 'web-0'), 'Ready'), `False ${reason}`))
  toy.behave({ prepares: true })
  await each(({ namespace }) => claimSays(client, namespace, 'web-0', 'Programmed', 'True ToyProgrammed'))
  await each(({ namespace, cure }) => cure(namespace))
  const now = await each(async ({ namespace }) => (await ready(namespace, 'web-0')).status?.addresses)
  assert.deepEqual(now, told)
})

const retained = { reclaimPolicy: 'Retain', networkInterfaceName: 'nic' } as const
type Spec = Partial<NetworkInterfaceClaim['spec']>
const adoption: { says: string; spec: Spec; reason: RejectReason }[] = [
  { says: 'another network', spec: { ...retained, network: { name: 'other' } }, reason: 'NetworkMismatch' },
  { says: 'another device name', spec: { ...retained, interfaceName: 'net1' }, reason: 'InterfaceNameMismatch' },
  { says: 'a family that it lacks', spec: { ...retained, ipFamilies: ['IPv6', 'IPv4'] }, reason: 'AddressFamilyMissing' },
  { says: 'a class that it lacks', spec: { ...retained, addresses: [{ class: 'public' }] }, reason: 'AddressClassMissing' },
  { says: 'another policy', spec: { ...retained, reclaimPolicy: 'Delete' }, reason: 'ReclaimPolicyMismatch' },
]

test('B42: a retained interface is taken by a claim that it fits in every respect, and is not touched for any other', async () => {
  const { client } = world
  const namespace = await world.place({ families: ['IPv4', 'IPv6'] })
  const other = { ...aContext(namespace), metadata: { name: 'other-here', namespace } }
  await create(client, { ...other, spec: { ...other.spec, network: { name: 'other' } } })
  await create(client, aClaim(namespace, 'first', retained))
  const addresses = (await ready(namespace, 'first')).status?.addresses
  await remove(client, NetworkInterfaceClaim, namespace, 'first')
  const free = await eventually('the interface is free', async () => {
    const nic = await interfaceAt(namespace, 'nic')
    return nic?.status?.phase === 'Available' ? nic : undefined
  })
  await gone(client, NetworkInterfaceClaim, namespace, 'first')
  await Promise.all(adoption.map(({ spec, reason }) => create(client, aClaim(namespace, reason.toLowerCase(), spec))))
  for (const { says, reason } of adoption) {
    const name = reason.toLowerCase()
    const claim = await claimSays(client, namespace, name, 'Ready', `False ${reason}`)
    saysUnbound(claim, reason)
    assert.match(claim.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? '', /nic/, says)
  }
  const untouched = await interfaceAt(namespace, 'nic')
  assert.equal(untouched?.metadata.resourceVersion, free.metadata.resourceVersion)
  assert.equal(await leases(namespace), 1)
  await create(client, aClaim(namespace, 'last', retained))
  assert.deepEqual((await ready(namespace, 'last')).status?.addresses, addresses)
  assert.equal((await interfaceAt(namespace, 'nic'))?.metadata.uid, free.metadata.uid)
  for (const { reason } of adoption) {
    const held = await claimSays(client, namespace, reason.toLowerCase(), 'Ready', 'False InterfaceHeldByAnotherClaim')
    saysUnbound(held, 'InterfaceHeldByAnotherClaim')
  }
})

/** One claim of each namesake group has the interface; the others say so and hold nothing. */
async function oneHolds(namespace: string, nic: string, names: readonly string[]): Promise<string> {
  await eventually(`one of ${names.join()} holds ${nic}`, async () => {
    const claims = await Promise.all(names.map((name) => claimAt(namespace, name)))
    assert.deepEqual(claims.map((claim) => said(claim, 'Ready')).toSorted(), [
      ...names.slice(1).map(() => 'False InterfaceHeldByAnotherClaim'),
      'True Ready',
    ])
    return true
  })
  return eventually(`the holder of ${nic} is the one that is Ready`, async () => {
    const holder = (await interfaceAt(namespace, nic))?.spec.claimRef?.name ?? ''
    assert.equal(said(await claimAt(namespace, holder), 'Ready'), 'True Ready')
    return holder
  })
}

const oneLeaseEach = (namespace: string, count: number) =>
  eventually('who has no interface holds no address', async () => {
    assert.equal(await leases(namespace), count)
    return true
  })

test('claims that make one interface at once, under one NSO and under two: one gets it, the others hold no address, and the next takes over', async () => {
  const { client } = world
  const namespace = await world.place()
  const race = async (prefix: string, groups: number) => {
    const all = Array.from({ length: groups }, (_, at) => ({
      nic: `${prefix}-${at}`,
      names: ['a', 'b', 'c'].map((name) => `${prefix}-${at}-${name}`),
    }))
    await Promise.all(
      all.flatMap(({ nic, names }) =>
        names.map((name) => create(client, aClaim(namespace, name, { networkInterfaceName: nic }))),
      ),
    )
    await Promise.all(all.map(({ nic, names }) => oneHolds(namespace, nic, names)))
    return all
  }
  const [first] = await race('one', 3)
  await oneLeaseEach(namespace, 3)
  assert.ok(first)
  const holder = (await interfaceAt(namespace, first.nic))?.spec.claimRef?.name ?? ''
  await remove(client, NetworkInterfaceClaim, namespace, holder)
  await oneHolds(
    namespace,
    first.nic,
    first.names.filter((name) => name !== holder),
  )
  await oneLeaseEach(namespace, 3)
  const second = await world.startNso({ settings: { retryRejectedMs: 3_600_000 } })
  for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface']) {
    const why = 'one process writes late what the other has overtaken'
    world.recorder.expect({ kind, namespace, path: 'status', why, maybe: true })
  }
  await race('two', 6)
  await oneLeaseEach(namespace, 9)
  await second.stop()
})

test('names: the longest that an object bears, and one above the length of a label, are served and go without a trace', async () => {
  const { client } = world
  const namespace = await world.place()
  const long = { claim: 'c'.repeat(253), nic: 'n'.repeat(253) }
  await create(client, aClaim(namespace, long.claim))
  await create(client, aClaim(namespace, 'short', { networkInterfaceName: long.nic }))
  await create(client, aClaim(namespace, 'l'.repeat(64)))
  const names = [long.claim, 'short', 'l'.repeat(64)]
  await Promise.all(names.map((name) => ready(namespace, name)))
  const attachments = await listed(client, ToyAttachment, namespace)
  assert.deepEqual(attachments.map(({ metadata }) => metadata.name).toSorted(), [long.claim, 'l'.repeat(64), long.nic])
  await Promise.all(names.map((name) => remove(client, NetworkInterfaceClaim, namespace, name)))
  for (const name of names) await gone(client, NetworkInterfaceClaim, namespace, name)
  assert.deepEqual([await leases(namespace), (await listed(client, NetworkInterface, namespace)).length], [0, 0])
})

test('names: where network and location have no room in one name the claim says so, and a shorter network serves', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0', { network: { name: 'n'.repeat(250) } }))
  const claim = await claimSays(client, namespace, 'web-0', 'Ready', 'False NetworkNotAvailableInLocation')
  saysUnbound(claim, 'NetworkNotAvailableInLocation')
  assert.match(claim.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '', /of a shorter name/)
  // A context may have a name of 253 characters; what is named after it is cut.
  const network = 'n'.repeat(248)
  const context = `${network}-here`
  await create(client, {
    ...aContext(namespace),
    metadata: { name: context, namespace },
    spec: { ...aContext(namespace).spec, network: { name: network } },
  })
  await create(client, {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Subnet',
    metadata: { name: 'of-the-long-one', namespace },
    spec: { ...aSubnet('IPv6'), networkContext: { name: context } },
  })
  await create(client, aClaim(namespace, 'web-1', { network: { name: network } }))
  await ready(namespace, 'web-1')
  const [lease] = await listed(client, AddressLease, namespace)
  assert.match(lease?.metadata.name ?? '', /^n{240}-[0-9a-f]{12}$/)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-1')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-1')
  assert.equal(await leases(namespace), 0)
})

test('names: one that no object can bear is refused in words, before anything is allocated, and is not tried again and again', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0', { networkInterfaceName: 'Not_A_Name' }))
  const writes = await world.writesDuring(async () => {
    const claim = await claimSays(client, namespace, 'web-0', 'Ready', 'False InterfaceRefused')
    saysUnbound(claim, 'InterfaceRefused')
    assert.match(
      claim.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? '',
      /"?Not_A_Name.*networkInterfaceName/,
    )
  })
  const tried = writes.filter(
    (one) => one.namespace === namespace && ['networkinterfaces', 'addressleases'].includes(one.resource),
  )
  assert.deepEqual(tried, [])
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
})

/** As a quota or a company's rule would be: no such object may be made in the namespace, or none of which this holds. */
const noneOf = (resource: string, namespace: string, which = 'true') => {
  const metadata = { name: `no-${resource}` }
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const rule = {
    apiGroups: ['networking.datumapis.com'],
    apiVersions: ['*'],
    operations: ['CREATE'],
    resources: [resource],
  }
  const expression = `request.namespace != '${namespace}' || !(${which})`
  return [
    {
      ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression, message: `no ${resource} here`, reason: 'Forbidden' }],
      },
    },
    {
      ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    },
  ]
}

test('an interface that the API server refuses: the claim says so in its words, keeps what it allocated, and is served once it may', async () => {
  const { client, plane } = world
  const namespace = await world.place()
  await nso.stop()
  nso = await world.startNso({ settings: { retryRejectedMs: 500 } })
  await plane.apply(noneOf('networkinterfaces', namespace))
  await isRefused(namespace, { kind: 'NetworkInterface', spec: { network: { name: 'net' } } })
  await create(client, aClaim(namespace, 'web-0'))
  const claim = await claimSays(client, namespace, 'web-0', 'Ready', 'False InterfaceRefused')
  saysUnbound(claim, 'InterfaceRefused')
  assert.match(claim.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? '', /no networkinterfaces here/)
  const [held] = await listed(client, AddressLease, namespace)
  assert.ok(held)
  await allowAgain('networkinterfaces')
  const { status } = await ready(namespace, 'web-0')
  assert.deepEqual(
    status?.addresses?.map(({ address }) => address),
    [held.spec.address],
  )
})

test('a lease that the API server refuses: the claim holds nothing and says so in its words, is tried now and then, and is served once it may', async () => {
  const { client, plane } = world
  const families = ['IPv4', 'IPv6'] as const
  const namespace = await world.place({ families: [...families] })
  await nso.stop()
  nso = await world.startNso({ settings: { retryRejectedMs: 2_000 } })
  await create(client, aClaim(namespace, 'before', { ipFamilies: [...families] }))
  await ready(namespace, 'before')
  await plane.apply(noneOf('addressleases', namespace, "object.spec.family == 'IPv6'"))
  const holder = { claimName: 'probe', claimUID: 'probe', family: 'IPv6' }
  const probe = { network: { name: 'net' }, networkContext: { name: 'net-here' }, family: 'IPv6', address: 'fd20::/96', holder }
  await isRefused(namespace, { kind: 'AddressLease', spec: probe })
  const writes = await world.writesDuring(async () => {
    await create(client, aClaim(namespace, 'web-0', { ipFamilies: [...families] }))
    const claim = await claimSays(client, namespace, 'web-0', 'Ready', 'False AllocationFailed')
    saysUnbound(claim, 'AllocationFailed')
    assert.match(claim.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? '', /no addressleases here/)
    for (const name of ['v4-0', 'v4-1', 'v4-2']) {
      await create(client, aClaim(namespace, name, { ipFamilies: ['IPv4'] }))
      await ready(namespace, name)
    }
  })
  const tried = writes.filter(({ resource, verb }) => resource === 'addressleases' && verb === 'create')
  assert.ok(tried.length < 40, `${tried.length} creates`)
  await eventually('its leases are given back', async () => (await leasesOf(namespace, 'web-0')).length === 0)

  const lost = (await leasesOf(namespace, 'before')).find(({ spec }) => spec.family === 'IPv6') as AddressLease
  await remove(client, AddressLease, namespace, lost.metadata.name)
  const losing = await claimSays(client, namespace, 'before', 'Allocated', 'False AddressAllocationMissing')
  assert.match(losing.status?.conditions?.find(({ type }) => type === 'Allocated')?.message ?? '', /no addressleases here/)
  await interfaceSays(namespace, 'before', 'False AddressAllocationMissing')

  await allowAgain('addressleases')
  await ready(namespace, 'web-0')
  assert.deepEqual((await ready(namespace, 'before')).status?.addresses, (await interfaceAt(namespace, 'before'))?.spec.addresses)
  await interfaceSays(namespace, 'before', 'True Allocated')
  assert.equal((await leasesOf(namespace, 'before')).length, 2)
})

const leasesOf = async (namespace: string, claim: string) =>
  (await listed(world.client, AddressLease, namespace)).filter(({ spec }) => spec.holder.claimName === claim)

const interfaceSays = (namespace: string, name: string, what: string) =>
  eventually(
    `interface ${name} says Allocated ${what}`,
    async () => said(await interfaceAt(namespace, name), 'Allocated') === what,
  )

/** Waits until the policy is in force. */
async function isRefused(namespace: string, object: { kind: string; spec: object }): Promise<void> {
  const collection = `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/${object.kind.toLowerCase()}s`
  const body = { apiVersion: 'networking.datumapis.com/v1alpha', metadata: { name: 'probe' }, ...object }
  await eventually('the policy to be in force', async () => {
    const answer = await world.plane.connection.request({ method: 'POST', path: `${collection}?dryRun=All`, body })
    if (answer.status !== 403) throw new Error(JSON.stringify(answer))
    return true
  })
}

async function allowAgain(resource: string): Promise<void> {
  const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/no-${resource}`
  await world.plane.connection.must({ method: 'DELETE', path })
}

test('a published copy of an interface of another cluster is taken by no claim, and nothing of it is written', async () => {
  const { client } = world
  const namespace = await world.place()
  world.recorder.expect({ kind: 'NetworkInterface', namespace, name: 'web-0', path: 'spec', why: 'the publisher makes copies' })
  const copy = await create(client, {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'NetworkInterface',
    metadata: { name: 'web-0', namespace, labels: { 'networking.datumapis.com/network-interface-projection': 'true' } },
    spec: {
      network: { name: 'net' },
      interfaceName: 'eth0',
      attachmentMode: 'Netns',
      addresses: [{ family: 'IPv6', address: 'fd20:0:0:1::1:0:0/96', primary: true }],
      reclaimPolicy: 'Retain',
    },
  } as NetworkInterface)
  await create(client, aClaim(namespace, 'web-0', { reclaimPolicy: 'Retain' }))
  saysUnbound(
    await claimSays(client, namespace, 'web-0', 'Ready', 'False InterfaceHeldByAnotherClaim'),
    'InterfaceHeldByAnotherClaim',
  )
  assert.equal((await interfaceAt(namespace, 'web-0'))?.metadata.resourceVersion, copy.metadata.resourceVersion)
})

test('an interface deleted under its claim while another claim waits for the name: who gets it has its address, the other none', async () => {
  const { client } = world
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'a', { networkInterfaceName: 'nic' }))
  await ready(namespace, 'a')
  const nic = (await interfaceAt(namespace, 'nic')) as KubeObject
  assert.ok(nic)
  await create(client, aClaim(namespace, 'b', { networkInterfaceName: 'nic' }))
  saysUnbound(
    await claimSays(client, namespace, 'b', 'Ready', 'False InterfaceHeldByAnotherClaim'),
    'InterfaceHeldByAnotherClaim',
  )
  await remove(client, NetworkInterface, namespace, 'nic')
  const now = await eventually('another interface stands', async () => {
    const stands = await interfaceAt(namespace, 'nic')
    return stands && stands.metadata.uid !== nic.metadata.uid ? stands : undefined
  })
  const holder = await oneHolds(namespace, 'nic', ['a', 'b'])
  assert.deepEqual((await claimAt(namespace, holder))?.status?.addresses, now.spec.addresses)
  await oneLeaseEach(namespace, 1)
})
