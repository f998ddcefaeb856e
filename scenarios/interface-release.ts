import assert from 'node:assert/strict'
import { annotations, finalizers, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { IPAllocation } from 'kube-ipam'
import {
  allReleased,
  available,
  bound,
  claim,
  claimGone,
  detached,
  held,
  interfaceGone,
  offerPublic,
  publicClass,
  ready,
  requireHeld,
  requireNames,
} from './expect.ts'
import type { Scenario, ScenarioWorld } from './scenario.ts'

export const interfaceRelease: Scenario = {
  name: 'interface-release',
  about: 'A retained interface that is deleted gives back every address that it kept.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    await offerPublic(world)
    world.step('claim both families and a public address, to be retained')
    await claim(world, 'web', { ipFamilies: ['IPv6', 'IPv4'], addresses: [{ class: publicClass }], reclaimPolicy: 'Retain' })
    await ready(world, 'web')
    const nic = await bound(world, 'web')
    assert.ok(nic.metadata.finalizers?.includes(finalizers.interface), 'the finalizer is there')
    assert.equal(nic.metadata.annotations?.[annotations.allocationClaim], 'web')
    const allocations = await world.allocations()
    assert.equal(allocations.length, 3)
    requireNames(world, allocations, ['web-f-ipv6', 'web-f-ipv4', `web-c-${publicClass}`])

    world.step('delete the claim: all three stay held')
    await world.remove(NetworkInterfaceClaim, 'web')
    await claimGone(world, 'web')
    await available(world, 'web')
    await detached(world, 'web')
    await requireHeld(world, 'web')
    assert.deepEqual(held(await world.allocations()), held(allocations))

    world.step('delete the interface: all three are given back, and what the service held for them')
    await world.remove(NetworkInterface, 'web')
    await interfaceGone(world, 'web')
    await allReleased(world)
    await noAllocations(world)
  },
}

/** An IPClaim may be gone and its allocation stay: that is what Retain means to the service. */
async function noAllocations(world: ScenarioWorld): Promise<void> {
  if (world.mode === 'builtin') return
  await world.until('no allocation of a claim is left', async () => {
    const { items } = await world.service.list(IPAllocation, { namespace: world.serviceNamespace() }, AbortSignal.timeout(30_000))
    const left = items.filter(({ spec }) => spec.purpose === 'Claim' && spec.className !== undefined)
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      [],
    )
  })
}
