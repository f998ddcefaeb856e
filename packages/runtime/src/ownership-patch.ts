/** Putting the ownership of an object as it is to be: the one way that the server takes it, and what it makes of the entries. */
import type { Client, JsonPatchOperation } from './client.ts'
import { union } from './field-tree.ts'
import { apiVersionOf, type Kind, type KubeObject, type ManagedFieldsEntry } from './kind.ts'
import { treeOf } from './managed-fields.ts'
import { servedVersions } from './served-versions.ts'

/** The patch, of the main resource: on a subresource the server answers 200 and drops it. */
function ownershipPatch({ metadata }: KubeObject, managedFields: readonly ManagedFieldsEntry[]): JsonPatchOperation[] {
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'replace', path: '/metadata/managedFields', value: managedFields },
  ]
}

/** What the server takes for one entry: it keeps one of them and drops the other's fields. Neither time nor, of applies, version. */
export const isSameEntry = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): boolean =>
  (a.manager ?? '') === (b.manager ?? '') &&
  a.operation === b.operation &&
  (a.subresource ?? '') === (b.subresource ?? '') &&
  (a.operation === 'Apply' || a.apiVersion === b.apiVersion)

const laterOf = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): ManagedFieldsEntry => ((a.time ?? '') < (b.time ?? '') ? b : a)

function joined(all: readonly ManagedFieldsEntry[], entry: ManagedFieldsEntry): ManagedFieldsEntry[] {
  const at = all.findIndex((each) => isSameEntry(each, entry))
  const standing = all[at]
  if (!standing) return [...all, entry]
  return all.with(at, { ...laterOf(standing, entry), fieldsV1: union(treeOf(standing), treeOf(entry)) })
}

/**
 * The entries as the server keeps them: one entry of a version that it does not serve would cost the whole list, so that it
 * becomes one of `apiVersion`, joined with the same manager's that stands there. All others stay as they are.
 */
export function inServedVersions(
  entries: readonly ManagedFieldsEntry[],
  { served, apiVersion }: { served: readonly string[]; apiVersion: string },
): ManagedFieldsEntry[] {
  const isServed = (entry: ManagedFieldsEntry) => served.includes(entry.apiVersion ?? '')
  if (entries.every(isServed)) return [...entries]
  return entries.reduce<ManagedFieldsEntry[]>((all, entry) => joined(all, isServed(entry) ? entry : { ...entry, apiVersion }), [])
}

/** Makes `entries` those of the object. Asks which versions are served where an entry names another than the kind's own. */
export async function putOwnership<S, T>(
  { client, kind, fieldManager, signal }: { client: Client; kind: Kind<S, T>; fieldManager: string; signal: AbortSignal },
  object: KubeObject<S, T>,
  entries: readonly ManagedFieldsEntry[],
): Promise<KubeObject<S, T>> {
  const served = await servedVersions(client, kind, entries, signal)
  const usable = inServedVersions(entries, { served, apiVersion: apiVersionOf(kind) })
  return client.jsonPatch(kind, object.metadata, ownershipPatch(object, usable), { fieldManager }, signal)
}
