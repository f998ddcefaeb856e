/**
 * Addresses from an address service: NSO with the IPAM adapter on a real API server, and the stand-in for the service before the
 * same one, which serves its kinds.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { labels, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { type ApiRequest, type KubeObject, systemClock, type Transport } from 'kube-control-loop'
import { answers, type ScriptedTransport, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { IPAllocation, IPClaim, IPClass } from 'kube-ipam'
import { eventually } from 'kube-localplane/testing'
import { allocatorCases } from '../src/addresses/contract.ts'
import { ipClaimFor } from '../src/addresses/ipam/ip-claim.ts'
import { ipamContractWorld } from './ipam-contract.ts'
import { type IpamWorld, ipClass, startIpam } from './ipam-world.ts'
import { transportTo } from './server.ts'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  location,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, IPClaim, IPAllocation)

const stop = new AbortController()
let world: World
let ipam: IpamWorld
let asNso: Transport

before(async () => {
  world = await startWorld()
  ipam = await startIpam(world.plane, world.client)
  asNso = transportTo(await world.plane.kubeconfigFor({ user: 'test', groups: ['system:masters'] }))
  await ipam.pool('net', '10.128.0.0/16')
  await ipam.pool('net', 'fd20:1000::/64')
  await ipam.pool('net', '198.51.100.0/24', 'datum-public-v4')
})
after(async () => {
  stop.abort(new Error('the tests are over'))
  await ipam.stop()
  await asNso.close()
  await world[Symbol.asyncDispose]()
})

// The contract.

for (const each of allocatorCases) {
  test(`contract, ipam: ${each.name}`, async () => {
    await using contractWorld = await ipamContractWorld({ plane: world.plane, ipam, transport: asNso, signal: stop.signal })
    await each.run(contractWorld)
    await contractWorld.assertNothingUnclaimed()
  })
}

// NSO as a process.

let nso: Running
let wire: ScriptedTransport
/** To NSO's own cluster. */
let home: ScriptedTransport

async function start(script: (wire: ScriptedTransport) => void = () => {}) {
  wire = scriptTransport(ipam.transport(), { clock: systemClock })
  script(wire)
  nso = await world.startNso({
    settings: { retryRejectedMs: 3_600_000, earlyStatusAfterMs: 0 },
    ipam: { transport: wire, classes: {} },
    wrap: (transport) => {
      home = scriptTransport(transport, { clock: systemClock })
      return home
    },
  })
}

async function restart(script?: (wire: ScriptedTransport) => void): Promise<void> {
  await nso.stop()
  await start(script)
}

/** Not beside the contract's allocators: their claims are no objects, and what is held for nobody is given back. */
let starting: Promise<void> | undefined

beforeEach(() => {
  wire?.reset()
  home?.reset()
  world.toy.behave({ prepares: true, programs: true, letsGo: true })
})

const post = { method: 'POST', path: /\/ipclaims$/ } as const
const dual = { ipFamilies: ['IPv6', 'IPv4'] } satisfies Partial<NetworkInterfaceClaim['spec']>

/** A namespace with network `net` that is in no project. */
async function placeAlone(): Promise<string> {
  starting ??= start()
  await starting
  return world.place({ families: ['IPv6', 'IPv4'], subnets: [] })
}

/** A namespace with network `net` in a project, whose namespace has another name. */
async function place(): Promise<{ namespace: string; project: string }> {
  const namespace = await placeAlone()
  return { namespace, project: await ipam.join(namespace) }
}

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')
const interfaceSays = (namespace: string, name: string, what: string) =>
  eventually(`interface ${name} says ${what}`, async () => said(await interfaceOf(namespace, name), 'Allocated') === what)
const refused = async (namespace: string, name: string, reason: string) => {
  const claim = await claimSays(world.client, namespace, name, 'Bound', `False ${reason}`)
  return claim?.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? ''
}
const interfaceOf = async (namespace: string, name: string) => {
  const nic = await find(world.client, NetworkInterface, namespace, name)
  assert.ok(nic, `interface ${name} stands`)
  return nic
}

function addressesOf({ spec }: NetworkInterface): string[] {
  const outer = (spec.externalAddresses ?? []).map(({ address }) => `${address}/32`)
  return [...(spec.addresses ?? []).map(({ address }) => address), ...outer].sort()
}

const heldIn = async (project: string) => (await ipam.claims(project)).map(({ status }) => status?.allocatedCIDR).sort()

const nothingHeld = (project: string) =>
  eventually('nothing is held', async () => {
    assert.deepEqual(await heldIn(project), [])
    assert.deepEqual(await ipam.allocations(project), [])
    return true
  })

