/** Moving the ownership of earlier software, before the first apply of a process to an object that such software wrote. */
import assert from 'node:assert/strict'
import { Network, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet, statusOwners } from '@nso/api'
import { type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { create, remove, said } from '../world.ts'
import { change, end, network, networkIsHere, noNetwork, nothing, read, readyClaim, strangeSubnet, strip, web } from './steps.ts'
import type { RaceWorld } from './world.ts'

type Conditioned = { conditions?: readonly { type: string; message: string }[] }

const earlier = 'manager'
const theirs = 'as earlier software says'
const byHand = 'by-hand'

const conditionsOf = (object: KubeObject | undefined) => (object?.status as Conditioned | undefined)?.conditions ?? []

/** Writes one condition as software that knows no apply. */
async function writeAsEarlier(world: RaceWorld, kind: Kind, name: string, type: string): Promise<void> {
  world.trespass(kind.kind, name, `status.conditions/${type}`)
  world.trespass(kind.kind, name, 'status')
  const conditions = conditionsOf(await read(world, kind, name)).map((each) =>
    each.type === type ? { ...each, message: theirs } : each,
  )
  await world.client.raw(
    {
      method: 'PATCH',
      path: pathOf(kind, { name, namespace: world.namespace, subresource: 'status' }),
      query: { fieldManager: earlier },
      contentType: 'application/merge-patch+json',
      body: { status: { conditions } },
    },
    AbortSignal.timeout(30_000),
  )
}

type Of = {
  controller: string
  manager: string
  kind: Kind
  name: string
  /** Condition that the earlier software writes. */
  type: string
  ready(world: RaceWorld): Promise<unknown>
  vanish(world: RaceWorld): Promise<unknown>
  afterVanish(world: RaceWorld): Promise<unknown>
}

function migration({ type, ready, ...of }: Of): RaceRow<RaceWorld> {
  const { kind, name } = of
  return {
    ...of,
    verb: 'migrate',
    // A process that has written the object itself would take the change for that of a second writer.
    async bring(world) {
      await ready(world)
      world.newTerm()
    },
    act: (world) => writeAsEarlier(world, kind, name, type),
    async settled(world) {
      await eventually(`${kind.kind} ${name} is the documented writer’s alone`, async () => {
        const object = await read(world, kind, name)
        assert.ok(conditionsOf(object).every(({ message }) => message !== theirs))
        assert.ok(!object?.metadata.managedFields?.some(({ manager }) => manager === earlier))
        return object !== undefined
      })
    },
    move: (world) => change(world, kind, name, { metadata: { annotations: { 'example.dev/moved': 'yes' } } }),
  }
}

async function networkReady(world: RaceWorld): Promise<void> {
  await network(world)
  await networkIsHere(world)
}

const removeClaim = ({ client, namespace }: RaceWorld) => remove(client, NetworkInterfaceClaim, namespace, web)
const removeNetwork = ({ client, namespace }: RaceWorld) => remove(client, Network, namespace, 'net')

export const migrationRowsOfClaims: readonly RaceRow<RaceWorld>[] = [
  migration({
    controller: 'networkinterfaceclaim',
    manager: statusOwners.claim.writer,
    kind: NetworkInterfaceClaim,
    name: web,
    type: 'Bound',
    ready: readyClaim,
    vanish: (world) => strip(world, NetworkInterfaceClaim, web),
    afterVanish: nothing,
  }),
  migration({
    controller: 'networkinterface',
    manager: statusOwners.interface.writer,
    kind: NetworkInterface,
    name: web,
    type: 'Allocated',
    ready: readyClaim,
    // With its claim, which would make it again.
    async vanish(world) {
      await removeClaim(world)
      await strip(world, NetworkInterface, web)
    },
    afterVanish: nothing,
  }),
]

export const migrationRowsOfNetworks: readonly RaceRow<RaceWorld>[] = [
  migration({
    controller: 'network',
    manager: statusOwners.network.writer,
    kind: Network,
    name: 'net',
    type: 'Ready',
    ready: networkReady,
    vanish: (world) => strip(world, Network, 'net'),
    afterVanish: noNetwork,
  }),
  migration({
    controller: 'networkcontext',
    manager: statusOwners.networkContext.writer,
    kind: NetworkContext,
    name: 'net-here',
    type: 'Ready',
    ready: networkReady,
    // With its network, which would make it again.
    async vanish(world) {
      await removeNetwork(world)
      await strip(world, NetworkContext, 'net-here')
    },
    afterVanish: noNetwork,
  }),
  migration({
    controller: 'subnet',
    manager: statusOwners.subnet.writer,
    kind: Subnet,
    name: byHand,
    type: 'Allocated',
    async ready(world) {
      await create(world.client, strangeSubnet(world, byHand))
      await eventually('the subnet has its range', async () => {
        return said(await read(world, Subnet, byHand), 'Allocated') === 'True PrefixAllocated'
      })
    },
    vanish: (world) => end(world, Subnet, byHand),
    async afterVanish(world) {
      assert.equal(await read(world, Subnet, byHand), undefined)
    },
  }),
]
