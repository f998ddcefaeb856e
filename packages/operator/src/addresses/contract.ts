/**
 * What every AddressAllocator promises, as cases that run against an adapter and the server it really works on.
 * A case gets a world of its own and says afterwards what stands.
 */
import assert from 'node:assert/strict'
import type { NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { WriteRaced } from 'kube-control-loop'
import { readBlock } from './cidr.ts'
import type { AddressAllocator, AddressRequest, Allocation } from './port.ts'

export type AllocatorWorld = {
  readonly context: NetworkContext
  /** A live allocator with a view of its own, as another process would have. */
  allocator(): Promise<AddressAllocator>
  claim(name: string, spec?: Partial<NetworkInterfaceClaim['spec']>): NetworkInterfaceClaim
  /**
   * A range to allocate from, of the private class or of another. The same for every adapter: of an IPv4 range all but the first
   * three addresses can be had one by one, of an IPv6 range its blocks of /96 but the first.
   */
  range(name: string, range: string, className?: string): Promise<Subnet>
  /** The interface of a claim, with these addresses. */
  interface(
    claim: NetworkInterfaceClaim,
    addresses: readonly string[],
    external?: readonly { address: string; class: string }[],
  ): NetworkInterface
  /** How many claims at once are many here. */
  readonly many: number
  /** What the server says is held, in canonical form and order. */
  held(): Promise<string[]>
  /** Takes a held address away behind the allocator's back, and waits until `allocator` has seen it. */
  lose(allocator: AddressAllocator, cidr: string): Promise<void>
}

export type AllocatorCase = { readonly name: string; run(world: AllocatorWorld): Promise<void> }

export const signal = AbortSignal.timeout(120_000)
export const ipv4: AddressRequest = { family: 'IPv4' }
export const ipv6: AddressRequest = { family: 'IPv6' }

/** As the controller loop does: a lost race is taken up again. */
export async function allocate(
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

export function cidrs(allocation: Allocation): string[] {
  assert.equal(allocation.kind, 'allocated', allocation.kind === 'refused' ? allocation.message : '')
  return allocation.kind === 'allocated' ? allocation.addresses.map(({ cidr }) => cidr) : []
}

export function assertRefused(allocation: Allocation, reason: string, message: RegExp): void {
  assert.equal(allocation.kind, 'refused')
  if (allocation.kind !== 'refused') return
  assert.equal(allocation.reason, reason)
  assert.match(allocation.message, message)
}

const sameAddressesAgain: AllocatorCase = {
  name: 'the same claim gets the same addresses again, also from an allocator that starts afterwards',
  async run(world) {
    const given = { subnets: [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/24')], wants: [ipv6, ipv4] }
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
    const given = { subnets: [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/28')], wants: [ipv6, ipv4] }
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
    const given = { subnets: [await world.range('v4', '10.0.0.0/28')], wants: [ipv4] }
    const allocators = [await world.allocator(), await world.allocator()]
    const claims = Array.from({ length: 16 }, (_, n) => world.claim(`c${n}`))
    const answers = await Promise.all(
      claims.flatMap((claim, n) => allocators.slice(n % 2, (n % 2) + 1).map((each) => allocate(world, each, claim, given))),
    )
    const got = answers.filter(({ kind }) => kind === 'allocated').flatMap(cidrs)
    assert.equal(got.length, 13)
    assert.equal(new Set(got).size, 13)
    for (const refused of answers.filter(({ kind }) => kind === 'refused')) assertRefused(refused, 'AddressPoolExhausted', /./)
    assert.deepEqual(await world.held(), [...got].sort())
  },
}

const allOrNothing: AllocatorCase = {
  name: 'B44: a claim of two families gets both or none, and both once there is room',
  async run(world) {
    const allocator = await world.allocator()
    const v4 = await world.range('v4', '10.0.0.0/24')
    const full = await world.range('v6', 'fd20::/95')
    const holder = await allocate(world, allocator, world.claim('holder'), { subnets: [full], wants: [ipv6] })
    const before = cidrs(holder)
    const claim = world.claim('a', { ipFamilies: ['IPv4', 'IPv6'] })
    for (let n = 0; n < 20; n += 1) {
      const answer = await allocate(world, allocator, claim, { subnets: [v4, full], wants: [ipv4, ipv6] })
      assertRefused(answer, 'AddressPoolExhausted', /v6/)
      assert.deepEqual(await world.held(), before)
    }
    const both = await allocate(world, allocator, claim, {
      subnets: [v4, await world.range('v6', 'fd20::/64')],
      wants: [ipv4, ipv6],
    })
    assert.equal(cidrs(both).length, 2)
    assert.equal((await world.held()).length, 3)
  },
}

const leftoverGivenBackOnRefusal: AllocatorCase = {
  name: 'a claim that can be served no longer keeps nothing of an earlier attempt',
  async run(world) {
    const allocator = await world.allocator()
    const v4 = await world.range('v4', '10.0.0.0/24')
    const claim = world.claim('a')
    cidrs(await allocate(world, allocator, claim, { subnets: [v4], wants: [ipv4] }))
    assertRefused(
      await allocate(world, allocator, claim, { subnets: [v4], wants: [ipv4, ipv6] }),
      'AddressAllocationRejected',
      /IPv6|v6/,
    )
    assert.deepEqual(await world.held(), [])
  },
}

const hopelessClaimAlone: AllocatorCase = {
  name: 'B32: a claim that can never be served does not hold up the others',
  async run(world) {
    const allocator = await world.allocator()
    const given = { subnets: [await world.range('v4', '10.0.0.0/24')] }
    const hopeless = world.claim('a-first', { ipFamilies: ['IPv6'] })
    const claims = Array.from({ length: world.many }, (_, n) => world.claim(`good-${n}`))
    // Not taken up again after a lost race: passes side by side in one process never meet on one address.
    const once = (claim: NetworkInterfaceClaim, wants: readonly AddressRequest[]) =>
      allocator.allocate({ claim, context: world.context, ...given, wants }, signal)
    const [bad, ...good] = await Promise.all([once(hopeless, [ipv6]), ...claims.map((claim) => once(claim, [ipv4]))])
    assertRefused(bad, 'AddressAllocationRejected', /IPv6/)
    assert.equal(new Set(good.flatMap(cidrs)).size, world.many)
  },
}

const classes: AllocatorCase = {
  name: 'an address of a class comes from a range of that class, and a family never does',
  async run(world) {
    const allocator = await world.allocator()
    const inner = await world.range('v4', '10.0.0.0/24')
    const outer = await world.range('public', '198.51.100.0/24', 'datum-public-v4')
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
    assertRefused(await allocate(world, allocator, six, wrongFamily), 'AddressAllocationRejected', /IPv4/)
  },
}

const releaseFrees: AllocatorCase = {
  name: 'what is released can be handed out again, and nothing else is given back',
  async run(world) {
    const allocator = await world.allocator()
    const given = { subnets: [await world.range('v4', '10.0.0.0/30')], wants: [ipv4] }
    const kept = cidrs(
      await allocate(world, allocator, world.claim('kept'), { subnets: [await world.range('v6', 'fd20::/64')], wants: [ipv6] }),
    )
    const first = world.claim('a')
    const [address = ''] = cidrs(await allocate(world, allocator, first, given))
    assertRefused(await allocate(world, allocator, world.claim('b'), given), 'AddressPoolExhausted', /./)
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

const surplusGoes: AllocatorCase = {
  name: 'what a claim holds and its interface does not list is surplus',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/24')]
    const claim = world.claim('a')
    const [six = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv6, ipv4] }))
    await allocator.releaseSurplus(claim, world.interface(claim, [six]), signal)
    assert.deepEqual(await world.held(), [six])
  },
}

const retainedStays: AllocatorCase = {
  name: 'what an interface lists stays when its claim goes, and goes with the interface',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/24')]
    const claim = world.claim('a', { reclaimPolicy: 'Retain' })
    const addresses = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv6, ipv4] }))
    const nic = world.interface(claim, addresses)
    assert.equal(allocator.hasSurplus(claim, nic), false)
    await allocator.releaseSurplus(claim, nic, signal)
    const later = await world.allocator()
    assert.deepEqual(await later.verify({ interface: nic, context: world.context, subnets }, signal), { kind: 'standing' })
    assert.deepEqual(await world.held(), [...addresses].sort())
    await later.releaseInterface(nic, signal)
    await later.releaseInterface(nic, signal)
    assert.deepEqual(await world.held(), [])
  },
}

