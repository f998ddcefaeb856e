/**
 * Moves the ownership of one stored object. Who else writes: everybody, so the patch tests the version that was read. A crash
 * leaves the object as it was or as it is to be: it is one request.
 */
import { ApiError } from '../api-error.ts'
import type { Client, JsonPatchOperation } from '../client.ts'
import type { KubeObject, ManagedFieldsEntry } from '../kind.ts'
import { classify } from '../races.ts'
import { type Inheritance, type LegacyPath, legacyPaths, migrateEntries } from './entries.ts'
import { servedVersions } from './served-versions.ts'

/** The patch, of the main resource: on a subresource the server answers 200 and drops it. */
export function ownershipPatch({ metadata }: KubeObject, managedFields: readonly ManagedFieldsEntry[]): JsonPatchOperation[] {
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'replace', path: '/metadata/managedFields', value: managedFields },
  ]
}

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

/** Writers of one kind, and races. */
const mostAttempts = 16

export type MigrateObject = Omit<Inheritance, 'writer'> & { client: Client; isDryRun?: boolean; signal: AbortSignal }

/**
 * Moves what earlier managers hold of one object: one patch for each documented writer, under its field manager, since a policy
 * lets it move its own paths and no others. Lost races are repeated on what stands then. Throws `ApiError` on any other refusal.
 */
export async function migrateObject(given: MigrateObject, first: KubeObject): Promise<Migration> {
  const { client, row, isDryRun = false, signal } = given
  const before = entriesOf(first)
  const paths = legacyPaths(first, before, given)
  if (paths.length === 0) return { is: 'clean' }
  if (isDryRun) return { is: 'moved', isWritten: false, paths, before, after: (await moved(given, first)) ?? before }
  let object: KubeObject | undefined = first
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if (object === undefined || object.metadata.uid !== first.metadata.uid) return { is: 'gone' }
    const [next] = legacyPaths(object, entriesOf(object), given)
    if (!next) return { is: 'moved', isWritten: true, paths, before, after: entriesOf(object) }
    const outcome: KubeObject | 'gone' | 'moved on' = await writeFor(next.writer, given, object)
    if (outcome === 'gone') return { is: 'gone' }
    object = outcome === 'moved on' ? await client.find(row.kind, first.metadata, signal) : outcome
  }
  return { is: 'raced' }
}

const entriesOf = ({ metadata }: KubeObject): readonly ManagedFieldsEntry[] => metadata.managedFields ?? []

async function moved(given: MigrateObject & { writer?: string }, object: KubeObject): Promise<ManagedFieldsEntry[] | undefined> {
  const entries = entriesOf(object)
  const served = await servedVersions(given.client, given.row.kind, entries, given.signal)
  return migrateEntries({ ...given, object, entries, served })
}

async function writeFor(writer: string, given: MigrateObject, object: KubeObject): Promise<KubeObject | 'gone' | 'moved on'> {
  const { client, row, signal } = given
  const after = (await moved({ ...given, writer }, object)) ?? []
  try {
    const patch = ownershipPatch(object, after)
    return await client.jsonPatch(row.kind, object.metadata, patch, { fieldManager: writer }, signal)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { plural, kind } = row.kind
    const verdict = classify(error, 'patch', { plural, kind, ...object.metadata })
    if (verdict.is === 'gone') return 'gone'
    if (verdict.is === 'ask' || verdict.is === 'raced') return 'moved on'
    throw error
  }
}