test('dual-stack and a class: one IPClaim each, by one request each, and all of them go with the claim', async () => {
  const { namespace, project } = await place()
  const from = wire.requests.length
  await create(world.client, aClaim(namespace, 'web', { ...dual, addresses: [{ class: 'datum-public-v4' }] }))
  await ready(namespace, 'web')
  const asked = wire.requests
    .slice(from)
    .filter(({ request: { path } }) => path.includes(`/${project}/`) || path.includes('/ipclasses/'))
  assert.deepEqual(asked.map(({ request: { method, path } }) => `${method} ${path.split('/').at(-1)}`).sort(), [
    'GET datum-public-v4',
    'POST ipclaims',
    'POST ipclaims',
    'POST ipclaims',
  ])
  const nic = await interfaceOf(namespace, 'web')
  const claims = await ipam.claims(project)
  assert.deepEqual(
    claims.map(({ metadata, spec }) => [metadata.name, spec.ipFamily ?? spec.className, spec.reclaimPolicy]).sort(),
    [
      ['web-c-datum-public-v4', 'datum-public-v4', 'Delete'],
      ['web-f-ipv4', 'IPv4', 'Delete'],
      ['web-f-ipv6', 'IPv6', 'Delete'],
    ],
  )
  const role = (kind: string, name: string) => ({ apiGroup: 'networking.datumapis.com', kind, name })
  for (const { spec } of claims) {
    assert.deepEqual(spec.scope, { network: role('Network', 'net'), location: role('Location', location) })
  }
  assert.deepEqual(addressesOf(nic), await heldIn(project))
  assert.equal(nic.spec.externalAddresses?.[0]?.address.startsWith('198.51.100.'), true)
  assert.equal(nic.spec.addresses?.find(({ primary }) => primary)?.family, 'IPv6')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('a namespace without a project is refused, naming the label, and goes on when the labels come', async () => {
  const namespace = await placeAlone()
  await create(world.client, aClaim(namespace, 'web'))
  assert.match(await refused(namespace, 'web', 'ProjectUnresolved'), new RegExp(labels.upstreamCluster))
  const project = await ipam.join(namespace)
  await ready(namespace, 'web')
  assert.equal((await heldIn(project)).length, 1)
  await ipam.label(namespace, { [labels.upstreamCluster]: null })
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  const from = wire.requests.length
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
  assert.ok(wire.requests.length > from)
})

test('a project without that namespace', async () => {
  const namespace = await placeAlone()
  await ipam.label(namespace, { [labels.upstreamCluster]: 'cluster-alpha', [labels.upstreamNamespace]: 'nowhere' })
  await create(world.client, aClaim(namespace, 'web'))
  assert.match(await refused(namespace, 'web', 'ProjectNamespaceNotFound'), /project alpha has no namespace nowhere/i)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
})

test('B42: on Retain the addresses stay with the interface, come back to the next claim, and go with the interface', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', { ...dual, reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web')
  const held = await heldIn(project)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  assert.deepEqual(await heldIn(project), held)
  await create(world.client, aClaim(namespace, 'web', dual))
  await refused(namespace, 'web', 'ReclaimPolicyMismatch')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  assert.deepEqual(await heldIn(project), held, 'what the interface lists is not the refused claim’s to give back')
  await create(world.client, aClaim(namespace, 'web', { ...dual, reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), held)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await remove(world.client, NetworkInterface, namespace, 'web')
  await gone(world.client, NetworkInterface, namespace, 'web')
  await nothingHeld(project)
})

test('a claim of a retained interface’s name that asks for another interface does not get its addresses', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', { networkInterfaceName: 'kept', reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await create(world.client, aClaim(namespace, 'web', { networkInterfaceName: 'other' }))
  assert.match(await refused(namespace, 'web', 'RetainedAddressConflict'), /interface kept.*networkInterfaceName/)
  const held = await heldIn(project)
  assert.equal(held.length, 1)
  await remove(world.client, NetworkInterface, namespace, 'kept')
  await ready(namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

/** Of another network, under the name that the claim `web` wants. */
function foreignClaim(project: string): IPClaim {
  const role = (kind: string, name: string) => ({ apiGroup: 'networking.datumapis.com', kind, name })
  return {
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'web-f-ipv6', namespace: project },
    spec: { ipFamily: 'IPv6', scope: { network: role('Network', 'elsewhere'), location: role('Location', location) } },
  }
}

test('an IPClaim of another network under the name is a conflict, stands, and the claim goes on when it is gone', async () => {
  const { namespace, project } = await place()
  await ipam.pool('elsewhere', 'fd20:2000::/64')
  const { metadata } = await create(world.client, foreignClaim(project))
  await create(world.client, aClaim(namespace, 'web'))
  assert.match(await refused(namespace, 'web', 'RetainedAddressConflict'), /web-f-ipv6 .*not for network net.*delete it/)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  const stands = (await ipam.claims(project)).map((one) => one.metadata.uid)
  assert.deepEqual(stands, [metadata.uid])
  await create(world.client, aClaim(namespace, 'web'))
  await refused(namespace, 'web', 'RetainedAddressConflict')
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  await ready(namespace, 'web')
})

test('a conflict that ends while the first pass over a claim asks is not waited for', async () => {
  const { namespace, project } = await place()
  const foreign = foreignClaim(project)
  await create(world.client, foreign)
  const slow = wire.on({ method: 'GET', path: /web-f-ipv6$/ }).holdAnswer()
  await create(world.client, aClaim(namespace, 'web'))
  await slow.arrived()
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  // NSO takes away what is held for nobody as soon as it hears of it, and so has heard of the end before.
  const { metadata } = (await world.client.raw(
    { method: 'GET', path: `/api/v1/namespaces/${namespace}` },
    stop.signal,
  )) as KubeObject
  const nobody = { ...aClaim(namespace, 'nobody'), metadata: { name: 'nobody', namespace, uid: 'nobody' } }
  const where = { network: { name: 'net' }, location: { name: location } }
  const wish = { claim: nobody, place: where, project: { name: 'alpha', namespace: project }, namespaceUid: metadata.uid }
  await create(world.client, ipClaimFor(wish, { family: 'IPv6' }))
  await gone(world.client, IPClaim, project, 'nobody-f-ipv6')
  slow.release()
  await ready(namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('a name that is taken when it is asked for and free when it is looked at is asked for again', async () => {
  const { namespace, project } = await place()
  wire.on(post, { times: 3 }).answer(statusAnswer(409, 'AlreadyExists', 'ipclaims.ipam.miloapis.com "web-f-ipv6" already exists'))
  await create(world.client, aClaim(namespace, 'web'))
  await ready(namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('two namespaces of one namespace in the project: the second claim of a name is refused, and takes nothing with it', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web'))
  await ready(namespace, 'web')
  const second = await placeAlone()
  await ipam.label(second, { [labels.upstreamCluster]: 'cluster-alpha', [labels.upstreamNamespace]: project })
  await create(world.client, aClaim(second, 'web'))
  assert.ok((await refused(second, 'web', 'RetainedAddressConflict')).includes(`claim ${namespace}/web`))
  await remove(world.client, NetworkInterfaceClaim, second, 'web')
  await gone(world.client, NetworkInterfaceClaim, second, 'web')
  assert.equal((await heldIn(project)).length, 1)
  await ready(namespace, 'web')
})

/** One more network of the location in the namespace, with IPv4 only. */
async function network(namespace: string, name: string, range: string): Promise<Partial<NetworkInterfaceClaim['spec']>> {
  await ipam.pool(name, range)
  const context = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'NetworkContext',
    metadata: { name: `${name}-${location}`, namespace },
    spec: { network: { name }, location: { name: location }, ipFamilies: ['IPv4'], mtu: 1460 },
  } satisfies NetworkContext
  await create(world.client, context)
  return { network: { name }, ipFamilies: ['IPv4'] }
}

test('a claim that finds no room goes on as soon as another gives its address back', async () => {
  const { namespace, project } = await place()
  const asked = await network(namespace, 'tiny', '10.9.0.0/30')
  await create(world.client, aClaim(namespace, 'first', asked))
  await ready(namespace, 'first')
  await create(world.client, aClaim(namespace, 'second', asked))
  await refused(namespace, 'second', 'AddressPoolExhausted')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'first')
  await ready(namespace, 'second')
  assert.deepEqual(await heldIn(project), ['10.9.0.3/32'])
})

test('an address that was lost while its interface lists it is not published a second time, and holds up one claim only', async () => {
  const { namespace, project } = await place()
  const asked = await network(namespace, 'small', '10.9.1.0/28')
  await create(world.client, aClaim(namespace, 'web', asked))
  await ready(namespace, 'web')
  await remove(world.client, IPClaim, project, 'web-f-ipv4')
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  await create(world.client, aClaim(namespace, 'next', asked))
  assert.match(await refused(namespace, 'next', 'AllocationFailed'), /10\.9\.1\.3\/32, which network interface web lists/)
  await create(world.client, aClaim(namespace, 'third', asked))
  await ready(namespace, 'third')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'third')), ['10.9.1.4/32'])
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await ready(namespace, 'next')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'next')), ['10.9.1.3/32'])
  await Promise.all(['next', 'third'].map((name) => remove(world.client, NetworkInterfaceClaim, namespace, name)))
  await nothingHeld(project)
})

