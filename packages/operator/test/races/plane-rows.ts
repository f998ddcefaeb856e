/** Writes of the data-plane controllers and of the context hold. */
import assert from 'node:assert/strict'
import { DataPlane, finalizers, managers, NetworkContext, NetworkInterfaceClaim, statusOwners } from '@nso/api'
import { apiVersionOf } from 'kube-control-loop'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { find, listed, merge, remove } from '../world.ts'
import {
  change,
  end,
  endNamespace,
  foreignStands,
  holds,
  letGo,
  makeForeign,
  namespaceIsGone,
  otherFinalizer,
  place,
  planeIsInOrder,
  read,
  readyClaim,
  setFinalizers,
  strip,
  wasMade,
  web,
} from './steps.ts'
import { type RaceWorld, ToyNetwork } from './world.ts'

const context = 'net-here'
const hold = { controller: 'networkcontexthold', manager: managers.contextHold, kind: NetworkContext, name: context }

const strangeNetworkObject = ({ namespace }: RaceWorld) => ({
  apiVersion: apiVersionOf(ToyNetwork),
  kind: 'ToyNetwork',
  metadata: { name: context, namespace },
  spec: {},
})

async function noContext({ client, namespace }: RaceWorld): Promise<void> {
  assert.deepEqual(await listed(client, NetworkContext, namespace), [])
}

const planeBy = { controller: 'dataplane', kind: DataPlane, manager: managers.dataPlane }

const planeAt = ({ client, planeName }: RaceWorld) => find(client, DataPlane, undefined, planeName)
const removePlane = ({ client, planeName }: RaceWorld) => remove(client, DataPlane, undefined, planeName)

async function setPlaneFinalizers(world: RaceWorld, list: readonly string[] | null): Promise<void> {
  world.trespass(DataPlane.kind, world.planeName, 'metadata.finalizers')
  await merge(world.client, DataPlane, undefined, world.planeName, { metadata: { finalizers: list } })
}

async function planeIsGone(world: RaceWorld): Promise<void> {
  await eventually('the DataPlane is gone', async () => !(await planeAt(world)))
}

/** Gone whatever finalizer holds it. */
async function stripPlane(world: RaceWorld): Promise<void> {
  await removePlane(world)
  if (await planeAt(world)) await setPlaneFinalizers(world, null)
  await planeIsGone(world)
}

async function heldPlane(world: RaceWorld): Promise<void> {
  await eventually('the DataPlane is held', async () =>
    (await planeAt(world))?.metadata.finalizers?.includes(finalizers.dataPlane),
  )
  await planeIsInOrder(world)
}

async function networkObjectStands(world: RaceWorld): Promise<void> {
  await eventually('the network object stands', async () => {
    const stands = await read(world, ToyNetwork, context)
    const owner = await read(world, NetworkContext, context)
    return stands?.metadata.ownerReferences?.some(({ uid }) => uid === owner?.metadata.uid)
  })
}

export const planeRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...planeBy,
    verb: 'add-finalizer',
    act: (world) => world.plane(),
    settled: heldPlane,
    move: (world) => setPlaneFinalizers(world, [otherFinalizer]),
    vanish: removePlane,
    afterVanish: planeIsGone,
  },
  {
    ...planeBy,
    verb: 'remove-finalizer',
    async bring(world) {
      await world.plane()
      await heldPlane(world)
      await setPlaneFinalizers(world, [otherFinalizer, finalizers.dataPlane])
    },
    act: removePlane,
    async settled(world) {
      await eventually('the DataPlane is let go', async () => {
        return !(await planeAt(world))?.metadata.finalizers?.includes(finalizers.dataPlane)
      })
    },
    move: (world) => setPlaneFinalizers(world, [finalizers.dataPlane]),
    vanish: stripPlane,
    afterVanish: planeIsGone,
  },
  {
    ...planeBy,
    kind: ToyNetwork,
    verb: 'delete',
    name: context,
    async bring(world) {
      await place(world)
      await networkObjectStands(world)
    },
    act: removePlane,
    async settled(world) {
      await planeIsGone(world)
      assert.equal(await read(world, ToyNetwork, context), undefined)
    },
    vanish: (world) => end(world, ToyNetwork, context),
    afterVanish: planeIsGone,
    async replace(world) {
      await end(world, ToyNetwork, context)
      await makeForeign(world, strangeNetworkObject(world))
    },
    async afterReplace(world) {
      await planeIsGone(world)
      await foreignStands(world, ToyNetwork, context)
    },
  },
  {
    controller: 'dataplane',
    manager: statusOwners.dataPlane.writer,
    kind: DataPlane,
    verb: 'apply',
    act: (world) => world.plane(),
    settled: planeIsInOrder,
    vanish: stripPlane,
    async remake(world) {
      await stripPlane(world)
      await world.plane()
    },
    afterVanish: planeIsGone,
  },
  {
    controller: 'dataplane-network',
    manager: managers.dataPlane,
    kind: ToyNetwork,
    verb: 'create',
    name: context,
    async bring(world) {
      await world.plane()
      await planeIsInOrder(world)
    },
    act: (world) => world.context(),
    settled: networkObjectStands,
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => end(world, NetworkContext, context),
    async afterOrphan(world) {
      await wasMade(world, ToyNetwork)
      await eventually('it is collected', async () => !(await read(world, ToyNetwork, context)))
    },
    foreign: (world) => makeForeign(world, strangeNetworkObject(world)),
    async afterForeign(world) {
      await eventually('the log names it', () => world.bed.lines.some(({ message }) => message.includes('is not taken over')))
      await foreignStands(world, ToyNetwork, context)
    },
    wake: (world) => change(world, NetworkContext, context, { metadata: { labels: { 'example.dev/nudge': 'yes' } } }),
  },
  {
    ...hold,
    verb: 'add-finalizer',
    bring: place,
    act: (world) => world.claim(),
    settled: (world) => holds(world, NetworkContext, context, finalizers.contextInUse),
    move: (world) => setFinalizers(world, NetworkContext, context, [otherFinalizer]),
    vanish: (world) => end(world, NetworkContext, context),
    afterVanish: noContext,
  },
  {
    ...hold,
    verb: 'remove-finalizer',
    async bring(world) {
      await readyClaim(world)
      await holds(world, NetworkContext, context, finalizers.contextInUse)
      await setFinalizers(world, NetworkContext, context, [otherFinalizer, finalizers.contextInUse])
    },
    act: ({ client, namespace }) => remove(client, NetworkInterfaceClaim, namespace, web),
    settled: (world) => letGo(world, NetworkContext, context, finalizers.contextInUse),
    move: (world) => setFinalizers(world, NetworkContext, context, [finalizers.contextInUse]),
    vanish: (world) => strip(world, NetworkContext, context),
    afterVanish: noContext,
  },
]
