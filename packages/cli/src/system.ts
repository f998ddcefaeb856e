/**
 * The whole system on one machine: a control plane (local, or a given cluster), everything installed, NSO and a data plane as two
 * processes with two identities, and a stand-in for the nodes.
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { nsoAccount, nsoIpamAccount } from '@nso/api'
import { type OwnershipMode, systemClock } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { freePorts, type Plane, startPlane } from 'kube-localplane'
import { type AddressSource, ipamFlags, serviceAdministrator, standInService } from './address-service.ts'
import { type Component, obituary, startComponent } from './component.ts'
import { type Account, keepIdentity } from './identities.ts'
import { chooseLocation, install } from './install.ts'
import type { DataPlaneUse, RunningStandIn } from './planes/data-plane.ts'
import { defaultDataPlane } from './planes/index.ts'
import { type Running, type Supervised, supervise } from './supervise.ts'

export type System = {
  readonly dir: string
  /** Of the administrator. */
  readonly kubeconfigPath: string
  /** The local control plane; absent on a given cluster. */
  readonly plane: Plane | undefined
  /** The processes that run now: others after one was started again. */
  readonly nso: Component
  readonly dataPlane: Component
  readonly use: DataPlaneUse
  /** The stand-in for an address service; absent where NSO allocates addresses itself. */
  readonly addressService: RunningService | undefined
  /** Plays the nodes. Where it does not run: why, in sentences, or nothing where the cluster's own nodes do it. */
  readonly standIn: RunningStandIn | { missing: readonly string[] }
  /** Resolves with a sentence when a part ends that nobody stopped and that is not started again. */
  readonly failed: Promise<string>
  /** From now on NSO, the data plane and its stand-in are started again when they end; the control plane's end stays the end. */
  healFromNowOn(): void
  /** Ends everything that was started: NSO, the data plane and its stand-in, then the control plane. Can be repeated. */
  stop(): Promise<void>
}

export type RunningService = {
  /** The process that runs now. */
  readonly component: Component
  /** Of the service's administrator, through the stand-in: with it a claim is answered, and what it held is put away. */
  readonly kubeconfigPath: string
}

export type SystemOptions = {
  /** Working folder; made if missing. */
  dir: string
  /** An existing cluster's; absent: a local control plane is started. */
  kubeconfig?: string | undefined
  port?: number | undefined
  /** Galactic unless said otherwise. */
  dataPlane?: DataPlaneUse | undefined
  /** Built in unless said otherwise. */
  addresses?: AddressSource | undefined
  /** Whether the admission policy that adds the claim's finalizer is installed (absent: where the server can). */
  policy?: boolean
  /** As of `install`. */
  ownership?: OwnershipMode | undefined
  log: (line: string) => void
  signal: AbortSignal
}

type Parts = {
  nso: Supervised<Process>
  dataPlane: Supervised<Process>
  standIn: Supervised<RunningStandIn> | undefined
  service: Service | undefined
}
type Service = { process: Supervised<Process>; nsoConfig: string; kubeconfigPath: string }
type Process = Running & { component: Component }
type Stops = (() => Promise<unknown>)[]

/** Starts everything; resolves when both processes are ready. What was started is ended when it rejects. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const stops: Stops = []
  const ending = new AbortController()
  try {
    return await start({ ...options, signal: AbortSignal.any([options.signal, ending.signal]) }, stops)
  } catch (error) {
    ending.abort(error)
    await stopAll(stops)
    throw error
  }
}

/** The last started first. One that fails to stop does not keep the others from being stopped. */
async function stopAll(stops: Stops): Promise<void> {
  const failures: unknown[] = []
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join('\n'))
}

async function start(options: SystemOptions, stops: Stops): Promise<System> {
  const { dir, log, signal, dataPlane: use = defaultDataPlane } = options
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const plane = options.kubeconfig ? undefined : await startLocal(options)
  if (plane) stops.push(() => plane.stop())
  const kubeconfigPath = plane?.kubeconfigPath ?? path.resolve(options.kubeconfig ?? '')
  signal.throwIfAborted()
  await install({ ...options, kubeconfigPath, dataPlane: use })
  const location = plane ? undefined : await chooseLocation(kubeconfigPath)
  if (location) log(`several ServingLocations: NSO runs for the first, ${location}`)
  const missing = await missingFor(use, plane !== undefined, { log, signal })
  for (const sentence of missing ?? []) log(`${use.standIn.title} does not run, and claims stop at Prepared: ${sentence}`)
  const playsNodes = missing === undefined
  const parts = await startParts({ ...options, kubeconfigPath, location, use, playsNodes }, stops)
  const { nso, dataPlane, standIn, service } = parts
  const all = [nso, dataPlane, ...(standIn ? [standIn] : []), ...(service ? [service.process] : [])]
  log(`NSO (process ${nso.current.component.pid}) and ${use.title} (process ${dataPlane.current.component.pid}) are ready`)
  return {
    dir,
    kubeconfigPath,
    plane,
    get nso() {
      return nso.current.component
    },
    get dataPlane() {
      return dataPlane.current.component
    },
    use,
    addressService: service && {
      kubeconfigPath: service.kubeconfigPath,
      get component() {
        return service.process.current.component
      },
    },
    get standIn() {
      return standIn?.current ?? { missing: missing ?? [] }
    },
    failed: Promise.race([...all.map(({ failed }) => failed), ...(plane ? [plane.failed] : [])]),
    healFromNowOn() {
      for (const part of all) part.healFromNowOn()
    },
    stop: () => stopAll(stops),
  }
}

