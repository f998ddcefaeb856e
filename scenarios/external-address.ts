import assert from 'node:assert/strict'
import {
  addressesOf,
  allReleased,
  claim,
  externalOf,
  offerPublic,
  publicClass,
  ready,
  release,
  requireHeld,
  requireNames,
} from './expect.ts'
import type { Scenario } from './scenario.ts'

export const externalAddress: Scenario = {
  name: 'external-address',
  about: 'A class in the claim gives an external address beside the internal one: bare, with its class, and held like any other.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    await offerPublic(world)
    world.step('claim IPv4 and a public address')
    await claim(world, 'web', { ipFamilies: ['IPv4'], addresses: [{ class: publicClass }] })
    const found = await ready(world, 'web')
    const [outer, ...more] = externalOf(found)
    assert.deepEqual([outer?.family, outer?.class, more], ['IPv4', publicClass, []])
    assert.match(outer?.address ?? '', /^198\.51\.100\.\d+$/)

    world.step('the internal address is of no class')
    const [inner, ...others] = addressesOf(found)
    assert.match(inner?.address ?? '', /^[\d.]+\/32$/)
    assert.deepEqual([inner?.family, inner?.class, inner?.primary, others], ['IPv4', undefined, true, []])

    world.step('both are held, the public one by its class')
    await requireHeld(world, 'web')
    const allocations = await world.allocations()
    requireNames(world, allocations, ['web-f-ipv4', `web-c-${publicClass}`])
    assert.equal(allocations.find(({ request }) => request === publicClass)?.cidr, `${outer?.address}/32`)

    world.step('delete the claim')
    await release(world, 'web')
    await allReleased(world)
  },
}
