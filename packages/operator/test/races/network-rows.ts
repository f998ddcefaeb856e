/** Writes of the standalone network controllers. */
import assert from 'node:assert/strict'
import { finalizers, managers, Network, NetworkContext, Subnet, statusOwners } from '@nso/api'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { create, remove, said } from '../world.ts'
import { migrationRowsOfNetworks } from './migration-rows.ts'
import {
  change,
  end,
  endNamespace,
  foreignStands,
  letGo,
  makeForeign,
  namespaceIsGone,
  network,
  networkIsHere,
  noNetwork,
  otherFinalizer,
  read,
  setFinalizers,
  strangeContext,
  strangeSubnet,
  strip,
  wasMade,
} from './steps.ts'
import type { RaceWorld } from './world.ts'

const ofNetwork = { controller: 'network', manager: managers.network }
const ofContext = { controller: 'networkcontext', manager: managers.networkContext }
const context = 'net-here'
const subnet = 'net-here-ipv6'
const byHand = 'by-hand'

async function here(world: RaceWorld): Promise<void> {
  await network(world)
  await networkIsHere(world)
}

const removeNetwork = ({ client, namespace }: RaceWorld) => remove(client, Network, namespace, 'net')

const networkRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofNetwork,
    kind: Network,
    verb: 'add-finalizer',
    act: network,
    settled: networkIsHere,
    move: (world) => setFinalizers(world, Network, 'net', [otherFinalizer]),
    vanish: (world) => end(world, Network, 'net'),
    afterVanish: noNetwork,
  },
  {
    ...ofNetwork,
    kind: Network,
    verb: 'remove-finalizer',
    async bring(world) {
      await here(world)
      await setFinalizers(world, Network, 'net', [otherFinalizer, finalizers.network])
    },
    act: removeNetwork,
    settled: (world) => letGo(world, Network, 'net', finalizers.network),
    move: (world) => setFinalizers(world, Network, 'net', [finalizers.network]),
    vanish: (world) => strip(world, Network, 'net'),
    afterVanish: noNetwork,
  },
  {
    ...ofNetwork,
    manager: statusOwners.network.writer,
    kind: Network,
    verb: 'apply',
    act: network,
    settled: networkIsHere,
    vanish: (world) => strip(world, Network, 'net'),
    afterVanish: noNetwork,
    async remake(world) {
      await strip(world, Network, 'net')
      await network(world)
    },
  },
  {
    ...ofNetwork,
    kind: NetworkContext,
    verb: 'create',
    name: context,
    act: network,
    settled: networkIsHere,
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => strip(world, Network, 'net'),
    async afterOrphan(world) {
      await wasMade(world, NetworkContext)
      await noNetwork(world)
    },
    foreign: (world) => makeForeign(world, strangeContext(world)),
    async afterForeign(world) {
      await networkIsHere(world)
      await foreignStands(world, NetworkContext, context)
    },
  },
  {
    ...ofNetwork,
    kind: NetworkContext,
    verb: 'patch',
    name: context,
    bring: here,
    act: (world) => change(world, Network, 'net', { spec: { mtu: 1500 } }),
    async settled(world) {
      await eventually('the context has the MTU', async () => (await read(world, NetworkContext, context))?.spec.mtu === 1500)
      await networkIsHere(world)
    },
    move: (world) => change(world, NetworkContext, context, { spec: { mtu: 1400 } }),
    vanish: (world) => end(world, NetworkContext, context),
  },
  {
    ...ofNetwork,
    kind: NetworkContext,
    verb: 'delete',
    name: context,
    bring: here,
    act: removeNetwork,
    settled: noNetwork,
    vanish: (world) => end(world, NetworkContext, context),
    async replace(world) {
      await end(world, NetworkContext, context)
      await makeForeign(world, strangeContext(world))
    },
    async afterReplace(world) {
      await eventually('the network is gone', async () => !(await read(world, Network, 'net')))
      await foreignStands(world, NetworkContext, context)
    },
  },
]

const contextRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofContext,
    kind: NetworkContext,
    verb: 'add-finalizer',
    name: context,
    act: network,
    settled: networkIsHere,
    move: (world) => setFinalizers(world, NetworkContext, context, [otherFinalizer]),
    vanish: (world) => end(world, NetworkContext, context),
  },
  {
    ...ofContext,
    kind: NetworkContext,
    verb: 'remove-finalizer',
    name: context,
    async bring(world) {
      await here(world)
      await setFinalizers(world, NetworkContext, context, [otherFinalizer, finalizers.contextSubnet])
    },
    act: removeNetwork,
    settled: (world) => letGo(world, NetworkContext, context, finalizers.contextSubnet),
    move: (world) => setFinalizers(world, NetworkContext, context, [finalizers.contextSubnet]),
    vanish: (world) => strip(world, NetworkContext, context),
    afterVanish: noNetwork,
  },
  {
    ...ofContext,
    manager: statusOwners.networkContext.writer,
    kind: NetworkContext,
    verb: 'apply',
    name: context,
    act: network,
    settled: networkIsHere,
    // With its network, which would make it again.
    async vanish(world) {
      await removeNetwork(world)
      await strip(world, NetworkContext, context)
    },
    afterVanish: noNetwork,
    async remake(world) {
      await strip(world, NetworkContext, context)
      await eventually('the network has made it again', () => read(world, NetworkContext, context))
    },
  },
  {
    ...ofContext,
    kind: Subnet,
    verb: 'create',
    name: subnet,
    act: network,
    settled: networkIsHere,
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    async orphan(world) {
      await removeNetwork(world)
      await strip(world, NetworkContext, context)
    },
    async afterOrphan(world) {
      await wasMade(world, Subnet)
      await eventually('it is collected', async () => !(await read(world, Subnet, subnet)))
      await noNetwork(world)
    },
    foreign: (world) => makeForeign(world, strangeSubnet(world, subnet)),
    async afterForeign(world) {
      await eventually('the context says what is in its way', async () => {
        assert.equal(said(await read(world, NetworkContext, context), 'IPAMAllocated'), 'False AllocationFailed')
        return true
      })
      await foreignStands(world, Subnet, subnet)
    },
  },
  {
    ...ofContext,
    kind: Subnet,
    verb: 'delete',
    name: subnet,
    bring: here,
    act: removeNetwork,
    settled: noNetwork,
    vanish: (world) => end(world, Subnet, subnet),
    async replace(world) {
      await end(world, Subnet, subnet)
      await makeForeign(world, strangeSubnet(world, subnet))
    },
    async afterReplace(world) {
      await noNetwork(world)
      await foreignStands(world, Subnet, subnet)
    },
  },
]

const subnetRow: RaceRow<RaceWorld> = {
  controller: 'subnet',
  manager: statusOwners.subnet.writer,
  kind: Subnet,
  verb: 'apply',
  name: byHand,
  act: (world) => create(world.client, strangeSubnet(world, byHand)),
  async settled(world) {
    await eventually('the subnet has its range', async () => {
      return said(await read(world, Subnet, byHand), 'Allocated') === 'True PrefixAllocated'
    })
  },
  vanish: (world) => end(world, Subnet, byHand),
  async remake(world) {
    await end(world, Subnet, byHand)
    await create(world.client, strangeSubnet(world, byHand))
  },
  async afterVanish(world) {
    assert.equal(await read(world, Subnet, byHand), undefined)
  },
}

export const networkControllerRows = [...networkRows, ...contextRows, subnetRow, ...migrationRowsOfNetworks]