const holding =
  (allocatedCIDR: string | undefined) =>
  (body: IPClaim): unknown => ({ ...body, status: { ...body.status, allocatedCIDR } })
/** Without `told`: it may be asked again before anything is told. */
const lies: { says: string; answer: (body: IPClaim) => unknown; told?: RegExp; status?: number }[] = [
  { says: 'no address', answer: holding(undefined), told: /holds no address/ },
  { says: 'an address of another family', answer: holding('fd20::/96'), told: /no IPv4 block/ },
  { says: 'an address with host bits', answer: holding('10.128.7.7/24'), told: /no block/ },
  { says: 'garbage', answer: holding('10.128.0.0/99'), told: /no block/ },
  { says: 'another IPClaim', answer: (body) => ({ ...body, metadata: { ...body.metadata, name: 'other' } }) },
  { says: 'half of its JSON', answer: () => '{"metadata":{"na' },
  { says: 'a page of an error', answer: () => '<html>', status: 500 },
  {
    says: 'that it is not let in',
    answer: () => ({ kind: 'Status', message: 'Unauthorized' }),
    status: 401,
    told: /Unauthorized/,
  },
]
test('an answer that says what cannot be is told, nothing is published by it, and the next one counts', async () => {
  const { namespace, project } = await place()
  for (const { says, answer, told, status } of lies) {
    const name = says.replaceAll(/[^a-z]+/gi, '-').toLowerCase()
    const lie = wire
      .on({ ...post, where: ({ body }) => (body as IPClaim).metadata.name === `${name}-f-ipv4` }, { times: told ? 100 : 1 })
      .answer(async (_, real) => {
        const said = await real()
        return said.status >= 400 ? said : { ...said, status: status ?? said.status, body: answer(said.body as IPClaim) }
      })
    await create(world.client, aClaim(namespace, name, { ipFamilies: ['IPv4'] }))
    if (told) assert.match(await refused(namespace, name, 'AllocationFailed'), told, says)
    else await eventually('the answer came', async () => lie.count > 0)
    lie.remove()
    await nudge(namespace, name)
    await ready(namespace, name)
  }
  const nics = await world.client.list(NetworkInterface, { namespace }, stop.signal)
  assert.deepEqual(nics.items.flatMap(addressesOf).sort(), await heldIn(project))
})

