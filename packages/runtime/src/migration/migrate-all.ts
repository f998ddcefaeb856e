/** Moves the ownership of all objects of a table, page by page. */
import { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'
import { apiVersionOf, type KubeObject, pathOf } from '../kind.ts'
import type { OwnershipTable, ResourceOwnership } from '../ownership.ts'
import { type Migration, migrateObject } from './migrate-object.ts'

/** What became of one object that earlier managers held something of. */
export type Migrated = { readonly row: ResourceOwnership; readonly object: KubeObject; readonly migration: Migration }

export type MigrateAll = {
  client: Client
  table: OwnershipTable
  alsoLegacy?: readonly string[]
  /** Writes nothing. */
  isDryRun?: boolean
  signal: AbortSignal
  /** Called with each object looked at, whether anything was to be moved or not. */
  onObject?: (row: ResourceOwnership) => void
}

type Page = { items?: KubeObject[]; metadata?: { continue?: string } }

const pageSize = 250

/** Where a page has expired, the list begins anew: what was moved already is clean then. */
async function* pagesOf({ client, signal }: MigrateAll, row: ResourceOwnership): AsyncGenerator<KubeObject[]> {
  let token: string | undefined
  do {
    const query = { limit: String(pageSize), labelSelector: row.marked, continue: token }
    let page: Page | undefined
    try {
      page = (await client.raw({ method: 'GET', path: pathOf(row.kind, {}), query }, signal)) as Page
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // A kind that is not installed has no objects.
      if (error.status === 404) return
      if (error.status !== 410 || token === undefined) throw error
    }
    token = page?.metadata?.continue || undefined
    yield page?.items ?? []
    if (page === undefined) yield* pagesOf({ client, signal } as MigrateAll, row)
  } while (token !== undefined)
}

/** Goes through all objects of the kinds that have a predecessor. Yields those that had something to move. */
export async function* migrateAll(given: MigrateAll): AsyncGenerator<Migrated> {
  const { client, table, alsoLegacy = [], isDryRun = false, signal, onObject } = given
  for (const row of table.filter(({ legacy }) => legacy !== undefined)) {
    const named = { apiVersion: apiVersionOf(row.kind), kind: row.kind.kind }
    for await (const items of pagesOf(given, row)) {
      for (const item of items) {
        onObject?.(row)
        const object = { ...named, ...item }
        const migration = await migrateObject({ client, row, alsoLegacy, isDryRun, signal }, object)
        if (migration.is !== 'clean') yield { row, object, migration }
      }
    }
  }
}
