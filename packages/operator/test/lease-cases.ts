/** What only the built-in allocator promises, since it makes a lost lease again and reads ranges from Subnets. In the form of the contract. */
import assert from 'node:assert/strict'
import { type AllocatorCase, allocate, assertRefused, cidrs, ipv4, ipv6, signal } from '../src/addresses/contract.ts'

const anySpelling: AllocatorCase = {
  name: 'B45: an address is held, found and released in whatever spelling the interface lists it',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [await world.range('v6', '2001:DB8:0:0::0/126'), await world.range('v4', '::ffff:10.0.0.0/127')]
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

const missingIsMadeAgain: AllocatorCase = {
  name: 'an allocation lost behind a live interface is made again; taken by another it is missing, and nothing is renumbered',
  async run(world) {
    const allocator = await world.allocator()
    const subnets = [await world.range('v4', '10.0.0.0/30')]
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
    const subnets = [await world.range('v4', '10.0.0.0/30')]
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
    const wide = { subnets: [await world.range('v4', '10.0.0.0/28')], wants: [ipv4] }
    const narrow = { subnets: [await world.range('v4', '10.0.0.0/29')], wants: [ipv4] }
    const held = await Promise.all(claims.map(async (claim) => cidrs(await allocate(world, allocator, claim, wide))))
    const after = await Promise.all(claims.map(async (claim) => cidrs(await allocate(world, allocator, claim, narrow))))
    assert.deepEqual(after, held)
    assertRefused(await allocate(world, allocator, world.claim('late'), narrow), 'AddressPoolExhausted', /\/29/)
    assertRefused(await allocate(world, allocator, world.claim('late'), wide), 'AddressPoolExhausted', /\/28/)
    const second = { subnets: [...wide.subnets, await world.range('v4-more', '10.0.0.0/27')], wants: [ipv4] }
    const [more = ''] = cidrs(await allocate(world, allocator, world.claim('late'), second))
    assert.ok(!held.flat().includes(more), `${more} is held already`)
  },
}

export const leaseCases: readonly AllocatorCase[] = [anySpelling, missingIsMadeAgain, withoutContext, shrunkRange]
