/** The network controllers with an address service: the stand-in before a real API server that serves its kinds. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { finalizers, labels, Network, NetworkContext, nsoAccount, ServingLocation, Subnet } from '@nso/api'
import { type Client, createCache, createClient, fenceWrites, silentLogger, systemClock, type Transport } from 'kube-control-loop'
import { IPAllocation, IPClaim, IPPool } from 'kube-ipam'
import { alphaPools, clientManifests, type StandIn, standInAccount, standInManifests, startStandIn } from 'kube-ipam/stand-in'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { contains, readBlock } from '../src/addresses/cidr.ts'
import { connectIpam, Namespace } from '../src/addresses/ipam/index.ts'
import { gatewayOf } from '../src/addresses/subnet-range.ts'
import { by, condition, forever, isReady, location, network, startWorld, type WithRanges, type World } from './network-world.ts'
import { aContext, aSubnet } from './objects.ts'
import { transportTo } from './server.ts'

const classes = { network: 'datum-network-v6', subnet: 'datum-subnet-v6' }
const ending = new AbortController()
let world: World
let standIn: StandIn
let front: string
/** Of somebody else who is a client of the service. */
let asUser: Client
let userTransport: Transport

before(async () => {
  world = await startWorld()
  await world.plane.apply([...standInManifests(), ...clientManifests(nsoAccount), ...alphaPools()])
  const kubeconfig = await world.plane.kubeconfigFor({ serviceAccount: standInAccount })
  standIn = await startStandIn({ kubeconfig, signal: ending.signal })
  front = await standIn.kubeconfigFor(await world.plane.kubeconfigFor({ serviceAccount: nsoAccount }))
  userTransport = transportTo(front)
  asUser = createClient(userTransport, { clock: systemClock, jitter: Math.random })
})
after(async () => {
  await userTransport.close()
  ending.abort(new Error('over'))
  await standIn.stop()
  await world[Symbol.asyncDispose]()
})
afterEach(() => world.clearLocations())

type Given = { mayWrite?: () => boolean; retryRefusedMs?: number; classes?: typeof classes }

/** The service as a process has it; writes to it are fenced as those to the cluster. */
function service(given: Given = {}): WithRanges {
  return async (_script, signal) => {
    const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
    const namespaces = createCache(world.client, Namespace, {}, parts)
    const fence = (transport: Transport) => (given.mayWrite ? fenceWrites(transport, { mayWrite: given.mayWrite }) : transport)
    const connection = connectIpam({ transport: transportTo(front), fence, namespaces, ...parts })
    namespaces.run(signal).catch(() => {})
    connection.run(signal).catch(() => {})
    await namespaces.ready(signal)
    const { client, claims, counts } = connection
    const ranges = { client, claims, namespaces, counts }
    return { ...ranges, classes: given.classes ?? classes, retryRefusedMs: given.retryRefusedMs ?? 60_000 }
  }
}

const system = (namespace: string, given: Given = {}) =>
  world.system(namespace, given.mayWrite ? fenceWrites(world.asNso, { mayWrite: given.mayWrite }) : world.asNso, service(given))

const projectLabels = (namespace: string) => ({
  [labels.upstreamCluster]: 'cluster-alpha',
  [labels.upstreamNamespace]: namespace,
})

async function label(namespace: string, wanted: Record<string, string | null>): Promise<void> {
  await world.plane.connection.must({
    method: 'PATCH',
    path: `/api/v1/namespaces/${namespace}`,
    contentType: 'application/merge-patch+json',
    body: { metadata: { labels: wanted } },
  })
}

/** A namespace of the project, where the claims are made in it or in `inProject`. */
async function place(inProject?: string) {
  const namespace = await testNamespace(world.plane, 'ranges')
  await label(namespace.name, projectLabels(inProject ?? namespace.name))
  return namespace
}

const claimsIn = async (namespace: string) => (await world.client.list(IPClaim, { namespace }, forever)).items
const poolsOf = async (name: string) =>
  (await world.client.list(IPPool, {}, forever)).items.filter(({ spec }) => spec.scope?.network?.name === name)
const says = async (kind: typeof Network | typeof NetworkContext, namespace: string, name: string) =>
  condition(await world.find(kind as typeof Network, namespace, name), 'Ready')

const tells = (kind: typeof Network | typeof NetworkContext, namespace: string, name: string, reason: string) =>
  eventually(`${kind.kind} ${name} says ${reason}`, async () => {
    const ready = await says(kind, namespace, name)
    if (ready?.reason !== reason) throw new Error(JSON.stringify(ready))
    return ready
  })

