import { ApiError } from './api-error.ts'
import type { Client } from './client.ts'
import { apiVersionOf, type Kind, type ManagedFieldsEntry } from './kind.ts'

/**
 * Of the versions that these entries name, those in which the server serves the kind; the kind's own is taken as served. One
 * request for each other version. Throws `ApiError`.
 */
export async function servedVersions(
  client: Client,
  kind: Kind,
  entries: readonly ManagedFieldsEntry[],
  signal: AbortSignal,
): Promise<string[]> {
  const own = apiVersionOf(kind)
  const others = new Set(entries.map(({ apiVersion }) => apiVersion ?? '').filter((version) => version && version !== own))
  const asked = [...others].map(async (version) => ({ version, isServed: await isServed(client, kind, version, signal) }))
  return [own, ...(await Promise.all(asked)).filter((each) => each.isServed).map(({ version }) => version)]
}

async function isServed(client: Client, kind: Kind, apiVersion: string, signal: AbortSignal): Promise<boolean> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  try {
    const list = (await client.raw({ method: 'GET', path }, signal)) as { resources?: readonly { name: string }[] }
    return (list.resources ?? []).some(({ name }) => name === kind.plural)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false
    throw error
  }
}
