/** The process `nso`: flags, signals, exit status. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  argument,
  createAccessSource,
  createHttpTransport,
  createLogger,
  type LogLevel,
  parseBindAddress,
  parseDuration,
  served,
  systemClock,
} from 'kube-control-loop'
import { createOperator, leaseName, type OperatorOptions } from './app.ts'
import { defaultSettings } from './settings.ts'

type Address = { host: string; port: number } | undefined

type Flags = {
  kubeconfig?: string
  location?: string
  networkControllers: boolean
  leaderElect: boolean
  leaseNamespace: string
  metricsBindAddress: Address
  healthProbeBindAddress: Address
  earlyStatusAfter: number
  retryRejectedAfter: number
  ipamKubeconfig?: string
  ipamNetworkClass?: string
  ipamSubnetClass?: string
  logLevel: LogLevel
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']
const loopback = { host: '127.0.0.1', port: 0 }

/** The command line. `start` is what happens with it. */
export function operatorCommand(start: (flags: Flags) => Promise<void>): Command {
  const duration = (flags: string, about: string, ms: number, text: string) =>
    new Option(flags, about).argParser(argument(parseDuration, InvalidArgumentError)).default(ms, text)
  return new Command('nso')
    .description('Gives network interface claims their addresses, interfaces and data-plane attachments.')
    .option('--kubeconfig <file>', 'kubeconfig; absent: $KUBECONFIG, ~/.kube/config, or the service account of the pod')
    .option('--location <name>', 'this location, where no single ServingLocation tells it')
    .option('--network-controllers', 'make contexts and subnets from Networks (default)', true)
    .option('--no-network-controllers', 'leave contexts and subnets to propagation')
    .option('--leader-elect', 'act only while holding the lease (default)', true)
    .option('--no-leader-elect', 'act without a lease; only where no second process runs')
    .option('--lease-namespace <name>', 'namespace of the lease', 'nso-system')
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
      duration(
        '--early-status-after <duration>',
        'how long a first status waits for the data plane’s report',
        defaultSettings.earlyStatusAfterMs,
        '250ms',
      ),
    )
    .addOption(
      duration(
        '--retry-rejected-after <duration>',
        'how long a rejected claim waits when nothing wakes it earlier',
        defaultSettings.retryRejectedMs,
        '1m',
      ),
    )
    .option('--ipam-kubeconfig <file>', 'API server of an address service that addresses come from; absent: from Subnets')
    .option('--ipam-network-class <name>', 'class of the range of a Network at the address service; absent: none is held')
    .option('--ipam-subnet-class <name>', 'class of the range of a Network in one location; absent: none is held')
    .addOption(new Option('--log-level <level>', 'least level that is logged').choices(levels).default('info'))
    .hook('preAction', (command) => {
      const { ipamKubeconfig, ipamNetworkClass, ipamSubnetClass } = command.opts<Flags>()
      if (ipamKubeconfig === undefined && (ipamNetworkClass ?? ipamSubnetClass) !== undefined)
        command.error('error: a class of an address service is given, but no --ipam-kubeconfig')
    })
    .action(start)
}

async function start(flags: Flags): Promise<void> {
  const log = createLogger({ name: 'nso', level: flags.logLevel })
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)))
  const access = createAccessSource({
    clock: systemClock,
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
  })
  const server = served(flags.metricsBindAddress, flags.healthProbeBindAddress)
  const operator = createOperator({
    transport: createHttpTransport({ access, clock: systemClock, userAgent: 'nso/0.1.0' }),
    identity: `${hostname()}_${randomUUID()}`,
    settings: {
      location: flags.location,
      networkControllers: flags.networkControllers,
      earlyStatusAfterMs: flags.earlyStatusAfter,
      retryRejectedMs: flags.retryRejectedAfter,
    },
    log,
    ...ipamOf(flags),
    ...(flags.leaderElect ? { lease: { namespace: flags.leaseNamespace, name: leaseName } } : {}),
    ...(server ? { server } : {}),
  })
  try {
    await operator.run(stop.signal)
  } catch (error) {
    log.error({ err: error }, 'nso ended')
    process.exitCode = 1
  }
}

/** Calls are cut off early: what needs the service says so, and is tried again. */
function ipamOf({ ipamKubeconfig, ipamNetworkClass, ipamSubnetClass }: Flags): Pick<OperatorOptions, 'ipam'> {
  if (ipamKubeconfig === undefined) return {}
  const access = createAccessSource({ clock: systemClock, kubeconfig: ipamKubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso/0.1.0', callMs: 15_000 })
  return { ipam: { transport, classes: { network: ipamNetworkClass, subnet: ipamSubnetClass } } }
}

if (import.meta.main) await operatorCommand(start).parseAsync()
