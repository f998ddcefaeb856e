/**
 * Ownership that earlier software left in managedFields by `Update`, moved to the documented writers. Pure.
 * Source: KEP-555. An apply removes only what its own entry owns and nobody else does: as long as an old entry holds a field,
 * leaving that field out has no effect, for ever.
 */
import { type FieldTree, isBare, isTree, itself, nodeAt, pathsIn, treeAt, union, without } from '../field-tree.ts'
import { apiVersionOf, type KubeObject, type ManagedFieldsEntry } from '../kind.ts'
import { conditionsPath, treeOf } from '../managed-fields.ts'
import type { ResourceOwnership } from '../ownership.ts'
import { isSameEntry } from '../ownership-patch.ts'
import { inheritedPaths, type OwnedPath } from './owned-paths.ts'

export type Inheritance = {
  /** Of the object's kind. */
  readonly row: ResourceOwnership
  /** Further names of earlier managers that an administrator knows of. */
  readonly alsoLegacy?: readonly string[]
  /** Only what passes to this documented writer; absent: to whichever. */
  readonly writer?: string
}

/** A documented path that a manager of earlier software still holds. */
export type LegacyPath = { readonly path: string; readonly manager: string; readonly writer: string }

const isEarlier = ({ row, alsoLegacy = [] }: Inheritance) => {
  const names = new Set([...(row.legacy ?? []), ...alsoLegacy])
  return (entry: ManagedFieldsEntry) => entry.operation === 'Update' && names.has(entry.manager ?? '')
}

/** A list of conditions that an entry holds as a whole: it was one value before the list had keys, and holds no item now. */
function holdsBareConditions(tree: FieldTree): boolean {
  const node = nodeAt(tree, conditionsPath)
  return node !== undefined && isBare(node)
}

const conditionsOf = (object: KubeObject): readonly Record<string, unknown>[] => {
  const list = isTree(object.status) ? (object.status as { conditions?: unknown }).conditions : undefined
  return Array.isArray(list) ? list.filter(isTree) : []
}

/** What owning a stored condition wholly means: else a part without an owner would stay when the writer leaves it out. */
function wholeCondition(object: KubeObject, type: string): FieldTree | undefined {
  const stored = conditionsOf(object).find((each) => each.type === type)
  if (!stored) return undefined
  return { [itself]: {}, ...Object.fromEntries(Object.keys(stored).map((field) => [`f:${field}`, {}])) }
}

/** What an entry holds of a documented path; undefined where it holds nothing of it. */
function held(tree: FieldTree, { path, condition }: OwnedPath, object: KubeObject): FieldTree | undefined {
  const node = nodeAt(tree, path)
  if (condition === undefined) return node
  const whole = wholeCondition(object, condition)
  if (node) return union(node, whole ?? {})
  return holdsBareConditions(tree) ? whole : undefined
}

const ownedBy = ({ row, writer }: Inheritance): OwnedPath[] => {
  return inheritedPaths(row).filter(({ manager }) => writer === undefined || manager === writer)
}

/** Stored items of a list held as one value that are still to pass to other writers, told one by one. */
function itemsOfOthers(given: Inheritance, object: KubeObject): FieldTree {
  const others = inheritedPaths(given.row).filter(({ manager }) => given.writer !== undefined && manager !== given.writer)
  return others.reduce<FieldTree>((tree, { condition, path }) => {
    const whole = condition === undefined ? undefined : wholeCondition(object, condition)
    return whole ? union(tree, treeAt(path, whole)) : tree
  }, {})
}

type Moved = { readonly to: OwnedPath; readonly fields: FieldTree }

type Parts = { readonly moved: readonly Moved[]; readonly left: FieldTree }

/** Splits an earlier entry into what passes to documented writers and what stays; undefined when all of it stays. */
function split(entry: ManagedFieldsEntry, given: Inheritance, object: KubeObject): Parts | undefined {
  const owned = ownedBy(given)
  const tree = treeOf(entry)
  const moved: Moved[] = []
  let left = tree
  for (const to of owned) {
    const fields = held(left, to, object)
    if (fields) moved.push({ to, fields: treeAt(to.path, fields) })
    if (nodeAt(left, to.path)) left = without(left, to.path)
  }
  if (holdsBareConditions(left) && owned.some(({ condition }) => condition !== undefined)) {
    left = union(without(left, conditionsPath), itemsOfOthers(given, object))
  }
  return left === tree ? undefined : { moved, left }
}