const readyNetwork = (namespace: string, name: string) =>
  eventually(`Network ${name} is ready`, async () => {
    const found = await world.find(Network, namespace, name)
    return found && isReady(found) ? found : undefined
  })

async function nothingIsLeft(namespace: string, name: string): Promise<void> {
  await eventually('claims, pools and Subnets are gone', async () => {
    const left = [
      await world.find(Network, namespace, name),
      await world.find(NetworkContext, namespace, `${name}-dfw`),
      ...(await world.subnetsIn(namespace)),
      ...(await claimsIn(namespace)),
      ...(await poolsOf(name)),
    ]
    return left.every((object) => object === undefined) || undefined
  })
}

/** As the address of an interface is asked for. */
const endpoint = (namespace: string, name: string): IPClaim => {
  const role = (kind: string, of: string) => ({ apiGroup: Network.group, kind, name: of })
  const scope = { network: role('Network', name), location: role('Location', 'dfw') }
  return {
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'web-0-f-ipv6', namespace },
    spec: { ipFamily: 'IPv6', scope },
  }
}

test('B39: networkcontext-ipv6-subnet: network /48, context /64, endpoint /96, and all is given back in order', async () => {
  await using namespace = await place()
  const { name } = namespace
  await using running = await system(name)
  await world.create(ServingLocation, location('dfw'))
  const made = await world.create(Network, network(name, 'net-a', { ipFamilies: ['IPv6', 'IPv4'] }))
  const context = await world.readyContext(name, 'net-a-dfw')
  const net = await readyNetwork(name, 'net-a')
  const prefix = readBlock(net.status?.ipam?.ipv6Prefix ?? '')
  assert.ok(prefix?.prefixLength === 48 && contains(readBlock('fd20:1000::/36') ?? prefix, prefix))
  const [networkClaim, contextClaim] = [`network-${made.metadata.uid}`, `networkcontext-${context.metadata.uid}`]
  assert.deepEqual(net.metadata.finalizers, [finalizers.networkPrefix, finalizers.network])
  const pools = await poolsOf('net-a')
  const poolFor = (length: string) => pools.find(({ spec }) => spec.cidr.endsWith(length))?.metadata.name
  const held = { project: 'alpha', namespace: name }
  assert.deepEqual(net.status?.ipam?.ipv6PrefixRef, { ...held, claimName: networkClaim, poolName: poolFor('/48') })
  assert.deepEqual(context.status?.ipam, {
    ipv6SubnetRef: { name: 'net-a-dfw-ipv6' },
    ipv6ClaimRef: { ...held, claimName: contextClaim, poolName: poolFor('/64') },
  })
  const subnets = await world.subnetsIn(name)
  assert.deepEqual(
    subnets.map(({ metadata }) => metadata.name),
    ['net-a-dfw-ipv6'],
    'no IPv4 Subnet is carved',
  )
  const [subnet] = subnets
  const range = readBlock(`${subnet?.spec.startAddress}/${subnet?.spec.prefixLength}`)
  assert.ok(subnet && range?.prefixLength === 64 && contains(prefix, range))
  assert.deepEqual(subnet.metadata.labels, {
    [labels.network]: 'net-a',
    [labels.networkUid]: made.metadata.uid,
    [labels.location]: 'dfw',
  })
  assert.equal(subnet.metadata.ownerReferences?.[0]?.uid, context.metadata.uid)
  const claims = await claimsIn(name)
  assert.deepEqual(claims.map(({ metadata, spec }) => `${metadata.name} ${spec.target}`).sort(), [
    `${networkClaim} ScopeRange`,
    `${contextClaim} ScopeRange`,
  ])
  assert.deepEqual((await world.client.list(IPAllocation, { namespace: name }, forever)).items, [])

  const address = await asUser.create(IPClaim, endpoint(name, 'net-a'), by, forever)
  const unit = readBlock(address.status?.allocatedCIDR ?? '')
  assert.ok(unit?.prefixLength === 96 && contains(range, unit))
  const gateway = gatewayOf(subnet)
  assert.ok(gateway.kind === 'address' && readBlock(`${gateway.address}/128`)?.start === range.start + 1n)

  await world.remove(made, Network)
  const told = await tells(NetworkContext, name, 'net-a-dfw', 'RangeOccupied')
  assert.match(told.message, new RegExp(`${name}/${contextClaim}`))
  assert.ok((await world.find(NetworkContext, name, 'net-a-dfw'))?.metadata.finalizers?.includes(finalizers.contextSubnet))
  const waits = await world.find(Network, name, 'net-a')
  assert.ok(waits?.metadata.finalizers?.includes(finalizers.networkPrefix))
  await asUser.remove(IPClaim, address.metadata, {}, forever)
  await nothingIsLeft(name, 'net-a')
  assert.equal(running.errors, 0)
})

