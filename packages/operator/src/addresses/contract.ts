/**
 * What every AddressAllocator promises, as cases that run against an adapter and the server it really works on.
 * A case gets a world of its own and says afterwards what stands.
 */
import assert from 'node:assert/strict'
import type { NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { WriteRaced } from 'kube-control-loop'
import type { AddressAllocator, AddressRequest, Allocation } from './port.ts'

export type AllocatorWorld = {
  readonly context: NetworkContext
  /** A live allocator with a view of its own, as another process would have. */
  allocator(): Promise<AddressAllocator>
  claim(name: string, spec?: Partial<NetworkInterfaceClaim['spec']>): NetworkInterfaceClaim
  subnet(name: string, range: string, subnetClass?: string): Subnet
  /** The interface of a claim, with these addresses. */
  interface(
    claim: NetworkInterfaceClaim,
    addresses: readonly string[],
    external?: readonly { address: string; class: string }[],
  ): NetworkInterface
  /** What the server says is held, in canonical form and order. */
  held(): Promise<string[]>
  /** Takes a held address away behind the allocator's back, and waits until `allocator` has seen it. */
  lose(allocator: AddressAllocator, cidr: string): Promise<void>
}

export type AllocatorCase = { readonly name: string; run(world: AllocatorWorld): Promise<void> }

const signal = AbortSignal.timeout(120_000)
const ipv4: AddressRequest = { family: 'IPv4' }
const ipv6: AddressRequest = { family: 'IPv6' }

/** As the controller loop does: a lost race is taken up again. */
async function allocate(
  world: AllocatorWorld,
  allocator: AddressAllocator,
  claim: NetworkInterfaceClaim,
  given: { subnets: readonly Subnet[]; wants: readonly AddressRequest[] },
): Promise<Allocation> {
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      return await allocator.allocate({ claim, context: world.context, ...given }, signal)
    } catch (error) {
      if (!(error instanceof WriteRaced)) throw error
    }
  }
  throw new Error('fifty lost races in a row')
}

function cidrs(allocation: Allocation): string[] {
  assert.equal(allocation.kind, 'allocated', allocation.kind === 'refused' ? allocation.message : '')
  return allocation.kind === 'allocated' ? allocation.addresses.map(({ cidr }) => cidr) : []
}

function assertRefused(allocation: Allocation, reason: string, message: RegExp): void {
  assert.equal(allocation.kind, 'refused')
  if (allocation.kind !== 'refused') return
  assert.equal(allocation.reason, reason)
  assert.match(allocation.message, message)
}

const sameAddressesAgain: AllocatorCase = {
  name: 'the same claim gets the same addresses again, also from an allocator that starts afterwards',
  async run(world) {
    const given = { subnets: [world.subnet('v6', 'fd20::/64'), world.subnet('v4', '10.0.0.0/24')], wants: [ipv6, ipv4] }
    const claim = world.claim('a')
    const first = await world.allocator()
    const addresses = cidrs(await allocate(world, first, claim, given))
    assert.equal(addresses.length, 2)
    assert.deepEqual(cidrs(await allocate(world, first, claim, given)), addresses)
    assert.deepEqual(cidrs(await allocate(world, await world.allocator(), claim, given)), addresses)
    assert.deepEqual(await world.held(), [...addresses].sort())
  },
}

const twoAtOnceOneClaim: AllocatorCase = {
  name: 'two live allocators asked for one claim at the same time answer the same addresses',
  async run(world) {
    const given = { subnets: [world.subnet('v6', 'fd20::/64'), world.subnet('v4', '10.0.0.0/28')], wants: [ipv6, ipv4] }
    const [one, other] = [await world.allocator(), await world.allocator()]
    const claim = world.claim('a')
    const [mine, theirs] = await Promise.all([allocate(world, one, claim, given), allocate(world, other, claim, given)])
    assert.deepEqual(cidrs(mine), cidrs(theirs))
    assert.deepEqual(await world.held(), cidrs(mine).sort())
  },
}

