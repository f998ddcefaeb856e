/** The claim controller's writes. */
import assert from 'node:assert/strict'
import { AddressLease, finalizers, managers, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { claimSays, listed, remove } from '../world.ts'
import {
  change,
  end,
  endNamespace,
  firstPosted,
  foreignStands,
  interfere,
  leaseOf,
  letGo,
  makeForeign,
  namespaceIsGone,
  nothing,
  oneOfEach,
  otherFinalizer,
  place,
  read,
  ready,
  readyClaim,
  setFinalizers,
  strangeInterface,
  strip,
  theLease,
  thief,
  wasMade,
  web,
} from './steps.ts'
import type { RaceWorld } from './world.ts'

const by = { controller: 'networkinterfaceclaim', manager: managers.claim }
const removeClaim = ({ client, namespace }: RaceWorld) => remove(client, NetworkInterfaceClaim, namespace, web)
const surplus = { name: 'net.fd20000000000001000000ff00000000', address: 'fd20:0:0:1:0:ff::/96' }

/** Only where no admission policy adds it. */
export const claimFinalizerRow: RaceRow<RaceWorld> = {
  ...by,
  kind: NetworkInterfaceClaim,
  verb: 'add-finalizer',
  name: web,
  bring: place,
  act: (world) => world.claim(),
  settled: ready,
  move: (world) => setFinalizers(world, NetworkInterfaceClaim, web, [otherFinalizer]),
  vanish: (world) => end(world, NetworkInterfaceClaim, web),
  afterVanish: nothing,
}

export const claimRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...by,
    kind: NetworkInterfaceClaim,
    verb: 'remove-finalizer',
    name: web,
    async bring(world) {
      await readyClaim(world)
      await setFinalizers(world, NetworkInterfaceClaim, web, [otherFinalizer, finalizers.claim])
    },
    act: removeClaim,
    settled: (world) => letGo(world, NetworkInterfaceClaim, web, finalizers.claim),
    move: (world) => setFinalizers(world, NetworkInterfaceClaim, web, [finalizers.claim]),
    vanish: (world) => strip(world, NetworkInterfaceClaim, web),
    afterVanish: nothing,
  },
  {
    ...by,
    kind: NetworkInterfaceClaim,
    verb: 'apply',
    name: web,
    bring: place,
    act: (world) => world.claim(),
    settled: ready,
    vanish: (world) => strip(world, NetworkInterfaceClaim, web),
    afterVanish: nothing,
    async remake(world) {
      await strip(world, NetworkInterfaceClaim, web)
      await world.claim()
    },
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'create',
    refusalIsTold: true,
    name: web,
    bring: place,
    act: (world) => world.claim(),
    async settled(world) {
      await ready(world)
      await oneOfEach(world)
    },
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => strip(world, NetworkInterfaceClaim, web),
    async afterOrphan(world) {
      await wasMade(world, NetworkInterface)
      await nothing(world)
    },
    foreign: (world) => makeForeign(world, strangeInterface(world)),
    async afterForeign(world) {
      await claimSays(world.client, world.namespace, web, 'Bound', 'False NetworkMismatch')
      const { spec } = await foreignStands(world, NetworkInterface, web)
      assert.equal(spec.claimRef, undefined)
    },
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'patch',
    name: web,
    bring: readyClaim,
    act: (world) => change(world, NetworkContext, 'net-here', { spec: { mtu: 1500 } }),
    async settled(world) {
      await eventually('the interface has the MTU', async () => (await read(world, NetworkInterface, web))?.spec.mtu === 1500)
      await ready(world)
    },
    move: (world) => interfere(world, NetworkInterface, web, 'spec', { spec: { mtu: 1400 } }),
    vanish: (world) => end(world, NetworkInterface, web),
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'delete',
    name: web,
    bring: readyClaim,
    act: removeClaim,
    settled: nothing,
    vanish: (world) => end(world, NetworkInterface, web),
    async replace(world) {
      await end(world, NetworkInterface, web)
      await makeForeign(world, strangeInterface(world))
    },
    async afterReplace(world) {
      await letGo(world, NetworkInterfaceClaim, web, finalizers.claim)
      await foreignStands(world, NetworkInterface, web)
    },
  },
  {
    ...by,
    kind: AddressLease,
    verb: 'create',
    refusalIsTold: true,
    bring: place,
    act: (world) => world.claim(),
    async settled(world) {
      await ready(world)
      await oneOfEach(world)
    },
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => strip(world, NetworkInterfaceClaim, web),
    async afterOrphan(world) {
      await wasMade(world, AddressLease)
      await nothing(world)
    },
    async foreign(world) {
      const { metadata, spec } = firstPosted(world, AddressLease) as AddressLease
      await makeForeign(world, leaseOf(world, metadata.name, spec.address, 'thief', await thief(world)))
    },
    async afterForeign(world) {
      await ready(world)
      const { metadata, spec } = firstPosted(world, AddressLease) as AddressLease
      await foreignStands(world, AddressLease, metadata.name)
      const nic = await read(world, NetworkInterface, web)
      assert.notEqual(nic?.spec.addresses?.[0]?.address, spec.address)
      assert.equal((await listed(world.client, AddressLease, world.namespace)).length, 2)
    },
  },
  {
    ...by,
    kind: AddressLease,
    verb: 'delete',
    name: surplus.name,
    bring: readyClaim,
    async act(world) {
      const claim = await read(world, NetworkInterfaceClaim, web)
      await makeForeign(world, leaseOf(world, surplus.name, surplus.address, web, claim?.metadata.uid ?? ''))
    },
    async settled(world) {
      await eventually('the surplus is gone', async () => !(await read(world, AddressLease, surplus.name)))
      await ready(world)
      await theLease(world)
    },
    vanish: (world) => end(world, AddressLease, surplus.name),
    async replace(world) {
      const uid = await thief(world)
      await end(world, AddressLease, surplus.name)
      await makeForeign(world, leaseOf(world, surplus.name, surplus.address, 'thief', uid))
    },
    async afterReplace(world) {
      await ready(world)
      await foreignStands(world, AddressLease, surplus.name)
    },
  },
]