test('a context that a user applied by hand, spec only, gets its range without a Network, in the namespace of the project', async () => {
  await using inProject = await testNamespace(world.plane, 'project')
  await using namespace = await place(inProject.name)
  await using running = await system(namespace.name)
  const metadata = { namespace: namespace.name, name: 'net-b-dfw', uid: '' }
  const spec = { network: { name: 'net-b' }, location: { name: 'dfw' }, ipFamilies: ['IPv6' as const] }
  await world.create(NetworkContext, aContext({ metadata, spec }))
  const context = await world.readyContext(namespace.name, 'net-b-dfw')
  assert.deepEqual(
    (await claimsIn(inProject.name)).map((claim) => claim.metadata.name),
    [`networkcontext-${context.metadata.uid}`],
  )
  assert.equal((await world.subnetsIn(namespace.name)).length, 1)
  await label(namespace.name, { [labels.upstreamCluster]: null, [labels.upstreamNamespace]: null })
  await eventually('nothing is left to do', () => running.idle() || undefined)
  assert.ok(isReady(await world.find(NetworkContext, namespace.name, 'net-b-dfw')), 'what is held is held')
  await world.remove(context, NetworkContext)
  await eventually('it is given back though the namespace lost its labels', async () => {
    const left = [...(await claimsIn(inProject.name)), await world.find(NetworkContext, namespace.name, 'net-b-dfw')]
    return left.every((object) => object === undefined) || undefined
  })
  assert.equal(running.errors, 0)
})

test('a restart moves no range, though the labels of the namespace name another place before claims are listed', async () => {
  await using namespace = await place()
  await using other = await testNamespace(world.plane, 'project')
  const { name } = namespace
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(name, 'net-l'))
  {
    await using _first = await system(name)
    await world.readyContext(name, 'net-l-dfw')
    await readyNetwork(name, 'net-l')
  }
  const held = (await claimsIn(name)).map(({ metadata }) => metadata.uid)
  await label(name, projectLabels(other.name))
  const unlisted = standIn.on(({ method, path }) => method === 'GET' && path.endsWith('/ipclaims'), { times: 1_000_000 }).drop()
  await using again = await system(name)
  await eventually('it looked at everything, and has no list of claims', () => (again.idle() && unlisted.count > 1) || undefined)
  unlisted.remove()
  await eventually('nothing is left to do', () => again.idle() || undefined)
  assert.deepEqual(await claimsIn(other.name), [])
  assert.deepEqual(
    (await claimsIn(name)).map(({ metadata }) => metadata.uid),
    held,
  )
  assert.equal((await world.find(Network, name, 'net-l'))?.status?.ipam?.ipv6PrefixRef?.namespace, name)
  assert.deepEqual(again.writes(), [])
  await world.remove(net, Network)
  await nothingIsLeft(name, 'net-l')
  assert.equal(again.errors, 0)
})

test('B33: a namespace without project is told of, and labelling it is enough', async () => {
  await using namespace = await testNamespace(world.plane, 'ranges')
  await using running = await system(namespace.name)
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(namespace.name, 'net-c'))
  const told = await tells(Network, namespace.name, 'net-c', 'ProjectUnresolved')
  assert.match(told.message, new RegExp(labels.upstreamCluster))
  assert.deepEqual(await claimsIn(namespace.name), [])
  await label(namespace.name, projectLabels(namespace.name))
  await world.readyContext(namespace.name, 'net-c-dfw')
  await world.remove(net, Network)
  await nothingIsLeft(namespace.name, 'net-c')
  assert.equal(running.errors, 0)
})

test('a refusal of the service is told, stands, and is asked again', async () => {
  await using namespace = await place()
  const { name } = namespace
  const exhausted = standIn
    .on(({ method, path }) => method === 'POST' && path.includes(`/${name}/ipclaims`), { times: 3 })
    .fail(507, {
      kind: 'Status',
      status: 'Failure',
      code: 507,
      message: 'no room',
      details: { name: 'alpha-v6', causes: [{ reason: 'Exhausted', message: 'no free /48' }] },
    })
  await using running = await system(name, { retryRefusedMs: 100 })
  const net = await world.create(Network, network(name, 'net-d'))
  const told = await tells(Network, name, 'net-d', 'AddressPoolExhausted')
  assert.match(told.message, /alpha-v6.*no free \/48/)
  await readyNetwork(name, 'net-d')
  assert.equal(exhausted.count, 3)
  await world.remove(net, Network)
  await nothingIsLeft(name, 'net-d')
  assert.equal(running.errors, 0)
})

