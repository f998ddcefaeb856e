/** Which documented paths an entry of managedFields covers. Source: KEP-555, structured-merge-diff's fieldsV1. */
import { isKeyOf, type ManagedFieldsEntry } from 'kube-control-loop'
import { type Fields, isFields, pick } from './stored.ts'

const condition = 'conditions/'

const hasMore = (fields: unknown): boolean => isFields(fields) && Object.keys(fields).some((key) => key !== '.')

/** The type in the key of a list item, `k:{"type":"Ready"}`. */
function typeIn(key: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(key.slice('k:'.length))
    const type = pick(parsed, 'type')
    return typeof type === 'string' ? type : undefined
  } catch {
    return undefined
  }
}

/** Whether it covers the list of conditions as one value, as an entry from before the list was a map by type does. */
export function coversWholeList({ fieldsV1 }: ManagedFieldsEntry): boolean {
  const conditions = pick(fieldsV1, 'f:status', 'f:conditions')
  return isFields(conditions) && !Object.keys(conditions).some((key) => key.startsWith('k:'))
}

function conditionFields(status: Fields | undefined, type: string): unknown {
  const conditions = status?.['f:conditions']
  if (!isFields(conditions)) return undefined
  const key = Object.keys(conditions).find((each) => each.startsWith('k:') && typeIn(each) === type)
  return key === undefined ? undefined : conditions[key]
}

/** What of a status path (`phase`, `conditions/Ready`) the entry covers; undefined: nothing. */
export function coveredStatus({ fieldsV1 }: ManagedFieldsEntry, path: string): unknown {
  const status = pick(fieldsV1, 'f:status')
  if (!isFields(status)) return undefined
  return path.startsWith(condition) ? conditionFields(status, path.slice(condition.length)) : status[`f:${path}`]
}

/** Whether the entry covers what people read of the path: for a condition its status, else the field. */
export function holdsValue(entry: ManagedFieldsEntry, path: string): boolean {
  const covered = coveredStatus(entry, path)
  if (!path.startsWith(condition)) return covered !== undefined
  return isFields(covered) && 'f:status' in covered
}

const listed = { 'metadata.labels': 'f:labels', 'metadata.annotations': 'f:annotations' } as const

/** Whether fields of a map cover one of the keys; any key where none is named. */
function coversKey(map: unknown, keys: readonly string[] | undefined): boolean {
  if (keys === undefined) return hasMore(map)
  return isFields(map) && Object.keys(map).some((field) => keys.some((key) => isKeyOf(`f:${key}`, field)))
}

/**
 * Whether the entry covers a documented path outside the status, as the ownership tables write them. `keys`: those of a map that
 * are documented, where others are anybody's.
 */
export function coversOutside({ fieldsV1 }: ManagedFieldsEntry, path: string, keys?: readonly string[]): boolean {
  if (path === 'spec') return hasMore(pick(fieldsV1, 'f:spec')) || isFields(pick(fieldsV1, 'f:spec'))
  if (path === 'metadata.ownerReferences') return hasMore(pick(fieldsV1, 'f:metadata', 'f:ownerReferences'))
  for (const [prefix, field] of Object.entries(listed)) {
    const map = pick(fieldsV1, 'f:metadata', field)
    if (path === prefix) return coversKey(map, keys)
    if (path.startsWith(`${prefix}/`)) return isFields(map) && `f:${path.slice(prefix.length + 1)}` in map
  }
  const finalizer = /^metadata\.finalizers\/(.+)$/.exec(path)?.[1]
  const finalizers = pick(fieldsV1, 'f:metadata', 'f:finalizers')
  return finalizer !== undefined && isFields(finalizers) && `v:${JSON.stringify(finalizer)}` in finalizers
}
