/** The stand-in as a process: flags, signals, exit status. */
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  argument,
  createOpsServer,
  type Logger,
  type ProcessFlags,
  type ProcessOptions,
  parseBindAddress,
  processFlags,
  runProcess,
} from 'kube-control-loop'
import { standInAccount } from './manifests.ts'
import { startStandIn } from './start.ts'

type Flags = ProcessFlags & { listen: { host: string; port: number } | undefined }

/** Those of every process that mean something here: only one of these may run, and it asks no lease for that. */
const taken = ['--kubeconfig', '--metrics-bind-address', '--log-level']

/** The command line. `start` is what happens with it. */
export function standInCommand(start: (flags: Flags) => Promise<void>): Command {
  const command = new Command('ipam-stand-in')
    .description(
      'Stands in for an address service, before an API server that serves its kinds. For trying things out and for tests.',
    )
    .addOption(
      new Option('--listen <host:port>', 'where it serves, on this machine alone')
        .argParser(argument(parseBindAddress, InvalidArgumentError))
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any free port'),
    )
    .action(start)
  for (const option of processFlags({ Option, InvalidArgumentError }, standInAccount.namespace))
    if (option.long !== undefined && taken.includes(option.long)) command.addOption(option)
  return command
}

type RunOptions = ProcessOptions & { log: Logger }

async function run({ kubeconfig = '', server, log }: RunOptions, listen: Flags['listen'], signal: AbortSignal): Promise<void> {
  const standIn = await startStandIn({ kubeconfig, signal, log: (line) => log.warn(line), ...listen })
  const pages = createOpsServer({ host: '127.0.0.1', port: 0, ...server, log, metricsPage: async () => standIn.metricsPage() })
  try {
    if (server) await pages.start()
    log.info({ url: standIn.url }, 'the stand-in for the address service serves')
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
  } finally {
    if (server) await pages.stop()
    await standIn.stop()
  }
}

const start = async ({ listen, ...flags }: Flags): Promise<void> =>
  await runProcess({ ...flags, leaderElect: false }, { name: 'ipam-stand-in', lease: '' }, (options, signal) =>
    run(options, listen, signal),
  )

if (import.meta.main) await standInCommand(start).parseAsync()