test('a class that the service does not offer is told of network and context', async () => {
  await using namespace = await place()
  const { name } = namespace
  await using _running = await system(name, { classes: { network: 'none', subnet: 'none' } })
  const net = await world.create(Network, network(name, 'net-e'))
  await tells(Network, name, 'net-e', 'AddressAllocationRejected')
  const metadata = { namespace: name, name: 'net-x-dfw', uid: '' }
  const context = await world.create(NetworkContext, aContext({ metadata, spec: { network: { name: 'net-x' } } }))
  await tells(NetworkContext, name, 'net-x-dfw', 'AddressAllocationRejected')
  await world.remove(net, Network)
  await world.remove(context, NetworkContext)
  await nothingIsLeft(name, 'net-e')
})

test('a service that is away is told of, what is on record stays, and it goes on by itself when the service is back', async () => {
  await using namespace = await place()
  const { name } = namespace
  const away = standIn.on(({ path }) => path.includes('ipclaims') || path.endsWith('/v1alpha1'), { times: 1_000_000 }).drop()
  await using running = await system(name)
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(name, 'net-f'))
  await tells(Network, name, 'net-f', 'AllocationFailed')
  away.remove()
  await world.readyContext(name, 'net-f-dfw')
  const again = standIn.on(({ path }) => path.includes('ipclaims') || path.endsWith('/v1alpha1'), { times: 1_000_000 }).drop()
  {
    await using another = await system(name)
    await eventually('a process that starts meanwhile has asked', () => again.count > 2 || undefined)
    await eventually('it has looked at everything', () => another.script.requests.length > 0 || undefined)
    assert.equal((await says(Network, name, 'net-f'))?.status, 'True')
    assert.deepEqual(another.writes(), [])
  }
  await world.remove(net, Network)
  const told = await tells(NetworkContext, name, 'net-f-dfw', 'AllocationFailed')
  assert.match(told.message, /does not answer/)
  again.remove()
  await nothingIsLeft(name, 'net-f')
  assert.equal(running.errors, 0)
})

test('answers that were lost, and a second leader, lead to one claim and one Subnet', async () => {
  await using namespace = await place()
  const { name } = namespace
  const lost = standIn.on(({ method, path }) => method === 'POST' && path.includes(`/${name}/ipclaims`), { times: 2 }).lose()
  await using _first = await system(name)
  await using _second = await system(name)
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(name, 'net-g'))
  await world.readyContext(name, 'net-g-dfw')
  assert.equal((await claimsIn(name)).length, 2)
  assert.equal((await world.subnetsIn(name)).length, 1)
  assert.ok(lost.count >= 1)
  const lostToo = standIn.on(({ method, path }) => method === 'DELETE' && path.includes(`/${name}/ipclaims`), { times: 2 }).lose()
  await world.remove(net, Network)
  await nothingIsLeft(name, 'net-g')
  assert.ok(lostToo.count >= 1)
})

test('a Subnet made by hand is the range of the context, and one of another range is told, not changed', async () => {
  await using namespace = await place()
  const { name } = namespace
  await using running = await system(name)
  const spec = { network: { name: 'net-h' }, location: { name: 'dfw' } }
  const at = { namespace: name, uid: '' }
  const byHand = { networkContext: { name: 'net-h-dfw' }, startAddress: 'fd99::', prefixLength: 64 }
  await world.create(Subnet, aSubnet({ metadata: { ...at, name: 'by-hand' }, spec: byHand }))
  const context = await world.create(NetworkContext, aContext({ metadata: { ...at, name: 'net-h-dfw' }, spec }))
  const ready = await world.readyContext(name, 'net-h-dfw')
  assert.deepEqual(ready.status?.ipam, { ipv6SubnetRef: { name: 'by-hand' } })
  assert.deepEqual(await claimsIn(name), [])
  const owned = {
    ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkContext', name: 'net-i-dfw' },
    uid: '',
  }
  const other = await world.create(
    NetworkContext,
    aContext({ metadata: { ...at, name: 'net-i-dfw' }, spec: { ...spec, ipFamilies: ['IPv4'], network: { name: 'net-i' } } }),
  )
  owned.uid = other.metadata.uid ?? ''
  const carved = { ...byHand, networkContext: { name: 'net-i-dfw' } }
  const earlier = { kind: 'Subnet', namespace: name, name: 'net-i-dfw-ipv6', path: '*' }
  world.recorder.expect({ ...earlier, why: 'the test plays an NSO without an address service' })
  await world.create(Subnet, aSubnet({ metadata: { ...at, name: 'net-i-dfw-ipv6', ownerReferences: [owned] }, spec: carved }))
  await world.client.jsonPatch(
    NetworkContext,
    other.metadata,
    [{ op: 'replace', path: '/spec/ipFamilies', value: ['IPv6'] }],
    by,
    forever,
  )
  const told = await tells(NetworkContext, name, 'net-i-dfw', 'AllocationFailed')
  assert.match(told.message, /Subnet net-i-dfw-ipv6 is fd99::\/64, but IPClaim .* holds fd20:1000:/)
  assert.equal((await world.find(Subnet, name, 'net-i-dfw-ipv6'))?.spec.startAddress, 'fd99::')
  await world.remove(context, NetworkContext)
  await world.remove(other, NetworkContext)
  await eventually('the claim is given back', async () => (await claimsIn(name)).length === 0 || undefined)
  assert.equal(running.errors, 0)
})