test('an interface deleted under its claim is made again with the same addresses', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const before = await interfaceOf(namespace, 'web')
  const uids = (await ipam.claims(project)).map(({ metadata }) => metadata.uid)
  await remove(world.client, NetworkInterface, namespace, 'web')
  await eventually('another interface stands', async () => {
    const nic = await find(world.client, NetworkInterface, namespace, 'web')
    return nic !== undefined && nic.metadata.uid !== before.metadata.uid && !nic.metadata.deletionTimestamp
  })
  await ready(namespace, 'web')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), addressesOf(before))
  assert.deepEqual(
    (await ipam.claims(project)).map(({ metadata }) => metadata.uid),
    uids,
  )
  await remove(world.client, NetworkInterface, namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('labels of another project do not move what is allocated: it stands, comes back to an interface made again, and goes', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', { ...dual, reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web')
  const held = await heldIn(project)
  const other = await ipam.join(namespace)
  await create(world.client, aClaim(namespace, 'after'))
  await ready(namespace, 'after')
  assert.equal((await heldIn(other)).length, 1)
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  const { uid } = (await interfaceOf(namespace, 'web')).metadata
  await remove(world.client, NetworkInterface, namespace, 'web')
  await eventually('another interface stands', async () => {
    const nic = await find(world.client, NetworkInterface, namespace, 'web')
    return nic !== undefined && nic.metadata.uid !== uid
  })
  await ready(namespace, 'web')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), held)
  await remove(world.client, IPClaim, project, 'web-f-ipv4')
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  await Promise.all(['web', 'after'].map((name) => remove(world.client, NetworkInterfaceClaim, namespace, name)))
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await remove(world.client, NetworkInterface, namespace, 'web')
  await gone(world.client, NetworkInterface, namespace, 'web')
  await eventually('nothing is held', async () => (await heldIn(project)).length + (await heldIn(other)).length === 0)
})

test('an interface deleted under its claim while the service is away is made again with the same addresses, or given back', async () => {
  const { namespace, project } = await place()
  await Promise.all(['web', 'going'].map((name) => create(world.client, aClaim(namespace, name, dual))))
  await Promise.all(['web', 'going'].map((name) => ready(namespace, name)))
  const held = await heldIn(project)
  const addresses = addressesOf(await interfaceOf(namespace, 'web'))
  await ipam.stop()
  await Promise.all(['web', 'going'].map((name) => remove(world.client, NetworkInterface, namespace, name)))
  await Promise.all(['web', 'going'].map((name) => refused(namespace, name, 'AllocationFailed')))
  await remove(world.client, NetworkInterfaceClaim, namespace, 'going')
  assert.deepEqual(await heldIn(project), held)
  const from = wire.requests.length
  await ipam.restart()
  await ready(namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'going')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), addresses)
  assert.deepEqual(await heldIn(project), addresses)
  const asked = wire.requests
    .slice(from)
    .filter(({ isStream, response, request }) => !isStream && response && /(web|going)-f/.test(request.path))
  // Each address is read and taken up or given back, once; the claim that goes may have been at work when it was deleted.
  assert.ok(asked.length <= 12, asked.map(({ request }) => `${request.method} ${request.path}`).join(', '))
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('two claims of which one IPClaim name follows: the later one is refused, and takes nothing with it', async () => {
  const { namespace, project } = await place()
  const asked = { ipFamilies: ['IPv4'] } satisfies Partial<NetworkInterfaceClaim['spec']>
  await ipam.client.create(IPClass, ipClass('x-f-ipv4', 'IPv4'), { fieldManager: 'test' }, stop.signal)
  await ipam.pool('net', '203.0.113.0/24', 'x-f-ipv4')
  await create(world.client, aClaim(namespace, 'web-c-x', asked))
  await ready(namespace, 'web-c-x')
  const held = await heldIn(project)
  await create(world.client, aClaim(namespace, 'web', { ...asked, addresses: [{ class: 'x-f-ipv4' }] }))
  assert.ok((await refused(namespace, 'web', 'RetainedAddressConflict')).includes(`claim ${namespace}/web-c-x`))
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  assert.deepEqual(await heldIn(project), held)
  await ready(namespace, 'web-c-x')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web-c-x')
  await nothingHeld(project)
})

