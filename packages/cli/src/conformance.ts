/** `nso conformance`: tries a data plane against the contract, case by case. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { argument, parseDuration } from 'kube-control-loop'
import { answering } from './answering.ts'

export type ConformanceFlags = {
  dataPlane?: string
  kubeconfig?: string
  file?: string
  planeVersion: string
  user?: string
  requester?: string
  auditLog?: string
  detachGrace: number
  restartCommand?: string
  trafficStartCommand?: string
  trafficStopCommand?: string
  liftCommand?: string
  restoreCommand?: string
  only?: readonly string[]
  burst: number
  idle: number
  patience: number
  format: 'tap' | 'junit' | 'text'
  report?: string
  signedOffBy?: string
  verify?: string
}

/** Those that can be brought up here. A test holds the list against the suite’s. */
export const ownPlanes = ['galactic', 'bridge', 'example-ts', 'example-script'] as const

const duration = argument(parseDuration, InvalidArgumentError)

/** In no time nothing can be waited for. */
function someTime(text: string): number {
  const ms = duration(text)
  if (ms === 0) throw new InvalidArgumentError('It must be longer than nothing.')
  return ms
}

/** As many as there are addresses in the network that the suite makes up, in round numbers. */
const mostAtOnce = 20_000

function burstSize(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > mostAtOnce)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${mostAtOnce}.`)
  return Number(text)
}

const list = (text: string, before: readonly string[] = []): readonly string[] => [...before, ...text.split(',')]

export function addConformance(program: Command): void {
  const command = program
    .command('conformance')
    .description('try a data plane against the contract: one of this repository here, or any on a given cluster')
    .addArgument(new Argument('[plane]', 'one that is started here, on a control plane of its own').choices(ownPlanes))
    .option('--data-plane <name>', 'the DataPlane object of a data plane that runs on the cluster')
    .option(
      '--kubeconfig <file>',
      'the cluster’s administrator (default: of the system that runs here, else as kubectl finds it)',
    )
    .option('--file <file>', 'read the DataPlane object from this YAML file and not from the cluster')
    .option('--plane-version <text>', 'version of the data plane, for the report', 'unknown')
    .option('--user <user>', 'user that the data plane acts as, e.g. system:serviceaccount:NAMESPACE:NAME')
    .option('--requester <user>', 'user that NSO acts as (default: that of NSO’s installation, unless --file is given)')
    .option('--audit-log <file>', 'the API server’s audit log, as JSON lines')
  addLimits(command)
    .addOption(new Option('--format <format>', 'what is printed').choices(['tap', 'junit', 'text']).default('tap'))
    .option('--report <file>', 'write the report there, as YAML')
    .option('--signed-off-by <text>', 'who answers for the report')
    .option('--verify <file>', 'check a report instead: its digest, that it has every rule, and that no MUST was broken')
    .addHelpText('after', about)
    .action(
      answering(async (plane: string | undefined, flags: ConformanceFlags) => {
        const { conform } = await import('./conformance-run.ts')
        return await conform(plane, flags)
      }),
    )
}

function addLimits(command: Command): Command {
  return command
    .option('--restart-command <command>', 'kills the data plane’s process and starts it again; returns when that is done')
    .option('--traffic-start-command <command>', 'lets traffic of the attachment $NAMESPACE/$NAME flow')
    .option('--traffic-stop-command <command>', 'stops it')
    .option('--lift-command <command>', 'has the API server take changes of the report by others, where a policy refuses them')
    .option('--restore-command <command>', 'puts that policy into force again')
    .addOption(
      new Option('--detach-grace <duration>', 'longest time that a deleted attachment may take to go, as documented')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .addOption(
      new Option('--patience <duration>', 'longest time for what a data plane does at once')
        .argParser(someTime)
        .default(60_000, '60s'),
    )
    .addOption(new Option('--idle <duration>', 'how long nothing may be written').argParser(someTime).default(10_000, '10s'))
    .addOption(new Option('--burst <number>', 'how many attachments are made at once').argParser(burstSize).default(200))
    .addOption(new Option('--only <case,…>', 'these cases and no others; may be repeated').argParser(list))
}

const about = `
It plays NSO's part itself, in namespaces of its own named conformance-…, which it removes; an NSO that runs on the same cluster is
not disturbed, and does not disturb. What the suite is not given (a user, an audit log, a way to restart) is skipped, and said.
Rules: docs/contracts/data-plane.md. Report: docs/conformance/README.md.

  nso conformance galactic --format text
  nso conformance --data-plane mine --kubeconfig admin.yaml --user system:serviceaccount:mine-system:mine \\
    --restart-command 'kubectl -n mine-system delete pod -l app=mine --wait' --report mine.yaml --signed-off-by 'Network team'

Exit status: 0 when no rule that MUST be obeyed was broken, else 1. With TAP, a SHOULD or MAY that is not met is "not ok … # TODO".`
