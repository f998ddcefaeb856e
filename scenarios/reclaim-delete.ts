import assert from 'node:assert/strict'
import { allReleased, claim, offerPublic, publicClass, ready, release, requireHeld, requireNames } from './expect.ts'
import type { Scenario } from './scenario.ts'

export const reclaimDelete: Scenario = {
  name: 'reclaim-delete',
  about: 'With reclaim policy Delete, interface and addresses, external ones among them, go with the claim.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    await offerPublic(world)
    world.step('claim both families and a public address, to be deleted')
    await claim(world, 'web', { ipFamilies: ['IPv6', 'IPv4'], addresses: [{ class: publicClass }], reclaimPolicy: 'Delete' })
    await ready(world, 'web')
    const allocations = await world.allocations()
    assert.equal(allocations.length, 3)
    requireNames(world, allocations, ['web-f-ipv6', 'web-f-ipv4', `web-c-${publicClass}`])
    await requireHeld(world, 'web')

    world.step('delete the claim: interface and all three allocations go')
    await release(world, 'web')
    await allReleased(world)
  },
}