test('a process without an address service leaves what one holds, and says so', async () => {
  await using namespace = await place()
  const { name } = namespace
  await world.create(ServingLocation, location('dfw'))
  const net = await world.create(Network, network(name, 'net-j'))
  {
    await using _with = await system(name)
    await world.readyContext(name, 'net-j-dfw')
  }
  {
    await using without = await world.system(name)
    await world.remove(net, Network)
    const told = await tells(NetworkContext, name, 'net-j-dfw', 'AllocationFailed')
    assert.match(told.message, /--ipam-kubeconfig/)
    assert.equal((await claimsIn(name)).length, 2)
    assert.equal(without.errors, 0)
  }
  await using _again = await system(name)
  await nothingIsLeft(name, 'net-j')
})

test('a crash before any write, here or at the service, ends in the same world, and leaves nothing after the tear-down', async () => {
  await world.create(ServingLocation, location('dfw'))
  const shape = async (namespace: string) => {
    const objects = [
      ...(await world.client.list(Network, { namespace }, forever)).items,
      ...(await world.client.list(NetworkContext, { namespace }, forever)).items,
      ...(await world.subnetsIn(namespace)),
    ]
    return {
      claims: (await claimsIn(namespace)).map(({ metadata, spec }) => `${metadata.name.split('-')[0]} ${spec.className}`).sort(),
      objects: objects.map((object) => ({
        name: object.metadata.name,
        finalizers: object.metadata.finalizers,
        conditions: object.status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort(),
      })),
    }
  }
  const cutAfter = (count: number) => {
    const mayWrite = () => {
      counted.writes += 1
      return counted.writes <= count
    }
    const counted = { writes: 0, mayWrite }
    return counted
  }
  const isUp = async (name: string) => {
    await world.readyContext(name, 'net-k-dfw')
    await eventually('the Subnet is allocated', async () => {
      const [subnet] = await world.subnetsIn(name)
      return condition(subnet, 'Allocated')?.status === 'True' || undefined
    })
  }
  const run = async (up: number, down: number) => {
    await using namespace = await place()
    const { name } = namespace
    const net = await world.create(Network, network(name, 'net-k'))
    const [rising, falling] = [cutAfter(up), cutAfter(down)]
    {
      await using first = await system(name, { mayWrite: rising.mayWrite })
      await eventually('nothing more gets through', async () => {
        if (rising.writes > up) return true
        return (first.idle() && isReady(await world.find(NetworkContext, name, 'net-k-dfw'))) || undefined
      })
    }
    let stood: Awaited<ReturnType<typeof shape>>
    {
      await using second = await system(name)
      await isUp(name)
      stood = await shape(name)
      assert.equal(second.errors, 0)
    }
    await world.remove(net, Network)
    {
      await using _third = await system(name, { mayWrite: falling.mayWrite })
      await eventually('nothing more gets through', async () => {
        if (falling.writes > down) return true
        return (await world.find(Network, name, 'net-k')) === undefined || undefined
      })
    }
    await using fourth = await system(name)
    await nothingIsLeft(name, 'net-k')
    assert.equal(fourth.errors, 0)
    return { stood, writes: { up: rising.writes, down: falling.writes } }
  }
  const calm = await run(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  assert.ok(calm.writes.up >= 10 && calm.writes.down >= 7, JSON.stringify(calm.writes))
  const most = Math.max(calm.writes.up, calm.writes.down)
  const step = process.env.SOAK ? 1 : 4
  for (let n = 0; n < most; n += step) assert.deepEqual((await run(n, n)).stood, calm.stood, `crash before write ${n}`)
})