test('an allocation that is lost is told and counted once, never replaced, and seen when it is back', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const [address = ''] = (await interfaceOf(namespace, 'web')).spec.addresses?.map((one) => one.address) ?? []
  const before = await lost()
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  const claim = await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  const { message = '' } = claim?.status?.conditions?.find(({ type }) => type === 'Allocated') ?? {}
  for (const named of [address, `${project}/web-f-ipv6`, 'alpha']) assert.ok(message.includes(named), message)
  assert.equal(said(claim, 'Ready'), 'False NotAllocated')
  assert.equal(said(claim, 'Bound'), 'True Bound')
  assert.equal(claim?.status?.addresses?.[0]?.address, address)
  const event = await eventually('it is told as an event', async () => {
    const told = (await eventsIn(namespace)).filter(({ reason }) => reason === 'AddressAllocationMissing')
    return told.length > 0 ? told : undefined
  })
  assert.deepEqual(
    event.map(({ type, action, regarding, related }) => [type, action, regarding?.kind, related?.kind]),
    [['Warning', 'VerifyAllocation', 'NetworkInterfaceClaim', 'NetworkInterface']],
  )
  await nudge(namespace, 'web')
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  assert.equal(await lost(), before + 1)
  assert.equal((await ipam.claims(project)).length, 1, 'nothing is allocated in its place')
  const again: IPClaim = {
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'web-f-ipv6', namespace: project },
    spec: { ipFamily: 'IPv6', address: 'fd20:1000::77:0:0/96', scope: (await ipam.claims(project))[0]?.spec.scope ?? {} },
  }
  const through = await throughFront(again)
  await eventually('what it holds instead is told', async () => {
    const now = await find(world.client, NetworkInterfaceClaim, namespace, 'web')
    const text = now?.status?.conditions?.find(({ type }) => type === 'Allocated')?.message ?? ''
    assert.ok(text.includes(address) && text.includes('published') && text.includes(through), text)
    return true
  })
  assert.equal((await interfaceOf(namespace, 'web')).spec.addresses?.[0]?.address, address, 'nothing is renumbered')
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  await throughFront({ ...again, spec: { ...again.spec, address } })
  await ready(namespace, 'web')
  assert.equal(await lost(), before + 1)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('an answer that is older than what another pass has seen counts no address as lost again', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web'))
  await ready(namespace, 'web')
  const [address = ''] = (await interfaceOf(namespace, 'web')).spec.addresses?.map((one) => one.address) ?? []
  const [held] = await ipam.claims(project)
  const before = await lost()
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  await interfaceSays(namespace, 'web', 'False AddressAllocationMissing')
  const slow = wire.on({ method: 'GET', path: /web-f-ipv6$/ }).holdAnswer()
  await nudge(namespace, 'web')
  await slow.arrived()
  const { scope = {} } = held?.spec ?? {}
  await throughFront({
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'web-f-ipv6', namespace: project },
    spec: { ipFamily: 'IPv6', address, scope },
  })
  await eventually('the claim or the interface says that it is back', async () => {
    const both = [await interfaceOf(namespace, 'web'), await find(world.client, NetworkInterfaceClaim, namespace, 'web')]
    return both.some((one) => said(one, 'Allocated') === 'True Allocated')
  })
  slow.release()
  await interfaceSays(namespace, 'web', 'True Allocated')
  await ready(namespace, 'web')
  assert.equal(await lost(), before + 1)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

/** As somebody else at the service; answers the block. */
async function throughFront(claim: IPClaim): Promise<string> {
  const { namespace = '' } = claim.metadata
  const transport = ipam.transport()
  const path = `/apis/ipam.miloapis.com/v1alpha1/namespaces/${namespace}/ipclaims`
  const { status, body } = await transport.send({ method: 'POST', path, body: claim }, stop.signal)
  await transport.close()
  assert.equal(status, 201, JSON.stringify(body))
  return (body as IPClaim).status?.allocatedCIDR ?? ''
}

async function lost(): Promise<number> {
  const page = await nso.operator.manager.metrics.page()
  return Number(/^nso_network_interface_missing_allocations_total\{project="alpha"\} (\d+)$/m.exec(page)?.[1] ?? 0)
}

type Event = { reason: string; type: string; action: string; regarding?: { kind: string }; related?: { kind: string } }

async function eventsIn(namespace: string): Promise<Event[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
  return ((await world.client.raw({ method: 'GET', path }, stop.signal)) as { items: Event[] }).items
}

async function nudge(namespace: string, name: string): Promise<void> {
  const request: ApiRequest = {
    method: 'PATCH',
    path: `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkinterfaceclaims/${name}`,
    contentType: 'application/merge-patch+json',
    body: { metadata: { annotations: { nudged: 'true' } } },
  }
  await world.client.raw(request, stop.signal)
}

