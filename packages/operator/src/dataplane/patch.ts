/**
 * What must change on a stored object so that it says what its template renders. Only paths that the template names are
 * looked at: fields that the schema defaults, or that others added, are no difference and are never touched.
 * JSON patch (RFC 6902) with a `test` on each old value, so that a change made meanwhile is a lost race, not a lost change.
 */
import type { JsonPatchOperation, KubeObject } from 'kube-control-loop'
import type { Json } from './cel.ts'

export type Rendered = {
  readonly body: KubeObject
  /** JSON pointers that the template names but whose value is absent in this rendering. */
  readonly leftOut: readonly string[]
}

/**
 * Operations on spec and labels; empty when nothing differs. `isDefault` answers whether a value that stands where the
 * rendering has none is known to be put there by the schema: removing it would bring it back, pass after pass.
 */
export function difference(
  rendered: Rendered,
  stored: KubeObject,
  isDefault: (pointer: string, value: unknown) => boolean = () => false,
): readonly JsonPatchOperation[] {
  const { labels, annotations } = rendered.body.metadata
  return [
    ...differing(labels, stored.metadata.labels, '/metadata/labels'),
    ...differing(annotations, stored.metadata.annotations, '/metadata/annotations'),
    ...differing(rendered.body.spec, stored.spec, '/spec'),
    ...rendered.leftOut.flatMap((pointer) => removal(pointer, stored, isDefault)),
  ]
}

function differing(wanted: unknown, stored: unknown, pointer: string): JsonPatchOperation[] {
  if (wanted === undefined || covers(stored, wanted)) return []
  if (isMap(wanted) && isMap(stored)) {
    return Object.entries(wanted).flatMap(([key, value]) =>
      differing(value, own(stored, key), `${pointer}/${escapePointer(key)}`),
    )
  }
  return stored === undefined || stored === null
    ? [
        { op: 'test', path: pointer, value: null },
        { op: 'add', path: pointer, value: wanted },
      ]
    : [
        { op: 'test', path: pointer, value: stored },
        { op: 'replace', path: pointer, value: wanted },
      ]
}

function removal(
  pointer: string,
  stored: KubeObject,
  isDefault: (pointer: string, value: unknown) => boolean,
): JsonPatchOperation[] {
  const value = valueAt(stored, pointer)
  if (value === undefined || value === null || isDefault(pointer, value)) return []
  return [
    { op: 'test', path: pointer, value },
    { op: 'remove', path: pointer },
  ]
}

/** Whether the stored value says all that is wanted; maps may say more. An empty list or map counts as absent. */
function covers(stored: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(stored)) return wanted.length === 0 && (stored === undefined || stored === null)
    return stored.length === wanted.length && wanted.every((item, index) => covers(stored[index], item))
  }
  if (!isMap(wanted)) return stored === wanted
  if (stored === undefined || stored === null) return Object.keys(wanted).length === 0
  return isMap(stored) && Object.entries(wanted).every(([key, value]) => covers(own(stored, key), value))
}

/** The value a JSON pointer (RFC 6901) names, or undefined. */
export function valueAt(object: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (isMap(value) ? own(value, unescapePointer(key)) : undefined), object)
}

type JsonMap = { readonly [key: string]: Json }

const isMap = (value: unknown): value is JsonMap => typeof value === 'object' && value !== null && !Array.isArray(value)
const own = (map: JsonMap, key: string): Json | undefined => (Object.hasOwn(map, key) ? map[key] : undefined)

export const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
const unescapePointer = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~')
