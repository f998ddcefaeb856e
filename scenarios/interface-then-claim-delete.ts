import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { Kind } from 'kube-control-loop'
import { allReleased, claim, claimGone, detached, interfaceGone, ready } from './expect.ts'
import type { Scenario, ScenarioWorld } from './scenario.ts'

const [nic, itsClaim] = [NetworkInterface, NetworkInterfaceClaim] as const satisfies readonly Kind[]

/** What is deleted, in which order, by the claim's name. */
const orders: Readonly<Record<string, (world: ScenarioWorld, name: string) => Promise<unknown>>> = {
  async 'interface-first'(world, name) {
    await world.remove(nic, name)
    await world.remove(itsClaim, name)
  },
  async 'claim-first'(world, name) {
    await world.remove(itsClaim, name)
    await world.remove(nic, name)
  },
  'at-once': (world, name) => Promise.all([world.remove(nic, name), world.remove(itsClaim, name)]),
}

export const interfaceThenClaimDelete: Scenario = {
  name: 'interface-then-claim-delete',
  about: 'Interface and claim deleted together, in whichever order, leave nothing, whoever comes first.',
  modes: ['builtin', 'ipam'],
  async run(world) {
    const names = Object.keys(orders)
    world.step('three claims of both families')
    for (const name of names) await claim(world, name, { ipFamilies: ['IPv6', 'IPv4'] })
    for (const name of names) await ready(world, name)

    world.step('delete each with its interface, without waiting in between: the interface first, the claim first, both at once')
    await Promise.all(Object.entries(orders).map(([name, remove]) => remove(world, name)))

    world.step('nothing is left')
    for (const name of names) {
      await claimGone(world, name)
      await interfaceGone(world, name)
      await detached(world, name)
    }
    await allReleased(world)
  },
}
