/** Documented status paths of a stored object: their values, and who owns them by managedFields (KEP-555). */
import type { KubeObject, ManagedFieldsEntry } from '../kind.ts'
import type { Condition, StatusOwner } from '../ownership.ts'
import { isUnnamed, type Rules, seedsOf } from './rules.ts'

export type Fields = Record<string, unknown>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON with sorted keys: equal for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isFields(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}

const prefix = 'conditions/'
const all = 'conditions/*'

export function statusOf(object: KubeObject | undefined): Fields {
  return isFields(object?.status) ? object.status : {}
}

/** As stored; nothing is assumed about the items but that they are objects. */
export function conditionsOf(object: KubeObject | undefined): Partial<Condition>[] {
  const { conditions } = statusOf(object)
  return Array.isArray(conditions) ? conditions.filter(isFields) : []
}

export function valueAt(object: KubeObject | undefined, path: string): unknown {
  if (!path.startsWith(prefix)) return statusOf(object)[path]
  return conditionsOf(object).find(({ type }) => type === path.slice(prefix.length))
}

/** What a writer owns in an object, with `conditions/*` as the types that stand in one of these versions. */
export function pathsOf(owns: readonly string[], ...versions: (KubeObject | undefined)[]): string[] {
  const types = versions.flatMap((object) => conditionsOf(object).map(({ type }) => `${prefix}${type}`))
  return [...new Set(owns.flatMap((path) => (path === all ? types : [path])))]
}

/** A condition exactly as the CRD seeds it: nobody's. */
export function isSeed(value: unknown, { kind: { kind } }: Rules): boolean {
  return seedsOf(kind).some((seed) => canonical(seed) === canonical(value))
}

function itemOf(conditions: unknown, type: string): unknown {
  if (!isFields(conditions)) return undefined
  return Object.entries(conditions).find(([key]) => key.startsWith('k:') && canonicalType(key) === type)?.[1]
}

function canonicalType(key: string): unknown {
  try {
    const parsed: unknown = JSON.parse(key.slice(2))
    return isFields(parsed) ? parsed.type : undefined
  } catch {
    return undefined
  }
}

/** The part of an entry that covers the path; undefined where it covers none of it. */
export function coverage({ fieldsV1 }: ManagedFieldsEntry, path: string): unknown {
  const status = fieldsV1?.['f:status']
  if (!isFields(status)) return undefined
  return path.startsWith(prefix) ? itemOf(status['f:conditions'], path.slice(prefix.length)) : status[`f:${path}`]
}

export function entriesOf(object: KubeObject | undefined): readonly ManagedFieldsEntry[] {
  return object?.metadata.managedFields ?? []
}

/** Whether an entry is the one in which the documented owner holds its paths. */
export function isOwnEntry(entry: ManagedFieldsEntry, owner: StatusOwner, { managers }: Rules): boolean {
  if (entry.subresource !== 'status') return false
  if (isUnnamed(owner)) return !managers.has(entry.manager ?? '')
  return entry.manager === owner.writer && entry.operation === 'Apply'
}

export function showEntry({ manager, operation, subresource }: ManagedFieldsEntry): string {
  return `"${manager ?? ''}" (${operation ?? '?'}${subresource ? ` on ${subresource}` : ''})`
}