test('B44: of two addresses one is refused: the other is given back, and both come when there is room', async () => {
  const { namespace, project } = await place()
  const full = wire
    .on({ ...post, where: ({ body }) => (body as IPClaim).spec.ipFamily === 'IPv4' }, { times: 100 })
    .answer(statusAnswer(507, 'InsufficientStorage', 'full', { name: 'p', causes: [{ reason: 'Exhausted' }] }))
  await create(world.client, aClaim(namespace, 'web', dual))
  assert.match(await refused(namespace, 'web', 'AddressPoolExhausted'), /IPv4.*pool p/)
  await eventually('nothing is held', async () => (await heldIn(project)).length === 0)
  full.remove()
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  assert.equal((await heldIn(project)).length, 2)
})

test('an answer that is lost, of the IPClaim or of the interface: the same addresses are taken up', async () => {
  const { namespace, project } = await place()
  wire.on(post).dropAfter()
  home.on({ method: 'POST', path: /networkinterfaces$/ }).dropAfter()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), await heldIn(project))
  assert.equal((await ipam.allocations(project)).length, 2)
})

test('a crash between IPClaims and interface: another process takes them up, and a claim that goes gives them back', async () => {
  const { namespace, project } = await place()
  const held = home.on({ method: 'POST', path: /networkinterfaces$/ }, { times: 2 }).hold()
  await create(world.client, aClaim(namespace, 'stays', dual))
  await create(world.client, aClaim(namespace, 'goes', dual))
  await held.arrived(2)
  const before = await heldIn(project)
  assert.equal(before.length, 4)
  await nso.stop()
  held.remove()
  await remove(world.client, NetworkInterfaceClaim, namespace, 'goes')
  await start()
  await ready(namespace, 'stays')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'goes')
  const addresses = addressesOf(await interfaceOf(namespace, 'stays'))
  assert.deepEqual(await heldIn(project), addresses)
  assert.ok(addresses.every((one) => before.includes(one)))
})

test('a request that lands after its claim is gone leaves nothing', async () => {
  const { namespace, project } = await place()
  const late = ipam.standIn.on(({ method, path }) => method === 'POST' && path.endsWith('/ipclaims')).hold()
  await create(world.client, aClaim(namespace, 'web'))
  await late.acted()
  await restart()
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  late.release()
  await nothingHeld(project)
})

/** As if it had been on its way all the time; answers the status. */
async function landLate(deletion: ApiRequest | undefined): Promise<number> {
  assert.ok(deletion, 'a deletion was sent')
  const transport = ipam.transport()
  const { status } = await transport.send(deletion, stop.signal)
  await transport.close()
  return status
}

test('a deletion of a roll-back that was not answered is refused once the address is taken up again', async () => {
  const { namespace, project } = await place()
  const full = wire
    .on({ ...post, where: ({ body }) => (body as IPClaim).spec.ipFamily === 'IPv6' }, { times: 100 })
    .answer(statusAnswer(507, 'InsufficientStorage', 'full', { name: 'p', causes: [{ reason: 'Exhausted' }] }))
  const unanswered = wire.on({ method: 'DELETE', path: /web-f-ipv4$/ }, { times: 100 }).dropBefore()
  await create(world.client, aClaim(namespace, 'web', dual))
  await refused(namespace, 'web', 'AddressPoolExhausted')
  const [deletion] = wire.sent({ method: 'DELETE', path: new RegExp(`/${project}/`) })
  const [before] = await heldIn(project)
  full.remove()
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  unanswered.remove()
  assert.equal(await landLate(deletion?.request), 409)
  const held = await heldIn(project)
  assert.equal(held.length, 2)
  assert.ok(held.includes(before), 'the address of the first attempt is used')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), held)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('a deletion of a retained allocation that was not answered is refused once a claim has it again', async () => {
  const { namespace, project } = await place()
  const full = wire
    .on({ ...post, where: ({ body }) => (body as IPClaim).spec.ipFamily === 'IPv6' }, { times: 100 })
    .answer(statusAnswer(507, 'InsufficientStorage', 'full', { name: 'p', causes: [{ reason: 'Exhausted' }] }))
  const deletions = { method: 'DELETE', path: new RegExp(`/${project}/ipallocations/`) } as const
  const unanswered = wire.on(deletions, { times: 100 }).dropBefore()
  await create(world.client, aClaim(namespace, 'web', { ...dual, reclaimPolicy: 'Retain' }))
  await refused(namespace, 'web', 'AddressPoolExhausted')
  full.remove()
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  unanswered.remove()
  const [first] = wire.sent(deletions)
  assert.equal(await landLate(first?.request), 409)
  assert.equal((await ipam.allocations(project)).length, 2)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await remove(world.client, NetworkInterface, namespace, 'web')
  await nothingHeld(project)
})

