/** `galactic migrate`: what earlier software owns on VPCs, attachments and network definitions passes to Galactic's writers. */
import process from 'node:process'
import { Command, Option } from 'commander'
import { type MigrationFlags, migrateByFlags } from 'kube-control-loop'
import { galacticAccount } from './account.ts'
import { ownership } from './api/index.ts'

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
    .action(async (flags: MigrationFlags) => {
      try {
        process.exitCode = await migrate(flags)
      } catch (error) {
        console.error(`galactic: ${error instanceof Error ? error.message : String(error)}`)
        process.exitCode = 1
      }
    })
}

const account = `system:serviceaccount:${galacticAccount.namespace}:${galacticAccount.name}`

export function migrate(flags: MigrationFlags): Promise<number> {
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Error('interrupted; what was moved stays moved')))
  return migrateByFlags(flags, {
    ...{ table: ownership, userAgent: 'galactic-migrate/0.1.0', account },
    print: (line) => console.log(line),
    signal: interrupt.signal,
  })
}
