import assert from 'node:assert/strict'
import { labels, Network, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { conditionOf } from './conditions.ts'
import { allReleased, claim, claimGone, ready, refused, release, requireHeld } from './expect.ts'
import { namespaceKind, namespaceObject, networkSpec } from './places.ts'
import type { Scenario } from './scenario.ts'

export const unlabeledNamespace: Scenario = {
  name: 'unlabeled-namespace',
  about:
    'Where the labels of a namespace name no project, claims are refused by name of the label, and nothing is allocated until it is set.',
  modes: ['ipam'],
  async run(world) {
    const unlabeled = await world.another({ labelled: false })
    const network = { name: `${world.network}-unlabeled` }
    world.step('a network in a namespace without the labels, and a claim there')
    await world.create(Network, network.name, networkSpec(['IPv6']), unlabeled)
    await claim(world, 'web', { network }, unlabeled)
    const found = await refused(world, 'web', 'ProjectUnresolved', unlabeled)
    const { message = '' } = conditionOf(found, 'Bound') ?? {}
    assert.ok(message.includes(labels.upstreamCluster) || message.includes(labels.upstreamNamespace), message)

    world.step('the same claim in a namespace with them is served')
    await claim(world, 'web')
    await ready(world, 'web')
    await requireHeld(world, 'web')

    world.step('nothing was made for the refused one')
    assert.equal(await world.find(NetworkInterface, 'web', unlabeled), undefined)
    assert.deepEqual(await world.allocations(unlabeled), [])

    world.step('the labels are set: the refused one is served by itself, without an edit of it')
    const { metadata } = namespaceObject(unlabeled, true)
    await world.patch(namespaceKind, unlabeled, { metadata: { labels: metadata.labels ?? {} } })
    await ready(world, 'web', unlabeled)
    assert.equal((await world.allocations(unlabeled)).length, 1)

    world.step('delete both')
    await world.remove(NetworkInterfaceClaim, 'web', unlabeled)
    await claimGone(world, 'web', unlabeled)
    await allReleased(world, unlabeled)
    await release(world, 'web')
    await allReleased(world)
  },
}
