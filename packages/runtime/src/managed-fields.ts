/** Field ownership as the server records it. Source: KEP-555, structured-merge-diff's fieldsV1. */
import { type FieldPath, type FieldTree, isBare, isTree, nodeAt, treeAt, union, without } from './field-tree.ts'
import type { ManagedFieldsEntry } from './kind.ts'
import type { StatusOwner } from './ownership.ts'

/**
 * Names under which the server itself keeps ownership: of all Update managers beyond the tenth, and of what stood on an object
 * without entries when it was first applied to. They tell of no one who writes, and what they hold has no other owner.
 */
export const gatheringManagers = ['ancient-changes', 'before-first-apply'] as const

/** `vpc` or `conditions/Ready` for a path as conflicts name it: `.status.vpc.name`, `.status.conditions[type="Ready"].reason`. */
export function documentedPath(field: string): string {
  const condition = /^\.status\.conditions\[type="([^"]+)"\]/.exec(field)
  if (condition) return `conditions/${condition[1]}`
  return /^\.status\.([^.[]+)/.exec(field)?.[1] ?? field
}

const conditionPrefix = 'conditions/'

export const conditionsPath: FieldPath = ['f:status', 'f:conditions']

/** Where a status path of the ownership table (`vpc`, `conditions/Ready`) stands in managedFields. */
export function statusFieldPath(owned: string): FieldPath {
  if (!owned.startsWith(conditionPrefix)) return ['f:status', `f:${owned}`]
  const type = owned.slice(conditionPrefix.length)
  return [...conditionsPath, `k:${JSON.stringify({ type })}`]
}

/** What an entry owns. */
export const treeOf = ({ fieldsV1 }: ManagedFieldsEntry): FieldTree => (isTree(fieldsV1) ? fieldsV1 : {})

/** Documented paths (of `owns`) that an entry covers. */
function coveredPaths(entry: ManagedFieldsEntry, owns: readonly string[]): string[] {
  const tree = treeOf(entry)
  return owns.filter((path) => nodeAt(tree, statusFieldPath(path)) !== undefined)
}

function isOwn(entry: ManagedFieldsEntry, owner: StatusOwner): boolean {
  return entry.manager === owner.writer && entry.operation === 'Apply' && entry.subresource === 'status'
}

/** Who else owns a documented path: path → managers, from the entries of one object. */
export function foreignOwners(entries: readonly ManagedFieldsEntry[], owner: StatusOwner): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const entry of entries) {
    if (isOwn(entry, owner)) continue
    for (const path of coveredPaths(entry, owner.owns)) {
      const managers = found.get(path) ?? []
      const name = entry.manager ?? 'unknown'
      if (!managers.includes(name)) found.set(path, [...managers, name])
    }
  }
  return found
}

/**
 * The entries after every documented path of `owner` was taken out of everyone else's. Entries that own nothing any more
 * go. Paths in `inherit` pass to the owner's own entry: values that it does not want and can remove only when they are its
 * own. Undefined when nothing would change.
 */
export function withoutForeignOwners(
  entries: readonly ManagedFieldsEntry[],
  owner: StatusOwner,
  inherit: readonly string[],
): ManagedFieldsEntry[] | undefined {
  let inherited: FieldTree = {}
  let isChanged = false
  const kept = entries.flatMap((entry): ManagedFieldsEntry[] => {
    const covered = isOwn(entry, owner) ? [] : coveredPaths(entry, owner.owns)
    if (covered.length === 0) return [entry]
    isChanged = true
    const tree = treeOf(entry)
    for (const path of covered.filter((each) => inherit.includes(each))) {
      const at = statusFieldPath(path)
      inherited = union(inherited, treeAt(at, nodeAt(tree, at) ?? {}))
    }
    const left = covered.reduce<FieldTree>((rest, path) => without(rest, statusFieldPath(path)), tree)
    return isBare(left) ? [] : [{ ...entry, fieldsV1: left }]
  })
  if (!isChanged) return undefined
  // An owner whose intents were all empty has no entry to add to; its next apply makes one.
  return kept.map((entry) =>
    isOwn(entry, owner) && !isBare(inherited) ? { ...entry, fieldsV1: union(treeOf(entry), inherited) } : entry,
  )
}
