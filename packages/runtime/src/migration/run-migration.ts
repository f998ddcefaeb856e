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
  /** Told to people where an object was refused for want of permission. */
  advice?: string
}

type Count = { objects: number; moved: number; gone: number; raced: number; refused: number }

/** So many objects in a row are refused, before it is taken for a reason that holds for all. */
const mostRefusals = 25

/**
 * Resolves with the exit status: 1 where something is left with an earlier manager, an object moved on each time, or the server
 * refused one; the others are moved all the same. Rejects with what the server answers to every one, or to the lists, and where
 * it is cut off: what was moved by then stays moved, is told, and the next run goes on from there.
 */
export async function runMigration({ mode, format, print, advice, ...given }: MigrationRun): Promise<number> {
  const count: Count = { objects: 0, moved: 0, gone: 0, raced: 0, refused: 0 }
  const reports: object[] = []
  const onObject = () => {
    count.objects += 1
  }
  let isComplete = false
  let refusals = 0
  let isForbidden = false
  try {
    for await (const migrated of migrateAll({ ...given, isDryRun: mode !== 'write', onObject })) {
      const { migration } = migrated
      if (migration.is !== 'clean') count[migration.is] += 1
      if (format === 'json') reports.push(reportOf(migrated))
      else for (const line of linesOf(migrated, mode)) print(line)
      refusals = migration.is === 'refused' ? refusals + 1 : 0
      if (migration.is !== 'refused') continue
      isForbidden ||= migration.error.status === 403
      if (refusals === mostRefusals) throw migration.error
    }
    isComplete = true
  } finally {
    if (format === 'json') print(JSON.stringify({ mode, isComplete, ...count, items: reports }, undefined, 2))
    else if (isComplete) print(summaryOf(count, mode))
    else if (mode === 'write') print(`stopped after ${count.objects} objects, of which ${count.moved} were moved`)
  }
  if (format === 'text' && isForbidden && advice !== undefined) print(advice)
  return count.raced + count.refused > 0 || (mode === 'verify' && count.moved > 0) ? 1 : 0
}

const nameOf = ({ row, object }: Migrated) => `${row.kind.plural} ${keyOf(object)}`

function reportOf(migrated: Migrated): object {
  const { row, object, migration } = migrated
  const { name, namespace } = object.metadata
  const { group, plural } = row.kind
  const of = { group, resource: plural, namespace, name, is: migration.is }
  if (migration.is === 'refused') return { ...of, why: migration.error.text }
  if (migration.is !== 'moved') return of
  const { paths, before, after } = migration
  return { ...of, paths, before: ownersIn(before), after: ownersIn(after) }
}

function linesOf(migrated: Migrated, mode: MigrationRun['mode']): string[] {
  const { migration } = migrated
  if (migration.is === 'refused') return [`${nameOf(migrated)}: refused: ${migration.error.text}`]
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

function summaryOf({ objects, moved, gone, raced, refused }: Count, mode: MigrationRun['mode']): string {
  const also = { 'gone meanwhile': gone, 'to be run again': raced, refused }
  const rest = Object.entries(also)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `, ${count} ${what}`)
    .join('')
  const seen = `${objects} objects looked at`
  if (mode === 'write') return `${seen}: ${moved} moved to their documented writers${rest}`
  if (mode === 'dry-run') return `${seen}: ${moved} would be moved; nothing was written`
  return moved === 0 ? `${seen}: nothing is held by an earlier manager` : `${seen}: ${moved} are still held by an earlier manager`
}
