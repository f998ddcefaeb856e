/** Writes of the data-plane controllers and of the context hold. */
import assert from 'node:assert/strict'
import { DataPlane, finalizers, managers, NetworkContext, NetworkInterfaceClaim, statusOwners } from '@nso/api'
import { apiVersionOf } from 'kube-control-loop'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { find, listed, remove } from '../world.ts'
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

async function noContext({ client, namespace }: RaceWorld): Promise<void> {
  assert.deepEqual(await listed(client, NetworkContext, namespace), [])
}

export const planeRows: readonly RaceRow<RaceWorld>[] = [
  {
    controller: 'dataplane',
    manager: statusOwners.dataPlane.writer,
    kind: DataPlane,
    verb: 'apply',
    act: (world) => world.plane(),
    settled: planeIsInOrder,
    vanish: ({ client, planeName }) => remove(client, DataPlane, undefined, planeName),
    async remake(world) {
      await remove(world.client, DataPlane, undefined, world.planeName)
      await world.plane()
    },
    async afterVanish({ client, planeName }) {
      assert.equal(await find(client, DataPlane, undefined, planeName), undefined)
    },
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
    async settled(world) {
      await eventually('the network object stands', async () => {
        const stands = await read(world, ToyNetwork, context)
        const owner = await read(world, NetworkContext, context)
        return stands?.metadata.ownerReferences?.some(({ uid }) => uid === owner?.metadata.uid)
      })
    },
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => end(world, NetworkContext, context),
    async afterOrphan(world) {
      await wasMade(world, ToyNetwork)
      await eventually('it is collected', async () => !(await read(world, ToyNetwork, context)))
    },
    foreign: (world) =>
      makeForeign(world, {
        apiVersion: apiVersionOf(ToyNetwork),
        kind: 'ToyNetwork',
        metadata: { name: context, namespace: world.namespace },
        spec: {},
      }),
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
