/** Galactic's process: flags, signals, exit status. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { argument, createLogger, type LogLevel, parseBindAddress, parseDuration, served } from 'kube-control-loop'
import { createGalactic, defaultSettings, leaseName } from './app.ts'
import { migrateCommand } from './migrate.ts'

type Flags = {
  kubeconfig?: string
  namespace: string
  leaderElect: boolean
  leaseNamespace: string
  metricsBindAddress: { host: string; port: number } | undefined
  healthProbeBindAddress?: { host: string; port: number } | undefined
  detachGrace: number
  logLevel: LogLevel
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']
const loopback = { host: '127.0.0.1', port: 0 }

/** The command line. `start` is what happens with it. */
export function galacticCommand(start: (flags: Flags) => Promise<void>): Command {
  return new Command('galactic')
    .enablePositionalOptions()
    .description(
      'Gives virtual networks and attachments their identifiers, renders CNI configuration, reports what nodes advertise.',
    )
    .option('--kubeconfig <file>', 'kubeconfig; absent: $KUBECONFIG, ~/.kube/config, or the service account of the pod')
    .option(
      '--namespace <name>',
      'namespace of the BGP objects, also named in CNI configuration',
      defaultSettings.systemNamespace,
    )
    .option('--leader-elect', 'act only while holding the lease (default)', true)
    .option('--no-leader-elect', 'act without a lease; only where no second process runs')
    .option('--lease-namespace <name>', 'namespace of the lease', defaultSettings.systemNamespace)
    .addOption(
      new Option('--metrics-bind-address <host:port>', 'where /metrics, /healthz and /readyz are served; 0: nowhere')
        .argParser(argument(parseBindAddress, InvalidArgumentError))
        .default(loopback, '127.0.0.1, any free port'),
    )
    .addOption(
      new Option(
        '--health-probe-bind-address <host:port>',
        'where /healthz and /readyz are served as well, without metrics',
      ).argParser(argument(parseBindAddress, InvalidArgumentError)),
    )
    .addOption(
      new Option('--detach-grace <duration>', 'how long a deleted attachment waits for its advertisement to be withdrawn')
        .argParser(argument(parseDuration, InvalidArgumentError))
        .default(defaultSettings.detachGraceMs, '30s'),
    )
    .addOption(new Option('--log-level <level>', 'least level that is logged').choices(levels).default('info'))
    .action(start)
    .addCommand(migrateCommand())
}

async function start(flags: Flags): Promise<void> {
  const log = createLogger({ name: 'galactic', level: flags.logLevel })
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort(new Error(signal)))
  }
  const server = served(flags.metricsBindAddress, flags.healthProbeBindAddress)
  const galactic = createGalactic({
    log,
    settings: { systemNamespace: flags.namespace, detachGraceMs: flags.detachGrace },
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.leaderElect ? { lease: { namespace: flags.leaseNamespace, name: leaseName } } : {}),
    ...(server ? { server } : {}),
  })
  try {
    await galactic.run(stop.signal)
  } catch (error) {
    log.error({ err: error }, 'galactic ended')
    process.exitCode = 1
  }
}

if (import.meta.main) await galacticCommand(start).parseAsync()
