/** Galactic as one value: what a process, or a test in its own process, starts. Nothing happens before `run`. */
import { randomInt } from 'node:crypto'
import {
  type ControllerProcess,
  countedWarning,
  createHandover,
  createProcessManager,
  createStatusWriter,
  createWriter,
  type Manager,
  type ProcessOptions,
  registerConditionGauges,
} from 'kube-control-loop'
import {
  attachmentConditions,
  managers,
  NetworkAttachmentDefinition,
  ownership,
  statusOwners,
  VPC,
  VPCAttachment,
} from './api/index.ts'
import { attachmentController } from './attachment/index.ts'
import { type Caches, createCaches } from './caches.ts'
import type { RandomInt } from './identifiers/pick.ts'
import { createReservations } from './identifiers/reservations.ts'
import { attachmentControllerName, type Parts, type Settings, vpcControllerName, type Writers } from './parts.ts'
import { vpcController } from './vpc/index.ts'

export type GalacticOptions = ProcessOptions & {
  settings?: Partial<Settings>
  /** Source of identifiers; unpredictable unless given. */
  random?: RandomInt
}

export type Galactic = ControllerProcess<Caches>

/** Name of the Lease that replicas share. */
export const leaseName = 'galactic.cloud.datumapis.com'
export const defaultSettings: Settings = { systemNamespace: 'galactic-system', detachGraceMs: 30_000 }
const userAgent = 'galactic/0.1.0'

export function createGalactic(options: GalacticOptions): Galactic {
  const { settings, random = randomInt, ...process } = options
  const manager = createProcessManager(process, {
    name: 'galactic',
    metricPrefix: 'galactic_',
    eventController: 'cloud.datumapis.com/galactic',
    userAgent,
  })
  const parts = createParts(manager, { ...defaultSettings, ...settings }, random)
  manager.add(vpcController(parts))
  manager.add(attachmentController(parts))
  registerConditionGauges({
    registry: manager.metrics.registry,
    clock: manager.clock,
    cache: parts.caches.attachments,
    condition: attachmentConditions.Ready,
    names: { count: 'galactic_attachments', oldest: 'galactic_attachment_oldest_not_ready_seconds' },
    what: 'attachments',
  })
  return { manager, caches: parts.caches, run: (signal) => manager.run(signal) }
}

/** What the controllers are made of, on a manager's client, caches and clock. */
export function createParts(manager: Manager, settings: Settings, random: RandomInt): Parts {
  const caches = createCaches((kind, cacheOptions) => manager.cache(kind, cacheOptions), settings.systemNamespace)
  return {
    client: manager.client,
    clock: manager.clock,
    random,
    caches,
    reservations: createReservations(),
    writers: createWriters(manager, caches),
    writeMetrics: manager.metrics,
    settings,
    detachGraceExpired: countedWarning(manager, {
      metric: 'galactic_detach_grace_expired_total',
      help: 'Attachments let go although a node still advertised them',
      ...{ reason: 'DetachGraceExpired', action: 'Detach' },
      note: 'let go although its BGPAdvertisement was not withdrawn within the grace',
    }),
  }
}

/** Each controller writes by its own writers, which also makes the list of all writes there are. */
function createWriters(manager: Manager, caches: Caches): Writers {
  const recordEvent = manager.events.record
  const vpc = { ...manager.writers, controller: vpcControllerName, manager: managers.vpc }
  const attachment = { ...manager.writers, controller: attachmentControllerName, manager: managers.attachment }
  const finalizing = ['addFinalizer', 'removeFinalizer'] as const
  const vpcHandover = createHandover({ ...vpc, kind: VPC, cache: caches.vpcs, table: ownership })
  const handover = createHandover({ ...attachment, kind: VPCAttachment, cache: caches.attachments, table: ownership })
  return {
    vpc: createWriter({ ...vpc, kind: VPC, cache: caches.vpcs, writes: finalizing }),
    vpcStatus: createStatusWriter({
      ...vpc,
      ...vpcHandover,
      kind: VPC,
      cache: caches.vpcs,
      owner: statusOwners.vpc,
      recordEvent,
    }),
    attachment: createWriter({ ...attachment, kind: VPCAttachment, cache: caches.attachments, writes: finalizing }),
    attachmentStatus: createStatusWriter({
      ...attachment,
      ...handover,
      kind: VPCAttachment,
      cache: caches.attachments,
      owner: statusOwners.attachment,
      recordEvent,
    }),
    definition: createWriter({
      ...attachment,
      kind: NetworkAttachmentDefinition,
      // Another project's kind: it may be installed late or taken away.
      mayBeUnserved: true,
      cache: caches.definitions,
      writes: ['create', 'patch', 'remove'] as const,
    }),
  }
}