const twoAtOnceManyClaims: AllocatorCase = {
  name: 'two live allocators never hand out one address twice, and fill a range to its last address',
  async run(world) {
    const given = { subnets: [world.subnet('v4', '10.0.0.0/28')], wants: [ipv4] }
    const allocators = [await world.allocator(), await world.allocator()]
    const claims = Array.from({ length: 16 }, (_, n) => world.claim(`c${n}`))
    const answers = await Promise.all(
      claims.flatMap((claim, n) => allocators.slice(n % 2, (n % 2) + 1).map((each) => allocate(world, each, claim, given))),
    )
    const got = answers.filter(({ kind }) => kind === 'allocated').flatMap(cidrs)
    assert.equal(got.length, 13)
    assert.equal(new Set(got).size, 13)
    for (const refused of answers.filter(({ kind }) => kind === 'refused'))
      assertRefused(refused, 'AddressPoolExhausted', /v4 \(10\.0\.0\.0\/28\)/)
    assert.deepEqual(await world.held(), [...got].sort())
  },
}

const allOrNothing: AllocatorCase = {
  name: 'B44: a claim of two families gets both or none, and both once there is room',
  async run(world) {
    const allocator = await world.allocator()
    const v4 = world.subnet('v4', '10.0.0.0/24')
    const full = world.subnet('v6', 'fd20::/128')
    const holder = await allocate(world, allocator, world.claim('holder'), { subnets: [full], wants: [ipv6] })
    const before = cidrs(holder)
    const claim = world.claim('a', { ipFamilies: ['IPv4', 'IPv6'] })
    for (let n = 0; n < 20; n += 1) {
      const answer = await allocate(world, allocator, claim, { subnets: [v4, full], wants: [ipv4, ipv6] })
      assertRefused(answer, 'AddressPoolExhausted', /IPv6/)
      assert.deepEqual(await world.held(), before)
    }
    const both = await allocate(world, allocator, claim, { subnets: [v4, world.subnet('v6', 'fd20::/64')], wants: [ipv4, ipv6] })
    assert.equal(cidrs(both).length, 2)
    assert.equal((await world.held()).length, 3)
  },
}

const leftoverGivenBackOnRefusal: AllocatorCase = {
  name: 'a claim that can be served no longer keeps nothing of an earlier attempt',
  async run(world) {
    const allocator = await world.allocator()
    const v4 = world.subnet('v4', '10.0.0.0/24')
    const claim = world.claim('a')
    cidrs(await allocate(world, allocator, claim, { subnets: [v4], wants: [ipv4] }))
    assertRefused(
      await allocate(world, allocator, claim, { subnets: [v4], wants: [ipv4, ipv6] }),
      'AddressAllocationRejected',
      /no IPv6 Subnet of class private yet/,
    )
    assert.deepEqual(await world.held(), [])
  },
}

const hopelessClaimAlone: AllocatorCase = {
  name: 'B32: a claim that can never be served does not hold up the others',
  async run(world) {
    const allocator = await world.allocator()
    const given = { subnets: [world.subnet('v4', '10.0.0.0/24')] }
    const hopeless = world.claim('a-first', { ipFamilies: ['IPv6'] })
    const claims = Array.from({ length: 99 }, (_, n) => world.claim(`good-${n}`))
    // Not taken up again after a lost race: passes side by side in one process never meet on one address.
    const once = (claim: NetworkInterfaceClaim, wants: readonly AddressRequest[]) =>
      allocator.allocate({ claim, context: world.context, ...given, wants }, signal)
    const [bad, ...good] = await Promise.all([once(hopeless, [ipv6]), ...claims.map((claim) => once(claim, [ipv4]))])
    assertRefused(bad, 'AddressAllocationRejected', /IPv6/)
    assert.equal(new Set(good.flatMap(cidrs)).size, 99)
  },
}

