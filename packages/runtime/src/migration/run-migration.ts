/** Migration as a command: one line for each object and what it holds, a summary, and an exit status. */
import type { ManagedFieldsEntry } from '../kind.ts'
import { keyOf } from '../kind.ts'
import { ownersIn } from './entries.ts'
import { type MigrateAll, type Migrated, migrateAll } from './migrate-all.ts'

export type MigrationRun = Omit<MigrateAll, 'isDryRun' | 'onObject'> & {
  /** `dry-run` says what would be moved, `verify` fails where anything would be; both write nothing. */
  mode: 'write' | 'dry-run' | 'verify'
  format: 'text' | 'json'
  print(line: string): void
}

type Count = { objects: number; moved: number; gone: number; raced: number }

/**
 * Resolves with the exit status: 1 where something is left with an earlier manager, or an object moved on each time. Rejects
 * with what the server refused; what was moved by then stays moved, and the next run goes on from there.
 */
export async function runMigration({ mode, format, print, ...given }: MigrationRun): Promise<number> {
  const count: Count = { objects: 0, moved: 0, gone: 0, raced: 0 }
  const reports: object[] = []
  const onObject = () => {
    count.objects += 1
  }
  for await (const migrated of migrateAll({ ...given, isDryRun: mode !== 'write', onObject })) {
    const { is } = migrated.migration
    if (is !== 'clean') count[is] += 1
    if (format === 'json') reports.push(reportOf(migrated))
    else for (const line of linesOf(migrated, mode)) print(line)
  }
  if (format === 'json') print(JSON.stringify({ mode, ...count, items: reports }, undefined, 2))
  else print(summaryOf(count, mode))
  return count.raced > 0 || (mode === 'verify' && count.moved > 0) ? 1 : 0
}

const nameOf = ({ row, object }: Migrated) => `${row.kind.plural} ${keyOf(object)}`

function reportOf(migrated: Migrated): object {
  const { row, object, migration } = migrated
  const { name, namespace } = object.metadata
  const { group, plural } = row.kind
  const of = { group, resource: plural, namespace, name, is: migration.is }
  if (migration.is !== 'moved') return of
  const { paths, before, after } = migration
  return { ...of, paths, before: ownersIn(before), after: ownersIn(after) }
}

function linesOf(migrated: Migrated, mode: MigrationRun['mode']): string[] {
  const { migration } = migrated
  if (migration.is !== 'moved') {
    const why = migration.is === 'gone' ? 'gone meanwhile' : 'changed each time it was to be written: run this again'
    return [`${nameOf(migrated)}: ${why}`]
  }
  const { paths, before, after } = migration
  if (mode === 'verify')
    return paths.map(({ path, manager, writer }) => `${nameOf(migrated)}: ${path} is held by ${manager}, not ${writer}`)
  return [nameOf(migrated), ...side('before', before), ...side('after', after)]
}

const side = (title: string, entries: readonly ManagedFieldsEntry[]): string[] =>
  ownersIn(entries).map(({ by, fields }) => `  ${title}  ${by}: ${fields.join(', ')}`)

function summaryOf({ objects, moved, gone, raced }: Count, mode: MigrationRun['mode']): string {
  const rest = `${gone > 0 ? `, ${gone} gone meanwhile` : ''}${raced > 0 ? `, ${raced} to be run again` : ''}`
  const seen = `${objects} objects looked at`
  if (mode === 'write') return `${seen}: ${moved} moved to their documented writers${rest}`
  if (mode === 'dry-run') return `${seen}: ${moved} would be moved; nothing was written`
  return moved === 0 ? `${seen}: nothing is held by an earlier manager` : `${seen}: ${moved} are still held by an earlier manager`
}
