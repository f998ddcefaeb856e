/** Field ownership as the server records it. Source: KEP-555, structured-merge-diff's fieldsV1. */
import type { ManagedFieldsEntry } from './kind.ts'
import type { StatusOwner } from './ownership.ts'

type Fields = Record<string, unknown>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** `vpc` or `conditions/Ready` for a path as conflicts name it: `.status.vpc.name`, `.status.conditions[type="Ready"].reason`. */
export function documentedPath(field: string): string {
  const condition = /^\.status\.conditions\[type="([^"]+)"\]/.exec(field)
  if (condition) return `conditions/${condition[1]}`
  return /^\.status\.([^.[]+)/.exec(field)?.[1] ?? field
}

/** The key of a documented path in `f:status`, or of a condition in `f:conditions` there. */
function fieldKey(path: string): string {
  const type = path.startsWith('conditions/') ? path.slice('conditions/'.length) : undefined
  return type === undefined ? `f:${path}` : `k:${JSON.stringify({ type })}`
}

/** Documented paths (of `owns`) that these fields cover. */
function coveredPaths(fields: Fields | undefined, owns: readonly string[]): string[] {
  const status = fields?.['f:status']
  if (!isFields(status)) return []
  const keys = { ...status, ...(status['f:conditions'] as Fields | undefined) }
  return owns.filter((path) => fieldKey(path) in keys)
}

function isOwn(entry: ManagedFieldsEntry, owner: StatusOwner): boolean {
  return entry.manager === owner.writer && entry.operation === 'Apply' && entry.subresource === 'status'
}

/** Who else owns a documented path: path → managers, from the entries of one object. */
export function foreignOwners(entries: readonly ManagedFieldsEntry[], owner: StatusOwner): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const entry of entries) {
    if (isOwn(entry, owner)) continue
    for (const path of coveredPaths(entry.fieldsV1, owner.owns)) {
      const managers = found.get(path) ?? []
      const name = entry.manager ?? 'unknown'
      if (!managers.includes(name)) found.set(path, [...managers, name])
    }
  }
  return found
}

function isEmpty(fields: Fields): boolean {
  return Object.keys(fields).every((key) => key === '.')
}

/** Splits `f:status` into the part that covers documented paths and the rest; empty parts are empty objects. */
function splitStatus(status: Fields, owns: readonly string[]): { documented: Fields; rest: Fields } {
  const keys = new Set(owns.map(fieldKey))
  const documented: Fields = {}
  const rest: Fields = {}
  for (const [key, value] of Object.entries(status)) {
    if (key !== 'f:conditions') {
      const side = keys.has(key) ? documented : rest
      side[key] = value
      continue
    }
    const items = Object.entries(value as Fields)
    const ours = items.filter(([item]) => keys.has(item))
    const others = Object.fromEntries(items.filter(([item]) => !keys.has(item)))
    if (ours.length > 0) documented[key] = Object.fromEntries(ours)
    // The bare list, left behind by a writer of one condition, would keep an item-less entry alive.
    if (!isEmpty(others) || ours.length === 0) rest[key] = others
  }
  return { documented, rest }
}

function statusOf(entry: ManagedFieldsEntry): Fields {
  const status = entry.fieldsV1?.['f:status']
  return isFields(status) ? status : {}
}

function merged(a: Fields | undefined, b: Fields): Fields {
  const result: Fields = { ...a }
  for (const [key, value] of Object.entries(b)) result[key] = merged(result[key] as Fields | undefined, value as Fields)
  return result
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
  let inherited: Fields = {}
  let isChanged = false
  const kept: ManagedFieldsEntry[] = []
  for (const entry of entries) {
    if (isOwn(entry, owner) || coveredPaths(entry.fieldsV1, owner.owns).length === 0) {
      kept.push(entry)
      continue
    }
    isChanged = true
    const { documented, rest } = splitStatus(statusOf(entry), owner.owns)
    inherited = merged(inherited, splitStatus(documented, inherit).documented)
    const { 'f:status': _, ...others } = entry.fieldsV1 ?? {}
    const fieldsV1 = isEmpty(rest) ? others : { ...others, 'f:status': rest }
    if (!isEmpty(fieldsV1)) kept.push({ ...entry, fieldsV1 })
  }
  if (!isChanged) return undefined
  return isEmpty(inherited) ? kept : withInheritance(kept, owner, inherited)
}

function withInheritance(entries: readonly ManagedFieldsEntry[], owner: StatusOwner, inherited: Fields): ManagedFieldsEntry[] {
  const own = entries.find((entry) => isOwn(entry, owner))
  // An owner whose intents were all empty has no entry to add to; its next apply makes one.
  if (!own) return [...entries]
  const fieldsV1 = { ...own.fieldsV1, 'f:status': merged(statusOf(own), inherited) }
  return entries.map((entry) => (entry === own ? { ...own, fieldsV1 } : entry))
}
