/** Migration as a command line: from its flags to a run against a server. */
import { ApiError } from '../api-error.ts'
import { systemClock } from '../clock.ts'
import { actingAs, createAccessSource } from '../config.ts'
import { createClient } from '../http-client.ts'
import { createHttpTransport } from '../http-transport.ts'
import type { OwnershipTable } from '../ownership.ts'
import { runMigration } from './run-migration.ts'

export type MigrationFlags = {
  dryRun: boolean
  /** Before `dryRun`, where both are given: it writes nothing either. */
  verify: boolean
  kubeconfig?: string
  as?: string
  legacyManager: readonly string[]
  output: 'text' | 'json'
}

export type MigrationOfFlags = {
  table: OwnershipTable
  userAgent: string
  /** User name of the account that may move these entries where ownership is enforced. */
  account: string
  print(line: string): void
  signal: AbortSignal
}

/** Resolves with the exit status; see `runMigration`. A refusal for want of permission says whom to act as. */
export async function migrateByFlags(flags: MigrationFlags, given: MigrationOfFlags): Promise<number> {
  const { kubeconfig, as, dryRun, verify } = flags
  const { table, userAgent, account, print, signal } = given
  const access = createAccessSource({ clock: systemClock, ...(kubeconfig === undefined ? {} : { kubeconfig }) })
  const source = as === undefined ? access : actingAs(access, as)
  const transport = createHttpTransport({ access: source, clock: systemClock, userAgent })
  const advice = `Where ownership is enforced, run it with --as ${account}.`
  try {
    return await runMigration({
      client: createClient(transport, { clock: systemClock, jitter: Math.random }),
      ...{ table, alsoLegacy: flags.legacyManager, format: flags.output, advice, print, signal },
      mode: verify ? 'verify' : dryRun ? 'dry-run' : 'write',
    })
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) throw new MigrationForbidden(error, advice)
    throw error
  } finally {
    await transport.close()
  }
}

/** The server lets this identity not read or not move what is to be moved. */
export class MigrationForbidden extends Error {
  override readonly name = 'MigrationForbidden'
  readonly code = 'MIGRATION_FORBIDDEN'
  constructor(cause: ApiError, advice: string) {
    super(`${cause.text}. ${advice}`, { cause })
  }
}
