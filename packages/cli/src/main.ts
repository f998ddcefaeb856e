/** The `nso` command: what can be said on its command line. */
import process from 'node:process'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { OwnershipMode } from 'kube-control-loop'
import type { AddressSource } from './address-service.ts'
import { addCompletion } from './complete-command.ts'
import { addConformance } from './conformance.ts'
import { addExplain } from './explain/command.ts'
import { addMigrate } from './migrate.ts'
import { allRead } from './output.ts'
import { addOwners } from './owners/command.ts'
import type { dataPlanes } from './planes/index.ts'
import { stopSignal } from './signals.ts'

// What a command needs is loaded when it is asked for: completion must be quick.
const starting = () => import('./start.ts')
const running = () => import('./running.ts')

type SystemFlags = {
  kubeconfig?: string
  port?: number
  dataPlane: (typeof dataPlaneNames)[number]
  addresses: AddressSource
  ownership?: keyof typeof ownershipModes
}
type StartFlags = SystemFlags & { claims: number; exitWhenReady: boolean; report?: string }

const dataPlaneNames = ['galactic', 'bridge'] as const satisfies readonly (keyof typeof dataPlanes)[]
const addressSources = ['builtin', 'ipam'] as const satisfies readonly AddressSource[]
const ownershipModes = { deny: 'Deny', audit: 'Audit', off: 'Off' } as const satisfies Record<string, OwnershipMode>

const ownershipOption = () =>
  new Option(
    '--ownership <mode>',
    'whether the API server refuses writes of others than the documented writers, only counts them, or neither (default: as the cluster has it, else deny)',
  ).choices(Object.keys(ownershipModes))

const dataPlaneOption = () =>
  new Option('--data-plane <name>', 'the data plane that attaches: Galactic, or Linux bridges by the standard CNI plugins')
    .choices(dataPlaneNames)
    .default('galactic')

const addressesOption = () =>
  new Option(
    '--addresses <source>',
    'where addresses come from: NSO itself, or a stand-in for the address service ipam.miloapis.com',
  )
    .choices(addressSources)
    .default('builtin')

const modeOf = ({ ownership }: Pick<SystemFlags, 'ownership'>): OwnershipMode | undefined =>
  ownership && ownershipModes[ownership]

const print = (line: string) => console.log(line)

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    return value
  }
}

const program = new Command('nso')
  .description('The network-services-operator on this machine: a real Kubernetes control plane, NSO and a data plane.')
  .version('0.1.0')
  .enablePositionalOptions()
  .showHelpAfterError('(--help shows what there is)')
  .addHelpText(
    'after',
    `
Where things are:
  $XDG_STATE_HOME/nso (~/.local/state/nso)        data and logs of what runs; of the last failure, logs only
  $XDG_CACHE_HOME/kube-localplane (~/.cache/…)    the control plane's program, built once

Environment:
  KUBEBUILDER_ASSETS=DIR   use the kube-apiserver and etcd of this folder instead of building one
  NSO_LOG_LEVEL=debug      what NSO and the others log (debug, info, warn, error)
  NSO_KEEP=1               keep the folder of a run, with the audit log, until the next start`,
  )

function systemCommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--kubeconfig <file>', 'use an existing cluster (its administrator’s kubeconfig) instead of a local control plane')
    .option('--port <number>', 'port of the local API server (default: any free one)', wholeNumber(1, 65_535))
    .addOption(dataPlaneOption())
    .addOption(addressesOption())
    .addOption(ownershipOption())
}

const statuses = `
Exit status: 0 when it did what it was to do, also when Ctrl-C or nso down ended a system that was up; 130 (Ctrl-C) or
143 (TERM) when it was interrupted before; else 1. Ctrl-C at any moment leaves nothing running.`

const aboutIpam = `With --addresses ipam NSO asks an address service, of which a stand-in runs here as a process of its own: no real service, and what it
holds are objects (ipclaims, ipallocations, ippools) on the same control plane. Namespaces take part by their labels.`

systemCommand('start', 'start a control plane, NSO and a data plane, bring sample claims to Ready, and stay up until Ctrl-C')
  .option('--claims <number>', 'how many claims, of the data plane’s sample shapes in turn', wholeNumber(1, 5000), 3)
  .option('--exit-when-ready', 'stop when all claims are Ready', false)
  .option('--report <file>', 'write times, API writes, conflicts and errors as JSON')
  .addHelpText(
    'after',
    `
It fails when a conflict, an ownership conflict or a reconcile error happened, or when NSO's and the data plane's own metrics do
not agree with the API server's audit log. On an existing cluster the samples are removed at the end; the definitions,
roles and policy that were installed stay.

With --data-plane bridge Pods use the claims of a local control plane, attached by the real CNI plugins in network namespaces of
this machine, and packets show who reaches whom. That takes root on Linux, iproute2, Python 3, and Go once to build the plugins
(or CNI_PATH); without them the claims stop at Prepared, which is said, and --exit-when-ready then fails. On an existing cluster
its own kubelet and Multus run Pods: there it is done when the claims are Prepared.

${aboutIpam}
${statuses}`,
  )
  .action(async (flags: StartFlags) => {
    const signal = stopSignal()
    const { runStart } = await starting()
    process.exitCode = await runStart({ ...flags, ownership: modeOf(flags), mode: 'start', print, signal })
  })

systemCommand('up', 'start a control plane, NSO and a data plane for daily work; one at a time')
  .option('--detach', 'return when it is up', false)
  .addHelpText(
    'after',
    `
Each local control plane begins empty: its data go when it ends. NSO and the data plane are started again when they end
unasked; the end of the control plane is the end.

${aboutIpam}
${statuses}`,
  )
  .action(async ({ detach: isDetached, ...flags }: SystemFlags & { detach: boolean }) => {
    const signal = stopSignal()
    process.exitCode = isDetached
      ? await (await import('./detach.ts')).detach(print, signal)
      : await (await starting()).runStart({
          ...flags,
          ownership: modeOf(flags),
          mode: 'up',
          claims: 1,
          exitWhenReady: false,
          print,
          signal,
        })
  })

program
  .command('down')
  .description('end what nso up and npm start of this user run on this machine, and wait until it has ended')
  .action(async () => {
    process.exitCode = await (await running()).down(print)
  })

program
  .command('kubeconfig')
  .description('print the path of the running system’s kubeconfig: of nso up, else of the newest npm start')
  .action(async () => {
    process.exitCode = (await running()).kubeconfig(print)
  })

program
  .command('kubectl')
  .description('kubectl on the running system: nso kubectl get networkinterfaceclaims -A')
  .argument('[arguments...]', 'for kubectl')
  .allowUnknownOption()
  .passThroughOptions()
  .helpOption(false)
  .action(async (args: string[]) => {
    process.exitCode = await (await running()).kubectl(args)
  })

addExplain(program)
addOwners(program)
addMigrate(program)
addConformance(program)
addCompletion(program)

await program.parseAsync()
// Idle connections would hold the process for some seconds.
await allRead()
process.exit()
