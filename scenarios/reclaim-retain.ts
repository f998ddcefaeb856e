import assert from 'node:assert/strict'
import { annotations, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { ApiError } from 'kube-control-loop'
import {
  addressesOf,
  allReleased,
  available,
  bound,
  cidrsOf,
  claim,
  claimGone,
  detached,
  interfaceGone,
  ready,
  refused,
  requireAttached,
  requireHeld,
  requireInterface,
} from './expect.ts'
import type { Scenario } from './scenario.ts'

const retain = { ipFamilies: ['IPv6', 'IPv4'], reclaimPolicy: 'Retain' } satisfies Partial<NetworkInterfaceClaim['spec']>

export const reclaimRetain: Scenario = {
  name: 'reclaim-retain',
  about: 'With reclaim policy Retain, interface and addresses wait for the next claim of that policy; another one is refused.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    world.step('claim both families, to be retained')
    await claim(world, 'web', retain)
    const before = await ready(world, 'web')
    const first = await bound(world, 'web')
    await assert.rejects(
      world.patch(NetworkInterfaceClaim, 'web', { spec: { reclaimPolicy: 'Delete' } }),
      (error) => error instanceof ApiError && error.status === 422,
      'an edit of the policy is refused',
    )

    world.step('delete the claim: the interface is free, detached, and keeps its addresses')
    await world.remove(NetworkInterfaceClaim, 'web')
    await claimGone(world, 'web')
    const free = await available(world, 'web')
    await detached(world, 'web')
    assert.deepEqual([free.metadata.uid, cidrsOf(free)], [first.metadata.uid, cidrsOf(first)])
    await requireHeld(world, 'web')

    world.step('a claim of the name with policy Delete is refused and changes nothing')
    await claim(world, 'web', { ...retain, reclaimPolicy: 'Delete' })
    await refused(world, 'web', 'ReclaimPolicyMismatch')
    const untouched = await requireInterface(world, 'web')
    assert.deepEqual([untouched.metadata.uid, untouched.spec], [free.metadata.uid, free.spec])
    await requireHeld(world, 'web')
    await world.remove(NetworkInterfaceClaim, 'web')
    await claimGone(world, 'web')
    assert.deepEqual((await available(world, 'web')).spec, free.spec)

    world.step('a claim with policy Retain gets the same interface and addresses')
    await claim(world, 'web', retain)
    const again = await ready(world, 'web')
    const second = await bound(world, 'web')
    assert.deepEqual([second.metadata.uid, addressesOf(again)], [first.metadata.uid, addressesOf(before)])
    assert.equal(second.metadata.annotations?.[annotations.allocationClaim], 'web')
    await requireHeld(world, 'web')
    await requireAttached(world, 'web')

    world.step('delete the claim, then the interface')
    await world.remove(NetworkInterfaceClaim, 'web')
    await claimGone(world, 'web')
    await available(world, 'web')
    await world.remove(NetworkInterface, 'web')
    await interfaceGone(world, 'web')
    await allReleased(world)
  },
}
