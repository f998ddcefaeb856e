/** `galactic migrate`: what earlier software owns on VPCs, attachments and network definitions passes to Galactic's writers. */
import process from 'node:process'
import { Command, Option } from 'commander'
import { actingAs, createAccessSource, createClient, createHttpTransport, runMigration, systemClock } from 'kube-control-loop'
import { ownership } from './api/index.ts'

export type MigrateFlags = {
  dryRun: boolean
  verify: boolean
  kubeconfig?: string
  as?: string
  legacyManager: readonly string[]
  output: 'text' | 'json'
}

/** The command line of it. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('move what earlier software owns on VPCs, attachments and their network definitions to Galactic')
    .option('--dry-run', 'print what would be moved, write nothing', false)
    .option('--verify', 'list each documented path that an earlier manager still holds, write nothing', false)
    .option('--kubeconfig <file>', 'kubeconfig; absent: $KUBECONFIG, ~/.kube/config, or the service account of the pod')
    .option('--as <user>', 'act as this user: Galactic’s service account where ownership is enforced (Deny)')
    .option('--legacy-manager <name...>', 'further field managers of earlier software', [])
    .addOption(new Option('-o, --output <format>', 'what is printed').choices(['text', 'json']).default('text'))
    .action(async (flags: MigrateFlags) => {
      try {
        process.exitCode = await migrate(flags)
      } catch (error) {
        console.error(`galactic: ${error instanceof Error ? error.message : String(error)}`)
        process.exitCode = 1
      }
    })
}

export async function migrate(flags: MigrateFlags): Promise<number> {
  const { kubeconfig, as } = flags
  const access = createAccessSource({ clock: systemClock, ...(kubeconfig === undefined ? {} : { kubeconfig }) })
  const source = as === undefined ? access : actingAs(access, as)
  const transport = createHttpTransport({ access: source, clock: systemClock, userAgent: 'galactic-migrate/0.1.0' })
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Error('interrupted; what was moved stays moved')))
  try {
    return await runMigration({
      client: createClient(transport, { clock: systemClock, jitter: Math.random }),
      table: ownership,
      alsoLegacy: flags.legacyManager,
      mode: flags.verify ? 'verify' : flags.dryRun ? 'dry-run' : 'write',
      format: flags.output,
      print: (line) => console.log(line),
      signal: interrupt.signal,
    })
  } finally {
    await transport.close()
  }
}
