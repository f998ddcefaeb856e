/** Documented paths outside the status, compared between two versions of an object. */
import type { KubeObject } from '../kind.ts'
import type { ResourceOwnership } from '../ownership.ts'
import type { Version } from './history.ts'
import { canonical } from './status-paths.ts'

const finalizers = 'metadata.finalizers/'
const annotations = 'metadata.annotations/'
const labels = 'metadata.labels/'

/** Empty and absent are the same. */
function valueAt(object: KubeObject | undefined, path: string): unknown {
  const { metadata, spec } = object ?? {}
  if (path === 'spec') return spec
  if (path === 'metadata.labels') return metadata?.labels ?? {}
  if (path === 'metadata.annotations') return metadata?.annotations ?? {}
  if (path === 'metadata.ownerReferences') return metadata?.ownerReferences ?? []
  if (path.startsWith(finalizers)) return metadata?.finalizers?.includes(path.slice(finalizers.length)) ?? false
  if (path.startsWith(annotations)) return metadata?.annotations?.[path.slice(annotations.length)]
  if (path.startsWith(labels)) return metadata?.labels?.[path.slice(labels.length)]
  return undefined
}

/**
 * Each documented path and whether it changed. Finalizers of a new object are not looked at: its body, or an admission
 * policy, brings them for their owners.
 */
export function metadataPaths(
  { metadata }: ResourceOwnership,
  before: KubeObject | undefined,
  { object, last }: Version,
): { path: string; changed: boolean }[] {
  const paths = [...new Set(metadata.map(({ path }) => path))]
  const looked = paths.filter((path) => (path.startsWith(finalizers) ? before !== undefined : !last))
  return looked.map((path) => ({ path, changed: canonical(valueAt(before, path)) !== canonical(valueAt(object, path)) }))
}