/** Why nodes are not played: sentences, or none where a given cluster's own nodes do it. Undefined: they are. */
async function missingFor(
  { standIn }: DataPlaneUse,
  isLocal: boolean,
  options: Pick<SystemOptions, 'log' | 'signal'>,
): Promise<readonly string[] | undefined> {
  if (!isLocal && !standIn.onGivenClusters) return []
  const missing = await standIn.missing(options)
  return missing.length > 0 ? missing : undefined
}

async function startLocal({ dir, port, log, signal }: SystemOptions): Promise<Plane> {
  log('starting a control plane: kube-apiserver with etcd, and the garbage collector …')
  return await startPlane({
    dir: path.join(dir, 'control-plane'),
    name: 'nso',
    audit: true,
    log,
    signal,
    ...(port === undefined ? {} : { port }),
  })
}

type PartsRequest = SystemOptions & {
  kubeconfigPath: string
  location: string | undefined
  use: DataPlaneUse
  playsNodes: boolean
}

async function startParts(request: PartsRequest, stops: Stops): Promise<Parts> {
  const { dir, log, kubeconfigPath, location, use, playsNodes } = request
  const failing = new AbortController()
  const signal = AbortSignal.any([request.signal, failing.signal])
  const identity = async (account: Account, file: string, through?: string) => {
    const { path: written, stop } = await keepIdentity({ kubeconfigPath, account, file: path.join(dir, file), through, log })
    stops.push(async () => stop())
    return written
  }
  const [nsoConfig, dataPlaneConfig, standInConfig] = await Promise.all([
    identity(nsoAccount, 'nso.kubeconfig'),
    identity(use.account, `${use.name}.kubeconfig`),
    identity(use.standIn.account, `${use.standIn.account.name}.kubeconfig`),
  ])
  // Before NSO, which asks it, and stopped after it.
  const service = request.addresses === 'ipam' ? await startService({ dir, log, signal, identity }, stops) : undefined
  const others: Stops = []
  // All of them at once, and all at once they are stopped.
  stops.push(() => Promise.all(others.map((stop) => stop())))
  const keep = async <T extends Running>(name: string, begin: (signal: AbortSignal) => Promise<T>) => {
    try {
      const part = await supervise({ name, start: begin, signal, clock: systemClock, log })
      others.push(() => part.stop())
      return part
    } catch (error) {
      failing.abort(error)
      throw error
    }
  }
  const process = (name: string, module: string, kubeconfig: string, more: readonly string[] = []) =>
    keep(name, (ending) => startProcess({ name, module, kubeconfig, more: ['--leader-elect', ...more], dir, signal: ending }))
  const nsoFlags = [...(location === undefined ? [] : ['--location', location]), ...(service ? ipamFlags(service.nsoConfig) : [])]
  const starts = [
    process('NSO', '@nso/operator/main', nsoConfig, nsoFlags),
    process(use.title, use.main, dataPlaneConfig),
    playsNodes
      ? keep(use.standIn.title, (ending) => use.standIn.start({ kubeconfig: standInConfig, log, signal: ending }))
      : undefined,
  ] as const
  // When one fails the others end with it: nothing may become ready after everything was stopped.
  await Promise.allSettled(starts)
  const [nso, dataPlane, standIn] = await Promise.all(starts)
  return { nso, dataPlane, standIn, service }
}

type ServiceRequest = Pick<SystemOptions, 'dir' | 'log' | 'signal'> & {
  identity: (account: Account, file: string, through?: string) => Promise<string>
}

/** The stand-in for an address service, on a port that it keeps when it is started again, and its callers' kubeconfigs. */
async function startService({ dir, log, signal, identity }: ServiceRequest, stops: Stops): Promise<Service> {
  const { title, account, main } = standInService
  const kubeconfig = await identity(account, `${account.name}.kubeconfig`)
  const [port] = await freePorts(1)
  const listen = `127.0.0.1:${port}`
  const more = ['--listen', listen]
  const begin = (ending: AbortSignal) => startProcess({ name: account.name, module: main, kubeconfig, more, dir, signal: ending })
  const process = await supervise({ name: title, start: begin, signal, clock: systemClock, log })
  stops.push(() => process.stop())
  log(
    `addresses come from ${title} (process ${process.current.component.pid}), for trying things out: it keeps what it holds as objects ` +
      `of ${IPClaim.group} on this control plane`,
  )
  const through = `http://${listen}`
  const [nsoConfig, kubeconfigPath] = await Promise.all([
    identity(nsoIpamAccount, 'nso-at-ipam.kubeconfig', through),
    identity(serviceAdministrator, `${serviceAdministrator.name}.kubeconfig`, through),
  ])
  return { process, nsoConfig, kubeconfigPath }
}

type ProcessRequest = {
  name: string
  module: string
  kubeconfig: string
  more: readonly string[]
  dir: string
  signal: AbortSignal
}

async function startProcess({ name, module, kubeconfig, more, dir, signal }: ProcessRequest): Promise<Process> {
  const level = process.env.NSO_LOG_LEVEL ?? 'info'
  const component = await startComponent({
    name,
    script: fileURLToPath(import.meta.resolve(module)),
    args: ({ metrics }) => [...['--kubeconfig', kubeconfig, '--log-level', level, '--metrics-bind-address', metrics], ...more],
    logPath: path.join(dir, `${name.toLowerCase()}.log`),
    signal,
  })
  return {
    component,
    ended: component.exited.then((how) => obituary(component, how)),
    stop: () => component.stop(),
  }
}