test('a list of the service that says too little makes no address missing: what it lacks is asked for by name', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const empty = { kind: 'IPClaimList', apiVersion: 'ipam.miloapis.com/v1alpha1', metadata: { resourceVersion: '1' }, items: [] }
  const end = { apiVersion: empty.apiVersion, kind: 'IPClaim', metadata: bookmark }
  await restart((over) => {
    const list = { method: 'GET', path: /\/v1alpha1\/ipclaims$/ } as const
    over.on({ ...list, where: ({ query }) => query?.watch === undefined }, { times: 100 }).answer(answers.ok(empty))
    over.on(list, { times: 100 }).stream([JSON.stringify({ type: 'BOOKMARK', object: end })], 'stays')
  })
  await nudge(namespace, 'web')
  await eventually('it is asked for by name', async () => wire.sent({ method: 'GET', path: /web-f-ipv[46]$/ }).length >= 2)
  await create(world.client, aClaim(namespace, 'after'))
  await ready(namespace, 'after')
  await ready(namespace, 'web')
  assert.equal(await lost(), 0)
  await Promise.all(['web', 'after'].map((name) => remove(world.client, NetworkInterfaceClaim, namespace, name)))
  await nothingHeld(project)
  await restart()
})

/** Ends the first part of a watch that began with what stands. */
const bookmark = { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } }

test('a deletion that a process sent before it died takes nothing from the claim that the next one serves', async () => {
  const { namespace, project } = await place()
  const full = () =>
    wire
      .on({ ...post, where: ({ body }) => (body as IPClaim).spec.ipFamily === 'IPv6' }, { times: 100 })
      .answer(statusAnswer(507, 'InsufficientStorage', 'full', { name: 'p', causes: [{ reason: 'Exhausted' }] }))
  full()
  const late = ipam.standIn.on(({ method, path }) => method === 'DELETE' && path.endsWith('/web-f-ipv4')).hold()
  await create(world.client, aClaim(namespace, 'web', dual))
  await late.acted()
  await restart()
  await ready(namespace, 'web')
  const held = await heldIn(project)
  late.release()
  await create(world.client, aClaim(namespace, 'after'))
  await ready(namespace, 'after')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), held)
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  await Promise.all(['web', 'after'].map((name) => remove(world.client, NetworkInterfaceClaim, namespace, name)))
  await nothingHeld(project)
})

test('an IPClaim that somebody writes to while it is given back goes all the same', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const held = wire.on({ method: 'DELETE', path: /web-f-ipv[46]$/ }, { times: 2 }).hold()
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await held.arrived(2)
  const notes = { 'web-f-ipv4': 'somebody.else/note', 'web-f-ipv6': 'networking.datumapis.com/taken-up-at' }
  for (const [name, note] of Object.entries(notes)) {
    const path = `/apis/ipam.miloapis.com/v1alpha1/namespaces/${project}/ipclaims/${name}`
    const body = { metadata: { annotations: { [note]: 'x' } } }
    await world.client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body }, stop.signal)
  }
  held.release()
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
  const deletions = wire
    .sent({ method: 'DELETE', path: new RegExp(`/${project}/.*/web-f-ipv[46]$`) })
    .filter(({ response }) => response?.status === 409)
  assert.equal(deletions.length, 2)
})

test('a service that refuses to have an IPClaim changed: the claim says so, keeps its address, and goes on when it may', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const held = await heldIn(project)
  const forbidden = wire
    .on({ method: 'PATCH', path: /ipclaims/ }, { times: 100 })
    .answer(statusAnswer(403, 'Forbidden', 'may not'))
  await remove(world.client, NetworkInterface, namespace, 'web')
  assert.match(await refused(namespace, 'web', 'AllocationFailed'), /refused: may not/)
  assert.deepEqual(await heldIn(project), held)
  forbidden.remove()
  await nudge(namespace, 'web')
  await ready(namespace, 'web')
  assert.deepEqual(addressesOf(await interfaceOf(namespace, 'web')), held)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
})

test('a crash between the two deletes of a retained address leaves nothing', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web', { reclaimPolicy: 'Retain' }))
  await ready(namespace, 'web')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  const held = wire.on({ method: 'DELETE', path: /ipallocations/ }).hold()
  await remove(world.client, NetworkInterface, namespace, 'web')
  await held.arrived()
  await nso.stop()
  held.remove()
  assert.equal((await ipam.allocations(project)).length, 1)
  assert.deepEqual(await heldIn(project), [])
  await start()
  await gone(world.client, NetworkInterface, namespace, 'web')
  await nothingHeld(project)
})

test('while the service is away what is bound stays, what is new and what goes say what they wait for, and all go on', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'bound', dual))
  await create(world.client, aClaim(namespace, 'going'))
  await Promise.all([ready(namespace, 'bound'), ready(namespace, 'going')])
  await ipam.stop()
  await create(world.client, aClaim(namespace, 'new'))
  assert.match(await refused(namespace, 'new', 'AllocationFailed'), /does not answer/)
  await remove(world.client, NetworkInterfaceClaim, namespace, 'going')
  await eventually('it says what it waits for', async () => {
    const nic = await find(world.client, NetworkInterface, namespace, 'going')
    const text = JSON.stringify(nic?.status?.conditions)
    assert.match(text, /Deletion waits: Addresses cannot be given back/)
    return true
  })
  await restart()
  await nudge(namespace, 'bound')
  await create(world.client, aClaim(namespace, 'newer'))
  await refused(namespace, 'newer', 'AllocationFailed')
  await ready(namespace, 'bound')
  await ipam.restart()
  await Promise.all([ready(namespace, 'new'), ready(namespace, 'newer')])
  await gone(world.client, NetworkInterfaceClaim, namespace, 'going')
  await ready(namespace, 'bound')
  assert.equal((await heldIn(project)).length, 4)
})

