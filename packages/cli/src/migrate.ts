/** `nso migrate`: what the original's processes own on NSO's objects passes to NSO's documented writers. */
import process from 'node:process'
import { ownership } from '@nso/api'
import { type Command, Option } from 'commander'
import {
  ApiError,
  actingAs,
  createAccessSource,
  createClient,
  createHttpTransport,
  runMigration,
  systemClock,
} from 'kube-control-loop'
import { answering } from './answering.ts'
import { Explained } from './failure.ts'
import { findCurrent } from './running-instance.ts'

export type MigrateFlags = {
  dryRun: boolean
  verify: boolean
  kubeconfig?: string
  as?: string
  legacyManager: readonly string[]
  output: 'text' | 'json'
}

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
Exit status: 0; 1 with --verify when anything is left, or when an object changed each time it was to be written.`,
    )
    .action(answering(migrate))
}

export async function migrate(flags: MigrateFlags): Promise<number> {
  const file = flags.kubeconfig ?? findCurrent()?.kubeconfigPath
  const access = createAccessSource({ clock: systemClock, ...(file === undefined ? {} : { kubeconfig: file }) })
  const source = flags.as === undefined ? access : actingAs(access, flags.as)
  const transport = createHttpTransport({ access: source, clock: systemClock, userAgent: 'nso-migrate/0.1.0' })
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort(new Explained('Interrupted; what was moved stays moved.')))
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
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) {
      const hint = 'Where ownership is enforced, run it with --as system:serviceaccount:nso-system:nso.'
      throw new Explained(`${error.text}\n${hint}`, { cause: error })
    }
    throw error
  } finally {
    await transport.close()
  }
}
