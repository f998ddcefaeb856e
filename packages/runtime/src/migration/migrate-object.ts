/**
 * Moves the ownership of one stored object. Who else writes: everybody, so the patch tests the version that was read. A crash
 * leaves the object as it was or as it is to be: it is one request.
 */
import { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'
import type { KubeObject, ManagedFieldsEntry } from '../kind.ts'
import { putOwnership } from '../ownership-patch.ts'
import { classify } from '../races.ts'
import { type Inheritance, type LegacyPath, legacyPaths, migrateEntries } from './entries.ts'

export type Migration =
  /** Nothing of earlier software. */
  | { is: 'clean' }
  | { is: 'gone' }
  /** `isWritten`: false in a dry run. */
  | {
      is: 'moved'
      isWritten: boolean
      paths: readonly LegacyPath[]
      before: readonly ManagedFieldsEntry[]
      after: readonly ManagedFieldsEntry[]
    }
  /** The object moved on each time. */
  | { is: 'raced' }
  /** By a permission, a policy, a webhook, or for what is stored: other objects may fare better. */
  | { is: 'refused'; error: ApiError }

/** Writers of one kind, and races. */
const mostAttempts = 16

export type MigrateObject = Omit<Inheritance, 'writer'> & { client: Client; isDryRun?: boolean; signal: AbortSignal }

/**
 * Moves what earlier managers hold of one object: one patch for each documented writer, under its field manager, since a policy
 * lets it move its own paths and no others. Lost races are repeated on what stands then. Throws where the server did not judge the
 * object at all: no answer, an answer of its own trouble, or an identity that it does not know.
 */
export async function migrateObject(given: MigrateObject, first: KubeObject): Promise<Migration> {
  const { client, row, isDryRun = false, signal } = given
  const before = entriesOf(first)
  const paths = legacyPaths(first, before, given)
  if (paths.length === 0) return { is: 'clean' }
  if (isDryRun) return { is: 'moved', isWritten: false, paths, before, after: moved(given, first) }
  let object: KubeObject | undefined = first
  let isWritten = false
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if (object === undefined || object.metadata.uid !== first.metadata.uid) return { is: 'gone' }
    const [next] = legacyPaths(object, entriesOf(object), given)
    // Another run, or the process itself, may have been first.
    if (!next) return isWritten ? { is: 'moved', isWritten, paths, before, after: entriesOf(object) } : { is: 'clean' }
    const outcome: KubeObject | ApiError | 'gone' | 'moved on' = await writeFor(next.writer, given, object)
    if (outcome === 'gone') return { is: 'gone' }
    if (outcome instanceof ApiError) return { is: 'refused', error: outcome }
    isWritten ||= outcome !== 'moved on'
    object = outcome === 'moved on' ? await client.find(row.kind, first.metadata, signal) : outcome
  }
  return { is: 'raced' }
}

const entriesOf = ({ metadata }: KubeObject): readonly ManagedFieldsEntry[] => metadata.managedFields ?? []

const moved = (given: Inheritance, object: KubeObject): readonly ManagedFieldsEntry[] =>
  migrateEntries({ ...given, object, entries: entriesOf(object) }) ?? entriesOf(object)

async function writeFor(
  writer: string,
  given: MigrateObject,
  object: KubeObject,
): Promise<KubeObject | ApiError | 'gone' | 'moved on'> {
  const { client, row, signal } = given
  try {
    return await putOwnership(
      { client, kind: row.kind, fieldManager: writer, signal },
      object,
      moved({ ...given, writer }, object),
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { plural, kind } = row.kind
    const verdict = classify(error, 'patch', { plural, kind, ...object.metadata })
    if (verdict.is === 'gone') return 'gone'
    if (verdict.is === 'ask' || verdict.is === 'raced') return 'moved on'
    if (verdict.is === 'fault' && isJudgement(error)) return error
    throw error
  }
}

/** Of this object, and not of whoever asks or of the server's own state. */
const isJudgement = ({ status }: ApiError) => status >= 400 && status < 500 && status !== 401 && status !== 404
