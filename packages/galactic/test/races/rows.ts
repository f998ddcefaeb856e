/** Every write that Galactic makes. */
import type { RaceRow } from 'kube-control-loop/testing'
import { absent, bring, change, isDetached, type RaceSubjects, type RaceWorld, raceRows } from 'kube-multus/testing/planes'
import { finalizer, managers, statusOwners, VPC, VPCAttachment } from '../../src/api/index.ts'
import { attachmentControllerName, vpcControllerName } from '../../src/parts.ts'
import {
  attachmentIsReady,
  isTakenOver,
  makeAttachment,
  makeVpc,
  net,
  readyVpc,
  strip,
  vpcIsReady,
  web,
  writeAsEarlier,
} from './steps.ts'

const ofVpc = { controller: vpcControllerName, manager: managers.vpc, kind: VPC, name: net }
const ofAttachment = { controller: attachmentControllerName, manager: managers.attachment, kind: VPCAttachment, name: web }

export const subjects: RaceSubjects = {
  network: { ...ofVpc, make: makeVpc, isReady: vpcIsReady },
  attachment: { ...ofAttachment, make: makeAttachment, isReady: attachmentIsReady },
  finalizer,
  conflict: 'False AttachmentDefinitionConflict',
}

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
      await bring(subjects, world)
      world.newTerm()
    },
    act: (world) => writeAsEarlier(world, VPCAttachment, web),
    settled: (world) => isTakenOver(world, VPCAttachment, web),
    move: (world) => change(world, VPCAttachment, web, { metadata: { labels: { 'example.dev/moved': 'yes' } } }),
    vanish: (world) => strip(world, VPCAttachment, web),
    afterVanish: (world) => isDetached(subjects.attachment, world),
  },
]

export const rows = [...raceRows(subjects), ...migrationRows]
