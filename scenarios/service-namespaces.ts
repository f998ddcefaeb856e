import assert from 'node:assert/strict'
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { addressesOf, allReleased, claim, claimGone, ready, release, requireHeld } from './expect.ts'
import type { Scenario } from './scenario.ts'

export const serviceNamespaces: Scenario = {
  name: 'service-namespaces',
  about: 'Claims of one name in two namespaces hold addresses in the namespaces that the labels name, and only there.',
  modes: ['ipam'],
  async run(world) {
    world.step('a second namespace, mapped to another one of the service, with a network of its own')
    const second = await world.another()
    const network = { name: `${world.network}-second` }
    await world.present(network.name, ['IPv6', 'IPv4'], second)

    world.step('claims of one name in both')
    const spec = { ipFamilies: ['IPv6', 'IPv4'] } satisfies Partial<NetworkInterfaceClaim['spec']>
    await claim(world, 'web', spec)
    await claim(world, 'web', { ...spec, network }, second)
    const [here, there] = [await ready(world, 'web'), await ready(world, 'web', second)]

    world.step('each holds what it publishes in its own namespace, no more')
    await requireHeld(world, 'web')
    const published = (found: typeof here) =>
      addressesOf(found)
        .map(({ address }) => address)
        .sort()
    const heldThere = (await world.allocations(second)).map(({ cidr }) => cidr).sort()
    assert.deepEqual(heldThere, published(there))
    assert.deepEqual(
      published(here).filter((address) => published(there).includes(address)),
      [],
    )

    world.step('the end of one leaves the other as it is')
    await release(world, 'web')
    await allReleased(world)
    assert.deepEqual((await world.allocations(second)).map(({ cidr }) => cidr).sort(), heldThere)
    assert.equal((await world.find(NetworkInterface, 'web', second))?.metadata.deletionTimestamp, undefined)

    await world.remove(NetworkInterfaceClaim, 'web', second)
    await claimGone(world, 'web', second)
    await allReleased(world, second)
  },
}