const classes: AllocatorCase = {
  name: 'an address of a class comes from a Subnet of that class, and a family never does',
  async run(world) {
    const allocator = await world.allocator()
    const inner = world.subnet('v4', '10.0.0.0/24')
    const outer = world.subnet('public', '198.51.100.0/24', 'datum-public-v4')
    const claim = world.claim('a', { ipFamilies: ['IPv4'], addresses: [{ class: 'datum-public-v4' }] })
    const wants = [ipv4, { class: 'datum-public-v4' }]
    const answer = await allocate(world, allocator, claim, { subnets: [outer, inner], wants })
    const [family, named] = cidrs(answer)
    assert.match(family ?? '', /^10\.0\.0\.\d+\/32$/)
    assert.match(named ?? '', /^198\.51\.100\.\d+\/32$/)
    assert.deepEqual(answer.kind === 'allocated' && answer.addresses.map(({ external }) => external), [false, true])
    const lacking = { subnets: [inner], wants: [{ class: 'datum-public-v6' }] }
    assertRefused(
      await allocate(world, allocator, world.claim('b'), lacking),
      'AddressAllocationRejected',
      /class datum-public-v6/,
    )
    const wrongFamily = { subnets: [outer], wants: [{ class: 'datum-public-v4' }] }
    const six = world.claim('c', { ipFamilies: ['IPv6'] })
    assertRefused(await allocate(world, allocator, six, wrongFamily), 'AddressAllocationRejected', /offers IPv4/)
  },
}

const releaseFrees: AllocatorCase = {
  name: 'what is released can be handed out again, and nothing else is given back',
  async run(world) {
    const allocator = await world.allocator()
    const given = { subnets: [world.subnet('v4', '10.0.0.0/30')], wants: [ipv4] }
    const kept = cidrs(
      await allocate(world, allocator, world.claim('kept'), { ...given, subnets: [world.subnet('o', '10.0.1.0/30')] }),
    )
    const first = world.claim('a')
    const [address = ''] = cidrs(await allocate(world, allocator, first, given))
    assertRefused(await allocate(world, allocator, world.claim('b'), given), 'AddressPoolExhausted', /10\.0\.0\.0\/30/)
    await allocator.releaseInterface(world.interface(first, [address]), signal)
    await allocator.releaseInterface(world.interface(first, [address]), signal)
    assert.deepEqual(cidrs(await allocate(world, allocator, world.claim('b'), given)), [address])
    const second = world.claim('b')
    await allocator.releaseClaim(
      { namespace: second.metadata.namespace ?? '', name: 'b', uid: second.metadata.uid ?? '' },
      signal,
    )
    assert.deepEqual(await world.held(), kept)
  },
}

const anySpelling: AllocatorCase = {
  name: 'B45: an address is held, found and released in whatever spelling the interface lists it',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [world.subnet('v6', '2001:DB8:0:0::0/126'), world.subnet('v4', '::ffff:10.0.0.0/127')]
    const claim = world.claim('a', { ipFamilies: ['IPv6', 'IPv4'] })
    const [six = '', four = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv6, ipv4] }))
    assert.match(six, /^2001:db8::[23]\/128$/)
    assert.match(four, /^10\.0\.0\.[01]\/32$/)
    const shouted = six.replace('2001:db8::', '2001:0DB8:0000:0:0:0:0:')
    const mapped = `::FFFF:${four.replace('/32', '')}`
    const nic = world.interface(claim, [shouted, mapped])
    assert.deepEqual(await allocator.verify({ interface: nic, context: world.context, subnets }, signal), { kind: 'standing' })
    await allocator.releaseSurplus(claim, nic, signal)
    assert.deepEqual(await world.held(), [six, four].sort())
    await allocator.releaseInterface(nic, signal)
    assert.deepEqual(await world.held(), [])
  },
}

