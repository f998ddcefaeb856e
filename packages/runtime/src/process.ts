/** What the processes of this kind have in common: their command line, their manager, their end. Nothing happens at import. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import nodeProcess from 'node:process'
import { type Clock, systemClock } from './clock.ts'
import { createAccessSource } from './config.ts'
import { argument, parseBindAddress, served } from './flags.ts'
import { createHttpTransport } from './http-transport.ts'
import { createLogger, type Logger, type LogLevel } from './log.ts'
import { createManager, type Manager, type ManagerOptions } from './manager.ts'

type Shared = Pick<ManagerOptions, 'transport' | 'clock' | 'jitter' | 'log' | 'lease' | 'server' | 'loop' | 'classify'>

/** What a program that runs a process, or a test in its own process, may say. All of it may be left out. */
export type ProcessOptions = { [Name in keyof Shared]?: Shared[Name] } & {
  /** Absent: found as clients do by themselves. Not looked at where `transport` is given. */
  kubeconfig?: string
}

/** A process as one value: what a program, or a test in its own process, starts. Nothing happens before `run`. */
export type ControllerProcess<Caches> = {
  readonly manager: Manager
  readonly caches: Caches
  /** Runs until the signal is aborted and everything is put away. */
  run(signal: AbortSignal): Promise<void>
}

export type ProcessIdentity = Pick<ManagerOptions, 'name' | 'metricPrefix' | 'eventController'> & { userAgent: string }

/** A manager of its own identity, on the wire that the options say. Without `lease` it acts without asking, without `server` no pages are served. */
export function createProcessManager(options: ProcessOptions, { userAgent, ...names }: ProcessIdentity): Manager {
  const { kubeconfig, transport, clock = systemClock, ...rest } = options
  return createManager({
    ...present(rest),
    ...names,
    clock,
    transport: transport ?? ownTransport(kubeconfig, clock, userAgent),
    identity: `${hostname()}_${randomUUID()}`,
  })
}

function ownTransport(kubeconfig: string | undefined, clock: Clock, userAgent: string) {
  const access = createAccessSource({ clock, ...present({ kubeconfig }) })
  return createHttpTransport({ access, clock, userAgent })
}

/** Leaves out what is undefined: an option is given or absent. */
function present<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

type Address = { host: string; port: number }

/** Flags that every process takes, as a command-line library hands them over. */
export type ProcessFlags = {
  kubeconfig?: string
  leaderElect: boolean
  leaseNamespace: string
  metricsBindAddress: Address | undefined
  healthProbeBindAddress?: Address | undefined
  logLevel: LogLevel
}

/** As much of an option of a command-line library as is needed. */
type OptionLike = {
  argParser(parse: (text: string) => unknown): OptionLike
  default(value: unknown, description?: string): OptionLike
  choices(values: readonly string[]): OptionLike
}

/** The library's classes come in as an argument: this package depends on none. */
export type CommandLine<O extends OptionLike> = {
  Option: new (flags: string, description?: string) => O
  InvalidArgumentError: new (message: string) => Error
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

/** The options of `ProcessFlags`, in the order of the help. */
export function processFlags<O extends OptionLike>({ Option, InvalidArgumentError }: CommandLine<O>, namespace: string): O[] {
  const address = argument(parseBindAddress, InvalidArgumentError)
  const option = (flags: string, about: string, refine: (option: O) => unknown = () => {}) => {
    const made = new Option(flags, about)
    refine(made)
    return made
  }
  return [
    option('--kubeconfig <file>', 'kubeconfig; absent: $KUBECONFIG, ~/.kube/config, or the service account of the pod'),
    option('--leader-elect', 'act only while holding the lease (default)', (made) => made.default(true)),
    option('--no-leader-elect', 'act without a lease; only where no second process runs'),
    option('--lease-namespace <name>', 'namespace of the lease', (made) => made.default(namespace)),
    option('--metrics-bind-address <host:port>', 'where /metrics, /healthz and /readyz are served; 0: nowhere', (made) =>
      made.argParser(address).default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any free port'),
    ),
    option('--health-probe-bind-address <host:port>', 'where /healthz and /readyz are served as well, without metrics', (made) =>
      made.argParser(address),
    ),
    option('--log-level <level>', 'least level that is logged', (made) => made.choices(levels).default('info')),
  ]
}

/** Runs what the flags say until SIGINT or SIGTERM; exit status 1 and a line in the log when it ends otherwise. */
export async function runProcess(
  flags: ProcessFlags,
  { name, lease }: { name: string; lease: string },
  run: (options: ProcessOptions & { log: Logger }, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const log = createLogger({ name, level: flags.logLevel })
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) nodeProcess.once(signal, () => stop.abort(new Error(signal)))
  const server = served(flags.metricsBindAddress, flags.healthProbeBindAddress)
  try {
    await run(
      {
        log,
        ...present({ kubeconfig: flags.kubeconfig, server }),
        ...(flags.leaderElect ? { lease: { namespace: flags.leaseNamespace, name: lease } } : {}),
      },
      stop.signal,
    )
  } catch (error) {
    log.error({ err: error }, `${name} ended`)
    nodeProcess.exitCode = 1
  }
}