test('a loss that the claim told and its interface not yet is not taken back by the next process while the service is away', async () => {
  const { namespace, project } = await place()
  await create(world.client, aClaim(namespace, 'web'))
  await ready(namespace, 'web')
  const held = home.on({ method: 'PATCH', path: /networkinterfaces\/web\/status$/ }, { times: 1_000 }).hold()
  await remove(world.client, IPClaim, project, 'web-f-ipv6')
  await held.arrived()
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
  await ipam.stop()
  await restart()
  await interfaceSays(namespace, 'web', 'True Allocated')
  await create(world.client, aClaim(namespace, 'new', { ipFamilies: ['IPv4'] }))
  await refused(namespace, 'new', 'AllocationFailed')
  await ipam.restart()
  await ready(namespace, 'new')
  await interfaceSays(namespace, 'web', 'False AddressAllocationMissing')
  const told = (await eventsIn(namespace)).map(({ reason }) => reason)
  assert.deepEqual(
    told.filter((reason) => reason.startsWith('AddressAllocation')),
    ['AddressAllocationMissing'],
  )
  await claimSays(world.client, namespace, 'web', 'Allocated', 'False AddressAllocationMissing')
})

test('an interface that is edited while NSO and the service are away: nothing of it is told or attached, and it is put back', async () => {
  const { namespace, project } = await place()
  await Promise.all(['web', 'other'].map((name) => create(world.client, aClaim(namespace, name))))
  const [claim] = await Promise.all(['web', 'other'].map((name) => ready(namespace, name)))
  const [own, foreign] = await Promise.all(['web', 'other'].map((name) => interfaceOf(namespace, name)))
  const attachment = async () => (await find(world.client, ToyAttachment, namespace, 'web'))?.metadata.generation
  const generation = await attachment()
  await nso.stop()
  await ipam.stop()
  world.recorder.expect({ kind: 'NetworkInterface', namespace, name: 'web', path: 'spec', why: 'edited by hand', maybe: true })
  await merge(world.client, NetworkInterface, namespace, 'web', { spec: { addresses: foreign?.spec.addresses } })
  await start()
  const told = await claimSays(world.client, namespace, 'web', 'Allocated', 'Unknown Pending')
  assert.deepEqual(told?.status?.addresses, claim?.status?.addresses)
  await interfaceSays(namespace, 'web', 'Unknown Pending')
  await create(world.client, aClaim(namespace, 'new'))
  await refused(namespace, 'new', 'AllocationFailed')
  assert.equal(await attachment(), generation)
  await ipam.restart()
  await Promise.all(['web', 'other', 'new'].map((name) => ready(namespace, name)))
  assert.deepEqual((await interfaceOf(namespace, 'web')).spec.addresses, own?.spec.addresses)
  assert.equal(await attachment(), generation)
  assert.equal((await heldIn(project)).length, 3)
})

test('a service that lets nobody watch is asked: claims come, a loss is seen with the next pass, and they go', async () => {
  const { namespace, project } = await place()
  const forbidden = statusAnswer(403, 'Forbidden', 'no')
  const forbid = (over: ScriptedTransport) => {
    over.on({ method: 'GET', path: /\/v1alpha1\/ipclaims$/ }, { times: 10_000 }).answer(forbidden)
    const { stream } = over
    over.stream = async (...asked) => ({ ...(await stream(...asked)), opened: forbidden })
  }
  await restart(forbid)
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  await remove(world.client, IPClaim, project, 'web-f-ipv4')
  await eventually('the loss is told', async () => {
    await nudge(namespace, 'web')
    const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'web')
    return said(claim, 'Allocated') === 'False AddressAllocationMissing'
  })
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  await nothingHeld(project)
  const away = wire.on({ path: /ipam/ }, { times: 100_000 }).dropBefore()
  await create(world.client, aClaim(namespace, 'late'))
  await refused(namespace, 'late', 'AllocationFailed')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'late')
  const waiting = await claimSays(world.client, namespace, 'late', 'Bound', 'Unknown Pending')
  assert.match(JSON.stringify(waiting?.status?.conditions), /Deletion waits: Addresses cannot be given back/)
  away.remove()
  await gone(world.client, NetworkInterfaceClaim, namespace, 'late')
  await restart()
})

test('NSO writes nothing at the service while everything stands, and answers of its own wake nobody', async () => {
  const { namespace } = await place()
  await create(world.client, aClaim(namespace, 'web', dual))
  await ready(namespace, 'web')
  const from = wire.requests.length
  await nudge(namespace, 'web')
  await create(world.client, aClaim(namespace, 'other', dual))
  await ready(namespace, 'other')
  const asked = wire.requests.slice(from).filter(({ isStream }) => !isStream)
  assert.deepEqual(
    asked.map(({ request }) => request.method),
    ['POST', 'POST'],
  )
})