const crashedGivesBack: AllocatorCase = {
  name: 'what was allocated before a crash goes with its claim, also by an allocator that starts afterwards, and others keep theirs',
  async run(world) {
    const subnets = [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/24')]
    const given = { subnets, wants: [ipv6, ipv4] }
    const [crashed, other] = [world.claim('a'), world.claim('b')]
    cidrs(await allocate(world, await world.allocator(), crashed, given))
    const later = await world.allocator()
    const kept = cidrs(await allocate(world, later, other, given))
    const { namespace = '', name, uid = '' } = crashed.metadata
    await later.releaseClaim({ namespace, name, uid, wants: given.wants }, signal)
    await later.releaseClaim({ namespace, name, uid, wants: given.wants }, signal)
    assert.deepEqual(await world.held(), [...kept].sort())
    const [six = '', four = ''] = cidrs(await allocate(world, later, crashed, given))
    assert.ok(![...kept].includes(six) && ![...kept].includes(four))
  },
}

const otherFamiliesOfOneClaim: AllocatorCase = {
  name: 'B44: the families of one claim are held apart, and an interface holds what it was given only',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [await world.range('v6', 'fd20::/64'), await world.range('v4', '10.0.0.0/24')]
    const claim = world.claim('a')
    const [six = '', four = ''] = cidrs(await allocate(world, allocator, claim, { subnets, wants: [ipv6, ipv4] }))
    const listed = [six, four].map((text, at) => ({ text, block: readBlock(text), request: at === 0 ? ipv6 : ipv4 }))
    const nic = world.interface(claim, [six, four])
    assert.equal(allocator.holds(nic, listed), true)
    const wrong = '10.0.0.200/32'
    assert.equal(allocator.holds(nic, [{ text: wrong, block: readBlock(wrong), request: ipv4 }]), false)
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
  surplusGoes,
  retainedStays,
  crashedGivesBack,
  otherFamiliesOfOneClaim,
]
