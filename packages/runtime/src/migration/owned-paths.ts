/** The paths of an ownership row that earlier software wrote for today's writers, as paths in managedFields. */
import type { FieldPath } from '../field-tree.ts'
import { statusFieldPath } from '../managed-fields.ts'
import type { MetadataOwner, ResourceOwnership, StatusOwner } from '../ownership.ts'

export type OwnedPath = {
  /** As in the table, with `status.` in front where it is one: `status.vpc`, `status.conditions/Ready`, `metadata.labels/x`. */
  readonly name: string
  readonly path: FieldPath
  /** Field manager of the documented writer, and whether it writes status by apply or the rest by update. */
  readonly manager: string
  readonly side: 'status' | 'main'
  /** The condition's type, where the path is one. */
  readonly condition?: string
}

function statusPath({ writer }: StatusOwner, owned: string): OwnedPath {
  const [, condition] = /^conditions\/(.*)$/.exec(owned) ?? []
  const of = { name: `status.${owned}`, path: statusFieldPath(owned), manager: writer, side: 'status' } as const
  return condition === undefined ? of : { ...of, condition }
}

/** `metadata.labels/a.b/c` → `f:metadata`, `f:labels`, `f:a.b/c`. A finalizer is an item of a set, and told by its value. */
function metadataPath({ path, writer }: MetadataOwner): OwnedPath {
  const slash = path.indexOf('/')
  const fields = (slash < 0 ? path : path.slice(0, slash)).split('.').map((field) => `f:${field}`)
  const item = slash < 0 ? undefined : path.slice(slash + 1)
  const last = path.startsWith('metadata.finalizers/') ? `v:${JSON.stringify(item)}` : `f:${item}`
  return { name: path, path: item === undefined ? fields : [...fields, last], manager: writer, side: 'main' }
}

const roots = ['f:spec', 'f:metadata']

/**
 * Only owners with `formerly` had a predecessor: what it wrote passes to them. Of a path with two writers the first in the
 * table takes it.
 */
export function inheritedPaths(row: ResourceOwnership): OwnedPath[] {
  const status = row.status
    .filter(({ formerly }) => formerly)
    .flatMap((owner) => owner.owns.map((path) => statusPath(owner, path)))
  const main = row.metadata.filter(({ formerly }) => formerly).map(metadataPath)
  return [...status, ...main.filter(({ path }) => roots.includes(path[0] ?? ''))]
}
