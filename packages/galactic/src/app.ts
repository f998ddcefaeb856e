/** Galactic as one value: what a process, or a test in its own process, starts. Nothing happens before `run`. */
import { randomInt, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import {
  type Clock,
  createAccessSource,
  createHandover,
  createHttpTransport,
  createManager,
  createStatusWriter,
  createWriter,
  type Logger,
  type Manager,
  type ManagerOptions,
  registerConditionGauges,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { Counter } from 'prom-client'
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

export type GalacticOptions = {
  /** The wire to the API server. Absent: made from `kubeconfig`, or from where clients look by themselves. */
  transport?: Transport
  kubeconfig?: string
  settings?: Partial<Settings>
  clock?: Clock
  /** Source of identifiers; unpredictable unless given. */
  random?: RandomInt
  /** Spreads retries: a number from 0 to 1. */
  jitter?: () => number
  log?: Logger
  /** Absent: acts without asking, which is safe only where one process runs. */
  lease?: ManagerOptions['lease']
  /** Absent: no pages are served. */
  server?: ManagerOptions['server']
  loop?: ManagerOptions['loop']
  /** What refused writes mean; see `WriterEnvironment`. */
  classify?: ManagerOptions['classify']
}

export type Galactic = {
  readonly manager: Manager
  readonly caches: Caches
  /** Runs until the signal is aborted and everything is put away. */
  run(signal: AbortSignal): Promise<void>
}

/** Name of the Lease that replicas share. */
export const leaseName = 'galactic.cloud.datumapis.com'
export const defaultSettings: Settings = { systemNamespace: 'galactic-system', detachGraceMs: 30_000 }
const userAgent = 'galactic/0.1.0'

export function createGalactic(options: GalacticOptions): Galactic {
  const { clock = systemClock, random = randomInt } = options
  const settings = { ...defaultSettings, ...options.settings }
  const manager = createManager({
    name: 'galactic',
    transport: options.transport ?? ownTransport(options, clock),
    metricPrefix: 'galactic_',
    eventController: 'cloud.datumapis.com/galactic',
    identity: `${hostname()}_${randomUUID()}`,
    clock,
    ...given({
      lease: options.lease,
      server: options.server,
      jitter: options.jitter,
      log: options.log,
      loop: options.loop,
      classify: options.classify,
    }),
  })
  const parts = createParts(manager, settings, random)
  manager.add(vpcController(parts))
  manager.add(attachmentController(parts))
  registerConditionGauges({
    registry: manager.metrics.registry,
    clock,
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
    detachGraceExpired: detachGraceExpiry(manager),
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

function ownTransport({ kubeconfig }: GalacticOptions, clock: Clock): Transport {
  const access = createAccessSource({ clock, ...given({ kubeconfig }) })
  return createHttpTransport({ access, clock, userAgent })
}

function detachGraceExpiry({ metrics, events }: Manager): Parts['detachGraceExpired'] {
  const counter = new Counter({
    name: 'galactic_detach_grace_expired_total',
    help: 'Attachments let go although a node still advertised them',
    registers: [metrics.registry],
  })
  const note = 'let go although its BGPAdvertisement was not withdrawn within the grace'
  return (attachment) => {
    counter.inc()
    events.record(attachment, { type: 'Warning', reason: 'DetachGraceExpired', action: 'Detach', note })
  }
}

/** Leaves out what is undefined: an option is given or absent. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
