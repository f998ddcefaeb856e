/**
 * JSON-patch operations (RFC 6902) that change a value only while it is what was read: every change carries a `test` on
 * the old value, and `test … null` stands for absent. A failed test is a lost race, never an overwrite.
 */
import { isDeepStrictEqual } from 'node:util'
import type { JsonPatchOperation } from 'kube-control-loop'

export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** From `before` to `after` at one path; undefined means absent. Nothing to change: no operation. */
export function changeValue(path: string, before: unknown, after: unknown): JsonPatchOperation[] {
  if (isDeepStrictEqual(before, after)) return []
  const test: JsonPatchOperation = { op: 'test', path, value: before === undefined ? null : before }
  return after === undefined ? [test, { op: 'remove', path }] : [test, { op: 'add', path, value: after }]
}

/** Sets and removes (undefined) some keys of a map; the other keys belong to others and stay as they are. */
export function changeEntries(
  path: string,
  before: Readonly<Record<string, string>> | undefined,
  changes: Readonly<Record<string, string | undefined>>,
): JsonPatchOperation[] {
  if (before === undefined) {
    const added = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    return Object.keys(added).length === 0 ? [] : changeValue(path, undefined, added)
  }
  return Object.entries(changes).flatMap(([key, value]) => changeValue(`${path}/${escapePointer(key)}`, before[key], value))
}
