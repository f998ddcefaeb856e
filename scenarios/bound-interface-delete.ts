import assert from 'node:assert/strict'
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { addressesOf, allReleased, bound, cidrsOf, claim, ready, release, requireAttached } from './expect.ts'
import type { Scenario } from './scenario.ts'

export const boundInterfaceDelete: Scenario = {
  name: 'bound-interface-delete',
  about: 'An interface deleted under a live claim is made again with the same addresses; the claim and what it holds stay.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    world.step('claim both families')
    await claim(world, 'web', { ipFamilies: ['IPv6', 'IPv4'] })
    const before = await ready(world, 'web')
    const first = await bound(world, 'web')
    const allocations = await world.allocations()

    world.step('delete the interface under the claim: another takes its place')
    await world.remove(NetworkInterface, 'web')
    const second = await world.until('another interface is bound', async () => {
      const nic = await bound(world, 'web')
      assert.notEqual(nic.metadata.uid, first.metadata.uid)
      return nic
    })
    assert.deepEqual(cidrsOf(second), cidrsOf(first))

    world.step('the claim is the same, Ready again, and holds what it held')
    const after = await ready(world, 'web')
    assert.deepEqual([after.metadata.uid, addressesOf(after)], [before.metadata.uid, addressesOf(before)])
    assert.deepEqual(await world.allocations(), allocations)
    await requireAttached(world, 'web')
    assert.equal((await world.find(NetworkInterfaceClaim, 'web'))?.metadata.deletionTimestamp, undefined)

    world.step('delete the claim')
    await release(world, 'web')
    await allReleased(world)
  },
}
