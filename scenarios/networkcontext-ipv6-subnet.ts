import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { contextName, Network, NetworkContext, Subnet } from '@nso/api'
import { VPC } from 'galactic/api'
import { IPClaim, IPPool } from 'kube-ipam'
import { addressesOf, allReleased, claim, ready, release } from './expect.ts'
import type { Found, Scenario, ScenarioWorld } from './scenario.ts'

export const networkContextIpv6Subnet: Scenario = {
  name: 'networkcontext-ipv6-subnet',
  about: 'A context has an IPv6 Subnet, a /64 of its network’s /48; addresses come from it, and it goes with the context.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    const context = contextName(world.network, world.location)
    world.step('the context has its Subnet, and nothing is allocated in it')
    const range = await subnetRange(world, context)
    assert.match(range, /::\/64$/)
    assert.ok(isInside(range, await prefixOf(world)), `${range} is inside the network's prefix`)
    assert.deepEqual(await world.allocations(), [])
    const ranges = await heldRanges(world)

    world.step('a claim gets a /96 inside, with the address after the start as its gateway')
    await claim(world, 'web', { ipFamilies: ['IPv6'] })
    const [address, ...more] = addressesOf(await ready(world, 'web'))
    assert.deepEqual(more, [])
    assert.match(address?.address ?? '', /\/96$/)
    assert.ok(isInside(address?.address ?? '', range), `${address?.address} is inside ${range}`)
    assert.equal(address?.gateway, range.replace(/\/64$/, '1'))

    world.step('delete the claim, then the network: context, Subnet and ranges go')
    await release(world, 'web')
    await allReleased(world)
    await world.remove(Network, world.network)
    await world.until('network, context, Subnet and what the data plane had of them are gone', async () => {
      for (const [kind, name] of [
        [Network, world.network],
        [NetworkContext, context],
        [Subnet, `${context}-ipv6`],
        [VPC, context],
      ] as const) {
        const found = await world.find(kind, name)
        if (found) throw new Error(`there is ${kind.kind} ${name} (${found.metadata.finalizers})`)
      }
    })
    await rangesGone(world, ranges)
  },
}

async function subnetRange(world: ScenarioWorld, context: string): Promise<string> {
  const status = await world.until('the Subnet says what it holds', async () => {
    const subnet = await world.find(Subnet, `${context}-ipv6`)
    if (!subnet?.status?.startAddress) throw new Error(`it is ${JSON.stringify(subnet)}`)
    return subnet.status
  })
  return `${status.startAddress}/${status.prefixLength}`
}

/** The /48 that the network holds by its status. */
async function prefixOf(world: ScenarioWorld): Promise<string> {
  const network = await world.until('the network says its prefix', async () => {
    const found = await world.find(Network, world.network)
    if (!ipamOf(found)?.ipv6Prefix) throw new Error(`it is ${JSON.stringify(found?.status)}`)
    return found
  })
  const prefix = ipamOf(network)?.ipv6Prefix ?? ''
  assert.match(prefix, /::\/48$/)
  return prefix
}

const ipamOf = (found: Found | undefined) => found?.status?.ipam as { ipv6Prefix?: string } | undefined

function isInside(cidr: string, range: string): boolean {
  const [start = '', length] = range.split('/')
  const [address = '', own] = cidr.split('/')
  const list = new BlockList()
  list.addSubnet(start, Number(length), 'ipv6')
  return list.check(address, 'ipv6') && Number(own) >= Number(length)
}

type Ranges = { claims: readonly string[]; pools: readonly string[] }

/** IPClaims that bind a range, by name, and the pools that they bind. Built in there are none. */
async function heldRanges(world: ScenarioWorld): Promise<Ranges> {
  if (world.mode === 'builtin') return { claims: [], pools: [] }
  const uids = await Promise.all([
    world.find(Network, world.network),
    world.find(NetworkContext, contextName(world.network, world.location)),
  ])
  const claims = await rangeClaims(world)
  assert.deepEqual(
    claims.map(({ metadata }) => metadata.name).sort(),
    [`network-${uids[0]?.metadata.uid}`, `networkcontext-${uids[1]?.metadata.uid}`].sort(),
  )
  const pools = claims.flatMap(({ status }) => status?.poolRef?.name ?? [])
  assert.equal(pools.length, claims.length, 'each range is a pool')
  return { claims: claims.map(({ metadata }) => metadata.name), pools }
}

async function rangeClaims(world: ScenarioWorld) {
  const { items } = await world.service.list(IPClaim, { namespace: world.serviceNamespace() }, AbortSignal.timeout(30_000))
  return items.filter(({ spec }) => spec.target === 'ScopeRange')
}

async function rangesGone(world: ScenarioWorld, { claims, pools }: Ranges): Promise<void> {
  if (world.mode === 'builtin') return
  await world.until('the ranges are given back', async () => {
    const left = (await rangeClaims(world)).map(({ metadata }) => metadata.name)
    assert.deepEqual(
      left.filter((name) => claims.includes(name)),
      [],
    )
    const { items } = await world.service.list(IPPool, {}, AbortSignal.timeout(30_000))
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name).filter((name) => pools.includes(name)),
      [],
    )
  })
}