const surplusGoes: AllocatorCase = {
  name: 'what a claim holds and its interface does not list is surplus',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [world.subnet('v6', 'fd20::/64'), world.subnet('v4', '10.0.0.0/24')]
    const claim = world.claim('a')
    const [six = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv6, ipv4] }))
    await allocator.releaseSurplus(claim, world.interface(claim, [six]), signal)
    assert.deepEqual(await world.held(), [six])
  },
}

const missingIsMadeAgain: AllocatorCase = {
  name: 'an allocation lost behind a live interface is made again; taken by another it is missing, and nothing is renumbered',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [world.subnet('v4', '10.0.0.0/30')]
    const claim = world.claim('a')
    const [address = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv4] }))
    const nic = world.interface(claim, [address])
    await world.lose(allocator, address)
    assert.deepEqual(await world.held(), [])
    assert.deepEqual(await allocator.verify({ interface: nic, context: world.context, subnets }, signal), { kind: 'standing' })
    assert.deepEqual(await world.held(), [address])
    await world.lose(allocator, address)
    assert.deepEqual(cidrs(await allocate(world, allocator, world.claim('thief'), { subnets, wants: [ipv4] })), [address])
    const answer = await allocator.verify({ interface: nic, context: world.context, subnets }, signal)
    assert.equal(answer.kind, 'missing')
    if (answer.kind === 'missing') assert.match(`${answer.address} ${answer.message}`, /10\.0\.0\.2.*thief/)
    await allocator.releaseInterface(nic, signal)
    assert.deepEqual(await world.held(), [address], 'what the other holds stands')
  },
}

const withoutContext: AllocatorCase = {
  name: 'while the context is missing it is told what stands, and nothing is allocated',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [world.subnet('v4', '10.0.0.0/30')]
    const claim = world.claim('a')
    const [address = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv4] }))
    const nic = world.interface(claim, [address])
    const answer = () => allocator.verify({ interface: nic, context: undefined, subnets: [] }, signal)
    assert.deepEqual(await answer(), { kind: 'standing' })
    await world.lose(allocator, address)
    assert.equal((await answer()).kind, 'unknown')
    assert.deepEqual(await world.held(), [])
    await allocate(world, allocator, world.claim('thief'), { subnets, wants: [ipv4] })
    assert.equal((await answer()).kind, 'missing')
  },
}

const shrunkRange: AllocatorCase = {
  name: 'B48: an address outside the present range stays with its holder and is given to nobody when the range grows back',
  async run(world) {
    const allocator = await world.allocator()
    const claims = Array.from({ length: 13 }, (_, n) => world.claim(`c${n}`))
    const wide = { subnets: [world.subnet('v4', '10.0.0.0/28')], wants: [ipv4] }
    const narrow = { subnets: [world.subnet('v4', '10.0.0.0/29')], wants: [ipv4] }
    const held = await Promise.all(claims.map(async (claim) => cidrs(await allocate(world, allocator, claim, wide))))
    const after = await Promise.all(claims.map(async (claim) => cidrs(await allocate(world, allocator, claim, narrow))))
    assert.deepEqual(after, held)
    assertRefused(await allocate(world, allocator, world.claim('late'), narrow), 'AddressPoolExhausted', /\/29/)
    assertRefused(await allocate(world, allocator, world.claim('late'), wide), 'AddressPoolExhausted', /\/28/)
    const second = { subnets: [...wide.subnets, world.subnet('v4-more', '10.0.0.0/27')], wants: [ipv4] }
    const [more = ''] = cidrs(await allocate(world, allocator, world.claim('late'), second))
    assert.ok(!held.flat().includes(more), `${more} is held already`)
  },
}

export const allocatorCases: readonly AllocatorCase[] = [
  sameAddressesAgain,
  twoAtOnceOneClaim,
  twoAtOnceManyClaims,
  allOrNothing,
  leftoverGivenBackOnRefusal,
  hopelessClaimAlone,
  classes,
  releaseFrees,
  anySpelling,
  surplusGoes,
  missingIsMadeAgain,
  withoutContext,
  shrunkRange,
]
