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
import {
  type AddressAllocator,
  connectIpam,
  createBuiltinAllocator,
  createIpamAllocator,
  createLosses,
  type IpamConnection,
  labelsOnly,
  Namespace,
} from './addresses/index.ts'
import { type Caches, createCaches } from './caches.ts'
import { createClaimController } from './claim/index.ts'
import { currentLocation } from './claim/observe.ts'
import { createDataPlanes, type DataPlaneModule, registerAttachmentGauges } from './dataplane/index.ts'
import { createEarlyStatus } from './early-status.ts'
import { noteOf, type Tell } from './events.ts'
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
  /** Addresses come from this address service, and the ranges of networks and contexts by these classes; absent: from Subnets. */
  ipam?: IpamOptions
  /** How long passes in hand may take when the process stops (default 10 s). */
  drainMs?: number
  /** What refused writes mean; see `WriterEnvironment`. */
  classify?: Classify
}

/** `transport`: to the API server of the service; closed when the process has stopped. Without a class no range of that sort is asked for. */
export type IpamOptions = {
  transport: Transport
  classes: { network?: string | undefined; subnet?: string | undefined }
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
    tell: (about, happening) => manager.events.record(about, noteOf(happening)),
  })
  const service = options.ipam && connect(manager, options.ipam, { clock, jitter: random, log })
  const classes = options.ipam?.classes ?? {}
  const parts = { manager, caches, dataPlanes, settings, clock, random, service, classes }
  const controllers = createControllers(parts)
  for (const controller of controllers) manager.add(controller)
  registerGauges(parts)
  return {
    manager,
    caches,
    planes: dataPlanes.planes,
    controllers,
    run: (signal) => runAll({ manager, dataPlanes, service }, signal),
  }
}

type Parts = {
  manager: Manager
  caches: Caches
  dataPlanes: DataPlaneModule
  settings: Settings
  clock: Clock
  random: Jitter
  service: IpamConnection | undefined
  classes: IpamOptions['classes']
}

/** Namespaces tell which project of the service they belong to: nothing else reads them. */
function connect(manager: Manager, { transport }: IpamOptions, tools: { clock: Clock; jitter: Jitter; log: Logger }) {
  const namespaces = manager.cache(Namespace, { prune: labelsOnly })
  return connectIpam({ ...tools, transport, fence: manager.fence, namespaces, metrics: manager.metrics })
}

function createAllocator({ manager, caches, settings, clock, random, service }: Parts): AddressAllocator {
  const losses = createLosses(manager.metrics.registry)
  if (!service) return createBuiltinAllocator(manager.writers, caches)
  const location = () => {
    const here = currentLocation({ caches, location: settings.location })
    return here.kind === 'known' ? here.name : undefined
  }
  return createIpamAllocator({ service, caches, cluster: manager.client, location, clock, jitter: random, losses })
}

/** The claim controller comes before the interface controller: workloads wait for the claim's status. */
function createControllers(parts: Parts): Controller[] {
  const { manager, caches, dataPlanes, settings, clock } = parts
  const allocator = createAllocator(parts)
  const shared = { caches, client: manager.client, planes: dataPlanes.planes, allocator, location: settings.location }
  const early = () => createEarlyStatus(clock, settings.earlyStatusAfterMs)
  const writers = createWriters(manager, caches)
  const tell: Tell = (about, happening) => manager.events.record(about, noteOf(happening))
  const times = createReadyTimes({ clock, registry: manager.metrics.registry })
  caches.claims.subscribe(({ key, before, after, initial }) => {
    if (!before && after?.metadata.uid && !initial) times.appeared(key, after.metadata.uid)
    // Also on a standby, which makes no passes.
    if (!after) times.forget(key)
  })
  const claim = createClaimController({
    ...shared,
    claimWriter: writers.claim,
    interfaceWriter: writers.claimInterface,
    statusWriter: writers.claimStatus,
    early: early(),
    times,
    retryRejectedMs: settings.retryRejectedMs,
    tell,
  })
  const nic = createInterfaceController({
    ...shared,
    attachments: dataPlanes.attachmentWriter('networkinterface'),
    writer: writers.interface,
    statusWriter: writers.interfaceStatus,
    early: early(),
    retryRefusedMs: settings.retryRejectedMs,
    tell,
  })
  const networks = createNetworkControllers({
    environment: manager.writers,
    caches,
    clock,
    recordEvent: manager.events.record,
    tell,
    standalone: settings.networkControllers,
    ...(parts.service ? { ranges: rangesOf(parts.service, parts) } : {}),
  })
  return [claim, nic, ...dataPlanes.controllers, ...networks]
}

function rangesOf({ client, claims, namespaces, counts }: IpamConnection, { classes, settings }: Parts) {
  return { client, claims, namespaces, counts, classes, retryRefusedMs: settings.retryRejectedMs }
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

/**
 * The kinds of data planes and the address service are followed as long as all others: until told to stop, when passes in hand
 * read what is known.
 */
async function runAll(
  { manager, dataPlanes, service }: Pick<Parts, 'manager' | 'dataPlanes' | 'service'>,
  signal: AbortSignal,
): Promise<void> {
  const following = linkedSignal(signal)
  const kinds = Promise.all([dataPlanes.run(following.signal), service?.run(following.signal)])
  try {
    await manager.run(signal)
  } finally {
    following.abort(new Error('the process stops'))
    await kinds
    following.release()
    await service?.close()
  }
}
