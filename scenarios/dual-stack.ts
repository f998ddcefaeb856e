import assert from 'node:assert/strict'
import { addressesOf, allReleased, bound, claim, ready, release, requireAttached, requireHeld, requireNames } from './expect.ts'
import type { Scenario } from './scenario.ts'

export const dualStack: Scenario = {
  name: 'dual-stack',
  about: 'A claim of both families gets an address of each, the first family first; all of it goes with the claim.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    world.step('claim both families, IPv6 first')
    await claim(world, 'web', { ipFamilies: ['IPv6', 'IPv4'] })
    const found = await ready(world, 'web')
    const [v6, v4, ...more] = addressesOf(found)
    assert.deepEqual([v6?.family, v4?.family, more], ['IPv6', 'IPv4', []])
    assert.deepEqual([v6?.primary ?? false, v4?.primary ?? false], [true, false])
    assert.match(v6?.address ?? '', /\/96$/)
    assert.match(v4?.address ?? '', /\/32$/)

    world.step('the interface is bound, attached, and holds what it lists')
    await bound(world, 'web')
    await requireHeld(world, 'web')
    requireNames(world, await world.allocations(), ['web-f-ipv6', 'web-f-ipv4'])
    await requireAttached(world, 'web')

    world.step('delete the claim: nothing is left')
    await release(world, 'web')
    await allReleased(world)
  },
}
