import assert from 'node:assert/strict'
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { conditionOf } from './conditions.ts'
import { addressesOf, allReleased, claim, claimGone, ready, refused, release } from './expect.ts'
import type { Scenario } from './scenario.ts'

export const familyNotCarried: Scenario = {
  name: 'family-not-carried',
  about: 'A claim of a family that its network does not carry is refused by name of the family, and nothing is allocated for it.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    world.step('a network of IPv4 only')
    const network = { name: `${world.network}-v4` }
    await world.present(network.name, ['IPv4'])

    world.step('a claim that names no family, which is IPv6, is refused; one of IPv4 is served')
    await claim(world, 'six', { network })
    await claim(world, 'four', { network, ipFamilies: ['IPv4'] })
    const six = await refused(world, 'six', 'AddressFamilyNotCarried')
    assert.match(conditionOf(six, 'Bound')?.message ?? '', /IPv6/)
    const four = await ready(world, 'four')
    assert.deepEqual(
      addressesOf(four).map(({ family }) => family),
      ['IPv4'],
    )

    world.step('for the refused one there is no interface and no allocation')
    assert.equal(await world.find(NetworkInterface, 'six'), undefined)
    assert.deepEqual(
      (await world.allocations()).map(({ cidr }) => cidr),
      addressesOf(four).map(({ address }) => address),
    )

    world.step('delete both')
    await world.remove(NetworkInterfaceClaim, 'six')
    await claimGone(world, 'six')
    await release(world, 'four')
    await allReleased(world)
  },
}
