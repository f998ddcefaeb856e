/** Every write that Galactic makes. */
import assert from 'node:assert/strict'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { finalizer, managers, NetworkAttachmentDefinition, statusOwners, VPC, VPCAttachment } from '../../src/api/index.ts'
import { attachmentControllerName, vpcControllerName } from '../../src/parts.ts'
import { conditionOf } from '../harness.ts'
import {
  absent,
  attachmentIsReady,
  change,
  detached,
  endNamespace,
  holds,
  isTakenOver,
  letGo,
  makeAttachment,
  makeStranger,
  makeVpc,
  namespaceIsGone,
  net,
  otherFinalizer,
  read,
  readyAttachment,
  readyVpc,
  remove,
  setConfig,
  setFinalizers,
  strangerStands,
  strip,
  vpcIsReady,
  wasMade,
  web,
  writeAsEarlier,
} from './steps.ts'
import type { RaceWorld } from './world.ts'

const ofVpc = { controller: vpcControllerName, manager: managers.vpc, kind: VPC, name: net }
const ofAttachment = { controller: attachmentControllerName, manager: managers.attachment, kind: VPCAttachment, name: web }
const ofDefinition = { ...ofAttachment, kind: NetworkAttachmentDefinition }

const removeAttachment = (world: RaceWorld) => remove(world, VPCAttachment, web)

const vpcRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofVpc,
    verb: 'add-finalizer',
    act: makeVpc,
    async settled(world) {
      await vpcIsReady(world)
      await holds(world, VPC, net, finalizer)
    },
    move: (world) => setFinalizers(world, VPC, net, [otherFinalizer]),
    vanish: (world) => strip(world, VPC, net),
    afterVanish: (world) => absent(world, VPC, net),
  },
  {
    ...ofVpc,
    verb: 'remove-finalizer',
    bring: (world) => readyVpc(world, { finalizers: [otherFinalizer, finalizer] }),
    act: (world) => remove(world, VPC, net),
    settled: (world) => letGo(world, VPC, net, finalizer),
    move: (world) => setFinalizers(world, VPC, net, [finalizer]),
    vanish: (world) => strip(world, VPC, net),
    afterVanish: (world) => absent(world, VPC, net),
  },
  {
    ...ofVpc,
    manager: statusOwners.vpc.writer,
    verb: 'apply',
    act: makeVpc,
    settled: vpcIsReady,
    vanish: (world) => strip(world, VPC, net),
    afterVanish: (world) => absent(world, VPC, net),
    async remake(world) {
      await strip(world, VPC, net)
      await makeVpc(world)
    },
  },
]

const attachmentRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofAttachment,
    verb: 'add-finalizer',
    bring: readyVpc,
    act: makeAttachment,
    async settled(world) {
      await attachmentIsReady(world)
      await holds(world, VPCAttachment, web, finalizer)
    },
    move: (world) => setFinalizers(world, VPCAttachment, web, [otherFinalizer]),
    vanish: (world) => strip(world, VPCAttachment, web),
    afterVanish: detached,
  },
  {
    ...ofAttachment,
    verb: 'remove-finalizer',
    bring: (world) => readyAttachment(world, { finalizers: [otherFinalizer, finalizer] }),
    act: removeAttachment,
    settled: (world) => letGo(world, VPCAttachment, web, finalizer),
    move: (world) => setFinalizers(world, VPCAttachment, web, [finalizer]),
    vanish: (world) => strip(world, VPCAttachment, web),
    afterVanish: detached,
  },
  {
    ...ofAttachment,
    manager: statusOwners.attachment.writer,
    verb: 'apply',
    bring: readyVpc,
    act: makeAttachment,
    settled: attachmentIsReady,
    vanish: (world) => strip(world, VPCAttachment, web),
    // The definition was made before the status was sent: the collector takes it.
    afterVanish: detached,
    async remake(world) {
      await strip(world, VPCAttachment, web)
      await makeAttachment(world)
    },
  },
]

const definitionRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofDefinition,
    verb: 'create',
    bring: readyVpc,
    act: makeAttachment,
    settled: attachmentIsReady,
    vanish: endNamespace,
    afterVanish: namespaceIsGone,
    orphan: (world) => strip(world, VPCAttachment, web),
    async afterOrphan(world) {
      await wasMade(world, NetworkAttachmentDefinition)
      await detached(world)
    },
    foreign: makeStranger,
    async afterForeign(world) {
      await eventually('the attachment says what is in its way', async () => {
        const attachment = await read(world, VPCAttachment, web)
        return conditionOf(attachment, 'Ready') === 'False AttachmentDefinitionConflict'
      })
      await strangerStands(world)
    },
    wake: (world) => change(world, VPCAttachment, web, { metadata: { labels: { 'example.dev/nudge': 'yes' } } }),
  },
  {
    ...ofDefinition,
    verb: 'patch',
    bring: readyAttachment,
    act: (world) => change(world, VPCAttachment, web, { spec: { interface: { mtu: 1500 } } }),
    async settled(world) {
      await eventually('the definition has the MTU', async () => {
        const config = (await read(world, NetworkAttachmentDefinition, web))?.spec.config ?? ''
        assert.match(config, /"mtu":\s*1500/)
        return true
      })
      await attachmentIsReady(world)
    },
    move: (world) => setConfig(world, '{}'),
    vanish: (world) => strip(world, NetworkAttachmentDefinition, web),
  },
  {
    ...ofDefinition,
    verb: 'delete',
    bring: readyAttachment,
    act: removeAttachment,
    settled: detached,
    vanish: (world) => strip(world, NetworkAttachmentDefinition, web),
    async replace(world) {
      await strip(world, NetworkAttachmentDefinition, web)
      await makeStranger(world)
    },
    async afterReplace(world) {
      await absent(world, VPCAttachment, web)
      await strangerStands(world)
    },
  },
]

const migrationRows: readonly RaceRow<RaceWorld>[] = [
  {
    ...ofVpc,
    manager: statusOwners.vpc.writer,
    verb: 'migrate',
    async bring(world) {
      await readyVpc(world)
      world.newTerm()
    },
    act: (world) => writeAsEarlier(world, VPC, net),
    settled: (world) => isTakenOver(world, VPC, net),
    move: (world) => change(world, VPC, net, { metadata: { labels: { 'example.dev/moved': 'yes' } } }),
    vanish: (world) => strip(world, VPC, net),
    afterVanish: (world) => absent(world, VPC, net),
  },
  {
    ...ofAttachment,
    manager: statusOwners.attachment.writer,
    verb: 'migrate',
    async bring(world) {
      await readyAttachment(world)
      world.newTerm()
    },
    act: (world) => writeAsEarlier(world, VPCAttachment, web),
    settled: (world) => isTakenOver(world, VPCAttachment, web),
    move: (world) => change(world, VPCAttachment, web, { metadata: { labels: { 'example.dev/moved': 'yes' } } }),
    vanish: (world) => strip(world, VPCAttachment, web),
    afterVanish: detached,
  },
]

export const rows = [...vpcRows, ...attachmentRows, ...definitionRows, ...migrationRows]
