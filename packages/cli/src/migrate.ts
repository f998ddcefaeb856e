/** `nso migrate`: what the original's processes own on NSO's objects passes to NSO's documented writers. */
import process from 'node:process'
import { nsoAccount, ownership } from '@nso/api'
import { type Command, Option } from 'commander'
import { type MigrationFlags, MigrationForbidden, migrateByFlags } from 'kube-control-loop'
import { answering } from './answering.ts'
import { Explained } from './failure.ts'
import { findCurrent } from './running-instance.ts'

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('move what the original’s processes own on NSO’s objects to NSO’s documented writers')
    .option('--dry-run', 'print what would be moved, write nothing', false)
    .option('--verify', 'list each documented path that an earlier manager still holds, write nothing', false)
    .option(
      '--kubeconfig <file>',
      'whom to ask (default: the running nso up or npm start, else $KUBECONFIG, else ~/.kube/config)',
    )
    .option('--as <user>', 'act as this user: NSO’s service account where ownership is enforced (Deny)')
    .option('--legacy-manager <name...>', 'further field managers of earlier software', [])
    .addOption(new Option('-o, --output <format>', 'what is printed').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
It changes who owns fields, never a value, and no ownership of others. A second run writes nothing.
Exit status: 0; 1 with --verify when anything is left, or when the server refused an object or it changed each time it was to
be written.`,
    )
    .action(answering(migrate))
}

const account = `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`

export async function migrate(flags: MigrationFlags): Promise<number> {
  const kubeconfig = flags.kubeconfig ?? findCurrent()?.kubeconfigPath
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Explained('Interrupted; what was moved stays moved.')))
  try {
    return await migrateByFlags(kubeconfig === undefined ? flags : { ...flags, kubeconfig }, {
      ...{ table: ownership, userAgent: 'nso-migrate/0.1.0', account },
      print: (line) => console.log(line),
      signal: interrupt.signal,
    })
  } catch (error) {
    if (error instanceof MigrationForbidden) throw new Explained(error.message, { cause: error })
    throw error
  }
}
