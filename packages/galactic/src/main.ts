/** Galactic's process: flags, signals, exit status. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { argument, type ProcessFlags, parseDuration, processFlags, runProcess } from 'kube-control-loop'
import { createGalactic, defaultSettings, leaseName } from './app.ts'
import { migrateCommand } from './migrate.ts'

type Flags = ProcessFlags & { namespace: string; detachGrace: number }

/** The command line. `start` is what happens with it. */
export function galacticCommand(start: (flags: Flags) => Promise<void>): Command {
  const command = new Command('galactic')
    .enablePositionalOptions()
    .description(
      'Gives virtual networks and attachments their identifiers, renders CNI configuration, reports what nodes advertise.',
    )
    .option(
      '--namespace <name>',
      'namespace of the BGP objects, also named in CNI configuration',
      defaultSettings.systemNamespace,
    )
    .addOption(
      new Option('--detach-grace <duration>', 'how long a deleted attachment waits for its advertisement to be withdrawn')
        .argParser(argument(parseDuration, InvalidArgumentError))
        .default(defaultSettings.detachGraceMs, '30s'),
    )
    .action(start)
    .addCommand(migrateCommand())
  for (const option of processFlags({ Option, InvalidArgumentError }, defaultSettings.systemNamespace)) command.addOption(option)
  return command
}

const start = ({ namespace, detachGrace, ...flags }: Flags): Promise<void> =>
  runProcess(flags, { name: 'galactic', lease: leaseName }, (options, signal) =>
    createGalactic({ ...options, settings: { systemNamespace: namespace, detachGraceMs: detachGrace } }).run(signal),
  )

if (import.meta.main) await galacticCommand(start).parseAsync()
