/** The bridge controllers as one value: what a process, or a test in its own process, starts. Nothing happens before `run`. */
import {
  type ControllerProcess,
  countedWarning,
  createProcessManager,
  createStatusWriter,
  createWriter,
  type Manager,
  type ProcessOptions,
  registerConditionGauges,
} from 'kube-control-loop'
import {
  attachmentConditions,
  BridgeAttachment,
  BridgeNetwork,
  managers,
  NetworkAttachmentDefinition,
  statusOwners,
} from './api/index.ts'
import { attachmentController } from './attachment/index.ts'
import { type Caches, createCaches } from './caches.ts'
import { type Digest, sha256 } from './network/bridge-name.ts'
import { networkController } from './network/index.ts'
import { controllers, type Parts, type Settings, type Writers } from './parts.ts'
import { readableCheck } from './readable.ts'

export type BridgeOptions = ProcessOptions & {
  settings?: Partial<Settings>
  /** Where names of devices come from: SHA-256 unless given. */
  digest?: Digest
}

export type Bridge = ControllerProcess<Caches>

/** Name of the Lease that replicas share. */
export const leaseName = 'bridge.datumapis.com'

export const defaultSettings: Settings = { detachGraceMs: 30_000 }

export function createBridge({ settings, digest = sha256, ...options }: BridgeOptions): Bridge {
  const manager = createProcessManager(options, {
    name: 'bridge',
    metricPrefix: 'bridge_',
    eventController: 'bridge.datumapis.com/bridge',
    userAgent: 'bridge/0.1.0',
  })
  const parts = createParts(manager, { ...defaultSettings, ...settings }, digest)
  const { caches } = parts
  manager.add(networkController(parts))
  manager.add(attachmentController(parts))
  // They are no need of a controller, since their absence is said on attachments; the process is not ready without them all the same.
  for (const cache of [caches.definitions, caches.pods])
    manager.ready(cache.kind.plural, () => (cache.state === 'starting' ? `${cache.kind.plural} cannot be read` : undefined))
  for (const [condition, name] of [
    [attachmentConditions.Ready, 'ready'],
    [attachmentConditions.Programmed, 'programmed'],
  ] as const)
    registerConditionGauges({
      registry: manager.metrics.registry,
      clock: manager.clock,
      cache: caches.attachments,
      condition,
      names: { count: `bridge_attachments_by_${name}`, oldest: `bridge_attachment_oldest_not_${name}_seconds` },
      what: 'attachments',
    })
  return { manager, caches, run: (signal) => manager.run(signal) }
}

/** What the controllers are made of, on a manager's client, caches and clock. */
export function createParts(manager: Manager, settings: Settings, digest: Digest): Parts {
  const { client, clock } = manager
  const caches = createCaches((kind, options) => manager.cache(kind, options))
  return {
    ...{ client, clock, caches, settings, digest },
    writers: createWriters(manager, caches),
    writeMetrics: manager.metrics,
    readable: { definitions: readableCheck(caches.definitions, manager), pods: readableCheck(caches.pods, manager) },
    detachGraceExpired: countedWarning(manager, {
      metric: 'bridge_detach_grace_expired_total',
      help: 'Attachments let go although a Pod still used their network definition',
      ...{ reason: 'DetachGraceExpired', action: 'Detach' },
      note: 'let go although a Pod still used its NetworkAttachmentDefinition at the end of the grace',
    }),
  }
}

/** Each controller writes by its own writers, which also makes the list of all writes there are. */
function createWriters(manager: Manager, { networks, attachments, definitions }: Caches): Writers {
  const { recordEvent } = manager.writers
  const writes = ['addFinalizer', 'removeFinalizer'] as const
  const network = {
    ...{ ...manager.writers, controller: controllers.network, manager: managers.network },
    ...{ kind: BridgeNetwork, cache: networks },
  }
  const attachment = {
    ...{ ...manager.writers, controller: controllers.attachment, manager: managers.attachment },
    ...{ kind: BridgeAttachment, cache: attachments },
  }
  return {
    network: createWriter({ ...network, writes }),
    networkStatus: createStatusWriter({ ...network, owner: statusOwners.network, recordEvent }),
    attachment: createWriter({ ...attachment, writes }),
    attachmentStatus: createStatusWriter({ ...attachment, owner: statusOwners.attachment, recordEvent }),
    definition: createWriter({
      ...{ ...attachment, kind: NetworkAttachmentDefinition, cache: definitions },
      // Another project's kind: it may be installed late or taken away.
      mayBeUnserved: true,
      writes: ['create', 'patch', 'remove'] as const,
    }),
  }
}
