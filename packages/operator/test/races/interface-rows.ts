/** The interface controller's writes, those to the data plane's attachments among them. */
import assert from 'node:assert/strict'
import {
  AddressLease,
  annotations,
  finalizers,
  managers,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  parseDataPlaneChoice,
} from '@nso/api'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from '../toy-plane.ts'
import { remove, said } from '../world.ts'
import {
  change,
  end,
  endNamespace,
  foreignStands,
  holds,
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
  strangeAttachment,
  strip,
  theLease,
  thief,
  wasMade,
  web,
} from './steps.ts'
import type { RaceWorld } from './world.ts'

const controller = 'networkinterface'
const by = { controller, manager: managers.interface }
const toAttachments = { controller, manager: managers.dataPlane, kind: ToyAttachment, name: web }

const removeClaim = ({ client, namespace }: RaceWorld) => remove(client, NetworkInterfaceClaim, namespace, web)
const choose = (world: RaceWorld, choice: string | null) =>
  interfere(world, NetworkInterface, web, `metadata.annotations/${annotations.dataPlane}`, {
    metadata: { annotations: { [annotations.dataPlane]: choice } },
  })

async function attached(world: RaceWorld, mtu: number): Promise<void> {
  await eventually('the attachment has the MTU', async () => {
    const attachment = await read(world, ToyAttachment, web)
    return (attachment?.spec as { mtu?: number } | undefined)?.mtu === mtu && !attachment?.metadata.deletionTimestamp
  })
  await ready(world)
}

async function interfaceIsProgrammed(world: RaceWorld): Promise<void> {
  await eventually('the interface is programmed', async () => {
    return said(await read(world, NetworkInterface, web), 'Programmed') === 'True ToyProgrammed'
  })
  await ready(world)
}

export const interfaceRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...by,
    kind: NetworkInterface,
    verb: 'patch',
    name: web,
    bring: readyClaim,
    act: (world) => choose(world, null),
    async settled(world) {
      await eventually('the choice stands', async () => {
        const nic = await read(world, NetworkInterface, web)
        return parseDataPlaneChoice(nic?.metadata.annotations?.[annotations.dataPlane])?.name === world.planeName
      })
      await ready(world)
    },
    move: (world) => choose(world, 'another/uid'),
    vanish: (world) => strip(world, NetworkInterface, web),
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'add-finalizer',
    name: web,
    bring: readyClaim,
    act: (world) => setFinalizers(world, NetworkInterface, web, null),
    async settled(world) {
      await holds(world, NetworkInterface, web, finalizers.interface)
      await ready(world)
    },
    move: (world) => setFinalizers(world, NetworkInterface, web, [otherFinalizer]),
    vanish: (world) => end(world, NetworkInterface, web),
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'remove-finalizer',
    name: web,
    async bring(world) {
      await readyClaim(world)
      await setFinalizers(world, NetworkInterface, web, [otherFinalizer, finalizers.interface])
    },
    act: removeClaim,
    settled: (world) => letGo(world, NetworkInterface, web, finalizers.interface),
    move: (world) => setFinalizers(world, NetworkInterface, web, [finalizers.interface]),
    vanish: (world) => strip(world, NetworkInterface, web),
    afterVanish: nothing,
  },
  {
    ...by,
    kind: NetworkInterface,
    verb: 'apply',
    name: web,
    bring: place,
    act: (world) => world.claim(),
    settled: interfaceIsProgrammed,
    // With its claim, which would make it again.
    async vanish(world) {
      await removeClaim(world)
      await strip(world, NetworkInterface, web)
    },
    afterVanish: nothing,
    async remake(world) {
      await strip(world, NetworkInterface, web)
      await eventually('the claim has made it again', () => read(world, NetworkInterface, web))
    },
  },
  {
    ...by,
    kind: AddressLease,
    verb: 'delete',
    bring: readyClaim,
    act: removeClaim,
    settled: nothing,
    async vanish(world) {
      const { metadata } = await theLease(world)
      await end(world, AddressLease, metadata.name)
    },
    async replace(world) {
      const { metadata, spec } = await theLease(world)
      const uid = await thief(world)
      await end(world, AddressLease, metadata.name)
      await makeForeign(world, leaseOf(world, metadata.name, spec.address, 'thief', uid))
    },
    async afterReplace(world) {
      await eventually('the claim is gone', async () => !(await read(world, NetworkInterfaceClaim, web)))
      await foreignStands(world, AddressLease, (await theLease(world)).metadata.name)
    },
  },
  {
    ...toAttachments,
    verb: 'create',
    bring: place,
    act: (world) => world.claim(),
    async settled(world) {
      await ready(world)
      await oneOfEach(world)
    },
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    async orphan(world) {
      await removeClaim(world)
      await strip(world, NetworkInterface, web)
    },
    async afterOrphan(world) {
      await wasMade(world, ToyAttachment)
      await nothing(world)
    },
    foreign: (world) => makeForeign(world, strangeAttachment(world)),
    async afterForeign(world) {
      await eventually('the claim says that it is not prepared', async () => {
        const says = said(await read(world, NetworkInterfaceClaim, web), 'Bound')
        return says === 'True Bound'
      })
      const claim = await read(world, NetworkInterfaceClaim, web)
      assert.doesNotMatch(said(claim, 'Prepared') ?? '', /^True/)
      await foreignStands(world, ToyAttachment, web)
    },
    wake: (world) =>
      interfere(world, NetworkInterface, web, 'metadata.labels', { metadata: { labels: { 'example.dev/nudge': 'yes' } } }),
  },
  {
    ...toAttachments,
    verb: 'patch',
    bring: readyClaim,
    act: (world) => change(world, NetworkContext, 'net-here', { spec: { mtu: 1500 } }),
    settled: (world) => attached(world, 1500),
    move: (world) => interfere(world, ToyAttachment, web, 'spec', { spec: { mtu: 1400 } }),
    vanish: (world) => end(world, ToyAttachment, web),
  },
  {
    ...toAttachments,
    verb: 'delete',
    bring: readyClaim,
    act: removeClaim,
    settled: nothing,
    vanish: (world) => end(world, ToyAttachment, web),
    async replace(world) {
      await end(world, ToyAttachment, web)
      await makeForeign(world, strangeAttachment(world))
    },
    async afterReplace(world) {
      await eventually('the claim is gone', async () => !(await read(world, NetworkInterfaceClaim, web)))
      await foreignStands(world, ToyAttachment, web)
    },
  },
]
