/** Documented paths outside the status, compared between two versions of an object. */
import type { KubeObject } from '../kind.ts'
import { isKeyOf, type ResourceOwnership } from '../ownership.ts'
import type { Version } from './history.ts'
import { canonical } from './status-paths.ts'

const finalizers = 'metadata.finalizers/'
const annotations = 'metadata.annotations/'
const labels = 'metadata.labels/'

type Keys = readonly string[] | undefined

/** Where only some keys are documented, the others are of whoever keeps them. */
const mapOf = (map: Record<string, string> = {}, keys: Keys) =>
  keys === undefined ? map : Object.fromEntries(Object.entries(map).filter(([key]) => keys.some((each) => isKeyOf(each, key))))

/** Empty and absent are the same. */
function valueAt(object: KubeObject | undefined, path: string, keys: Keys): unknown {
  const { metadata, spec } = object ?? {}
  if (path === 'spec') return spec
  if (path === 'metadata.labels') return mapOf(metadata?.labels, keys)
  if (path === 'metadata.annotations') return mapOf(metadata?.annotations, keys)
  if (path === 'metadata.ownerReferences') return metadata?.ownerReferences ?? []
  if (path.startsWith(finalizers)) return metadata?.finalizers?.includes(path.slice(finalizers.length)) ?? false
  if (path.startsWith(annotations)) return metadata?.annotations?.[path.slice(annotations.length)]
  if (path.startsWith(labels)) return metadata?.labels?.[path.slice(labels.length)]
  return undefined
}

/** The documented keys of a path; undefined where one of its writers has all of it. */
const keysOf = (owners: ResourceOwnership['metadata']): Keys =>
  owners.every(({ keys }) => keys !== undefined) ? owners.flatMap(({ keys = [] }) => keys) : undefined

/**
 * Each documented path and whether it changed. Finalizers of a new object are not looked at: its body, or an admission
 * policy, brings them for their owners. Of a kind that others have too, only marked objects are.
 */
export function metadataPaths(
  { metadata, marked }: ResourceOwnership,
  before: KubeObject | undefined,
  { object, last }: Version,
): { path: string; changed: boolean }[] {
  const isOurs = (each: KubeObject | undefined) => marked === undefined || each?.metadata.labels?.[marked] !== undefined
  if (!isOurs(before) && !isOurs(object)) return []
  const paths = [...Map.groupBy(metadata, ({ path }) => path)]
  const looked = paths.filter(([path]) => (path.startsWith(finalizers) ? before !== undefined : !last))
  return looked.map(([path, owners]) => {
    const value = (of: KubeObject | undefined) => canonical(valueAt(of, path, keysOf(owners)))
    return { path, changed: value(before) !== value(object) }
  })
}
