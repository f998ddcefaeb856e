/** NSO as one value: caches, allocator, data planes and all controllers on one client. Nothing runs before `run`. */
import { claimConditions, managers, NetworkInterface, NetworkInterfaceClaim, ownership, statusOwners } from '@nso/api'
import {
  type Classify,
  type Clock,
  type Controller,
  createCache,
  createHandover,
  createLogger,
  createManager,
  createStatusWriter,
  createWriter,
  type Jitter,
  type Logger,
  type LogLevel,
  linkedSignal,
  type Manager,
  type ManagerOptions,
  registerConditionGauges,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { createBuiltinAllocator } from './addresses/index.ts'
import { type Caches, createCaches } from './caches.ts'
import { createClaimController } from './claim/index.ts'
import { createDataPlanes, type DataPlaneModule, registerAttachmentGauges } from './dataplane/index.ts'
import { createEarlyStatus } from './early-status.ts'
import { createInterfaceController } from './interface/index.ts'
import { createNetworkControllers } from './network/index.ts'
import { createReadyTimes } from './ready-times.ts'
import { defaultSettings, type Settings } from './settings.ts'

export type OperatorOptions = {
  transport: Transport
  /** Different for each process, also for two lives of one pod. */
  identity: string
  settings?: Partial<Settings>
  clock?: Clock
  /** 0 ≤ x < 1. */
  random?: Jitter
  log?: Logger
  logLevel?: LogLevel
  /** Absent: this process acts without asking. */
  lease?: { namespace: string; name: string; termMs?: number; renewDeadlineMs?: number; retryMs?: number }
  /** Absent: no pages are served. */
  server?: ManagerOptions['server']
  /** How long passes in hand may take when the process stops (default 10 s). */
  drainMs?: number
  /** What refused writes mean; see `WriterEnvironment`. */
  classify?: Classify
}

export type Operator = {
  readonly manager: Manager
  readonly caches: Caches
  readonly planes: DataPlaneModule['planes']
  /** In the order in which a change wakes them. */
  readonly controllers: readonly Controller[]
  /** Runs until the signal is aborted and everything is put away. Once only. */
  run(signal: AbortSignal): Promise<void>
}

/** Lease that one active process holds. */
export const leaseName = 'network-services-operator.networking.datumapis.com'

export function createOperator(options: OperatorOptions): Operator {
  const settings: Settings = { ...defaultSettings, ...options.settings }
  const clock = options.clock ?? systemClock
  const random = options.random ?? Math.random
  const log = options.log ?? createLogger({ name: 'nso', level: options.logLevel ?? 'info' })
  const manager = createManager({
    name: 'nso',
    transport: options.transport,
    metricPrefix: 'nso_',
    eventController: 'networking.datumapis.com/nso',
    identity: options.identity,
    clock,
    jitter: random,
    log,
    ...(options.lease ? { lease: options.lease } : {}),
    ...(options.server ? { server: options.server } : {}),
    ...(options.drainMs === undefined ? {} : { drainMs: options.drainMs }),
    ...(options.classify ? { classify: options.classify } : {}),
  })
  const caches = createCaches((kind, cacheOptions) => manager.cache(kind, cacheOptions))
  const dataPlanes = createDataPlanes({
    client: manager.client,
    environment: manager.writers,
    caches,
    createCache: (kind, cacheOptions = {}, reflector = {}) =>
      createCache(manager.client, kind, cacheOptions, { clock, jitter: random, log, metrics: manager.metrics.cache, reflector }),
    clock,
    jitter: random,
    log,
    recordEvent: manager.events.record,
  })
  const controllers = createControllers({ manager, caches, dataPlanes, settings, clock })
  for (const controller of controllers) manager.add(controller)
  registerGauges({ manager, caches, dataPlanes, settings, clock })
  return {
    manager,
    caches,
    planes: dataPlanes.planes,
    controllers,
    run: (signal) => runAll(manager, dataPlanes, signal),
  }
}

type Parts = { manager: Manager; caches: Caches; dataPlanes: DataPlaneModule; settings: Settings; clock: Clock }

/** The claim controller comes before the interface controller: workloads wait for the claim's status. */
function createControllers({ manager, caches, dataPlanes, settings, clock }: Parts): Controller[] {
  const allocator = createBuiltinAllocator(manager.writers, caches)
  const shared = { caches, client: manager.client, planes: dataPlanes.planes, allocator, location: settings.location }
  const early = () => createEarlyStatus(clock, settings.earlyStatusAfterMs)
  const writers = createWriters(manager, caches)
  const times = createReadyTimes({ clock, registry: manager.metrics.registry })
  caches.claims.subscribe(({ key, before, after, initial }) => {
    if (!before && after?.metadata.uid && !initial) times.appeared(key, after.metadata.uid)
  })
  const claim = createClaimController({
    ...shared,
    claimWriter: writers.claim,
    interfaceWriter: writers.claimInterface,
    statusWriter: writers.claimStatus,
    early: early(),
    times,
    retryRejectedMs: settings.retryRejectedMs,
    warn: (about, { reason, action, message }) =>
      manager.events.record(about, { type: 'Warning', reason, action, note: message }),
  })
  const nic = createInterfaceController({
    ...shared,
    attachments: dataPlanes.attachmentWriter('networkinterface'),
    writer: writers.interface,
    statusWriter: writers.interfaceStatus,
    early: early(),
  })
  const networks = createNetworkControllers({
    environment: manager.writers,
    caches,
    clock,
    recordEvent: manager.events.record,
    standalone: settings.networkControllers,
  })
  return [claim, nic, ...dataPlanes.controllers, ...networks]
}

/** What stands, as the caches hold it; on every replica. */
function registerGauges({ manager, caches, dataPlanes, clock }: Parts): void {
  const { registry } = manager.metrics
  registerConditionGauges({
    registry,
    clock,
    cache: caches.claims,
    condition: claimConditions.Ready,
    names: { count: 'nso_claims', oldest: 'nso_claim_oldest_not_ready_seconds' },
    what: 'claims',
  })
  registerAttachmentGauges({ registry, clock, caches, planes: dataPlanes.planes })
}

/** Every write of the claim and interface controllers comes from one of these. */
function createWriters(manager: Manager, caches: Caches) {
  const claims = { ...manager.writers, kind: NetworkInterfaceClaim, cache: caches.claims, controller: 'networkinterfaceclaim' }
  const interfaces = { ...manager.writers, kind: NetworkInterface, cache: caches.interfaces }
  const recordEvent = manager.events.record
  const claimHandover = createHandover({ ...claims, manager: managers.claim, table: ownership })
  const nicHandover = createHandover({
    ...interfaces,
    controller: 'networkinterface',
    manager: managers.interface,
    table: ownership,
  })
  return {
    claim: createWriter({ ...claims, manager: managers.claim, writes: ['addFinalizer', 'removeFinalizer'] }),
    claimStatus: createStatusWriter({ ...claims, ...claimHandover, owner: statusOwners.claim, recordEvent }),
    claimInterface: createWriter({
      ...interfaces,
      controller: 'networkinterfaceclaim',
      manager: managers.claim,
      writes: ['create', 'patch', 'remove'],
    }),
    interface: createWriter({
      ...interfaces,
      controller: 'networkinterface',
      manager: managers.interface,
      writes: ['patch', 'addFinalizer', 'removeFinalizer'],
    }),
    interfaceStatus: createStatusWriter({
      ...interfaces,
      ...nicHandover,
      controller: 'networkinterface',
      owner: statusOwners.interface,
      recordEvent,
    }),
  }
}

/** The kinds of data planes are followed as long as all others: until told to stop, when passes in hand read what is known. */
async function runAll(manager: Manager, dataPlanes: DataPlaneModule, signal: AbortSignal): Promise<void> {
  const following = linkedSignal(signal)
  const kinds = dataPlanes.run(following.signal)
  try {
    await manager.run(signal)
  } finally {
    following.abort(new Error('the process stops'))
    await kinds
    following.release()
  }
}
