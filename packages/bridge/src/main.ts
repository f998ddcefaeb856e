/** The process of the bridge controllers: flags, signals, exit status. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { argument, type ProcessFlags, parseDuration, processFlags, runProcess } from 'kube-control-loop'
import { bridgeAccount } from './account.ts'
import { createBridge, defaultSettings, leaseName } from './app.ts'

type Flags = ProcessFlags & { detachGrace: number }

/** The command line. `start` is what happens with it. */
export function bridgeCommand(start: (flags: Flags) => Promise<void>): Command {
  const grace = new Option('--detach-grace <duration>', 'how long a deleted attachment waits for the Pods that use it')
  const command = new Command('bridge')
    .description('Puts interfaces on Linux bridges: renders CNI configuration, reports what Multus attached.')
    .addOption(grace.argParser(argument(parseDuration, InvalidArgumentError)).default(defaultSettings.detachGraceMs, '30s'))
    .action(start)
  for (const option of processFlags({ Option, InvalidArgumentError }, bridgeAccount.namespace)) command.addOption(option)
  return command
}

const start = ({ detachGrace, ...flags }: Flags): Promise<void> =>
  runProcess(flags, { name: 'bridge', lease: leaseName }, (options, signal) =>
    createBridge({ ...options, settings: { detachGraceMs: detachGrace } }).run(signal),
  )

if (import.meta.main) await bridgeCommand(start).parseAsync()