/** The row's writer with a predecessor: of its status where it has one. */
function writerOf(row: ResourceOwnership): string {
  const owner = [...row.status, ...row.metadata].find(({ formerly }) => formerly !== undefined)
  return owner?.writer ?? ''
}

/** Whether the object is one of the row's: others may have objects of the same kind. */
const isOurs = ({ metadata }: KubeObject, { marked }: ResourceOwnership) =>
  marked === undefined || metadata.labels?.[marked] !== undefined

/** Documented paths that earlier managers still hold, as an administrator reads them. A bare list of conditions is one too. */
export function legacyPaths(object: KubeObject, entries: readonly ManagedFieldsEntry[], given: Inheritance): LegacyPath[] {
  if (!isOurs(object, given.row)) return []
  return entries.filter(isEarlier(given)).flatMap((entry) => {
    const parts = split(entry, given, object)
    if (!parts) return []
    const manager = entry.manager ?? ''
    // Of a bare list without a stored item nothing is moved, but it goes.
    if (parts.moved.length === 0) return [{ path: 'status.conditions', manager, writer: given.writer ?? writerOf(given.row) }]
    return parts.moved.map(({ to }) => ({ path: to.name, manager, writer: to.manager }))
  })
}

/** A writer's `Apply` entry that stands in another version becomes one of this version, as its next apply would make it. */
function add(entries: readonly ManagedFieldsEntry[], { to, fields }: Moved, made: { apiVersion: string; time: string }) {
  const entry: ManagedFieldsEntry = {
    manager: to.manager,
    operation: to.side === 'status' ? 'Apply' : 'Update',
    ...made,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(to.side === 'status' ? { subresource: 'status' } : {}),
  }
  const at = entries.findIndex((each) => isSameEntry(each, entry))
  const standing = entries[at]
  if (!standing) return [...entries, entry]
  return entries.with(at, { ...standing, apiVersion: made.apiVersion, fieldsV1: union(treeOf(standing), fields) })
}

export type MigrationInput = Inheritance & {
  /** As stored; gives the items of conditions. */
  readonly object: KubeObject
  readonly entries: readonly ManagedFieldsEntry[]
}

/**
 * The entries with the documented paths of earlier managers moved to the documented writers, or undefined when there are none.
 * Everything else stays as it is: entries of others, what earlier managers hold beside the documented paths, all values.
 */
export function migrateEntries({ object, entries, ...given }: MigrationInput): ManagedFieldsEntry[] | undefined {
  if (!isOurs(object, given.row)) return undefined
  const earlier = isEarlier(given)
  const apiVersion = apiVersionOf(given.row.kind)
  const moved: (Moved & { time: string })[] = []
  let isChanged = false
  const kept = entries.flatMap((entry): ManagedFieldsEntry[] => {
    const parts = earlier(entry) ? split(entry, given, object) : undefined
    if (!parts) return [entry]
    isChanged = true
    const time = entry.time ?? object.metadata.creationTimestamp ?? ''
    moved.push(...parts.moved.map((each) => ({ ...each, time })))
    return isBare(parts.left) ? [] : [{ ...entry, fieldsV1: parts.left }]
  })
  if (!isChanged) return undefined
  return moved.reduce<ManagedFieldsEntry[]>((all, { time, ...each }) => add(all, each, { apiVersion, time }), kept)
}

/** Who holds what, for people: `manager operation [subresource]` → field paths. */
export function ownersIn(entries: readonly ManagedFieldsEntry[]): { by: string; fields: string[] }[] {
  return entries.map((entry) => ({
    by: [entry.manager, entry.operation, entry.subresource].filter(Boolean).join(' '),
    fields: pathsIn(treeOf(entry)).map(readable),
  }))
}

function readable(path: readonly string[]): string {
  return path.reduce((text, key) => {
    if (key.startsWith('f:')) return text === '' ? key.slice(2) : `${text}.${key.slice(2)}`
    return `${text}[${key.slice(2)}]`
  }, '')
}
