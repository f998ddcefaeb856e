/**
 * For tests: every enforced path of a kind as a write that changes this path and nothing else. Values come from another valid
 * version of the object; a path that it lacks, or on which it agrees with what stands, is an error of the test.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../kind.ts'
import type { Condition, ResourceOwnership } from '../ownership.ts'
import { enforcedKind, type PathGroup } from './enforced.ts'

export type OwnershipAttempt = {
  /** As in the table. */
  readonly path: string
  /** As the policy's message names it. */
  readonly shown: string
  readonly subresource: '' | 'status'
  /** JSON merge patch (RFC 7386) for the object as it stands. */
  readonly patch: (stored: KubeObject) => object
  /** Who may: identity and documented managers, the first of each being the present one. */
  readonly writers: readonly { readonly identity: string; readonly managers: readonly string[]; readonly anyManager: boolean }[]
}

type Version = Pick<KubeObject<unknown, unknown>, 'metadata' | 'spec'> & { readonly status?: unknown }

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const fieldsOf = (value: unknown): Record<string, unknown> => (isFields(value) ? value : {})

function conditionsOf({ status }: Version): Condition[] {
  const { conditions } = fieldsOf(status)
  return Array.isArray(conditions) ? conditions : []
}

function statusPatch(path: string, before: Version, after: Version): object {
  if (!path.startsWith('conditions/')) {
    const [was, is] = [fieldsOf(before.status)[path], fieldsOf(after.status)[path]]
    if (is === undefined || isDeepStrictEqual(was, is)) throw new TypeError(`the other version says nothing about status.${path}`)
    return { status: { [path]: is } }
  }
  const type = path.slice('conditions/'.length)
  const is = conditionsOf(after).find((condition) => condition.type === type)
  if (!is) throw new TypeError(`the other version says nothing about condition ${type}`)
  const conditions = conditionsOf(before).filter((condition) => condition.type !== type)
  return { status: { conditions: [...conditions, is] } }
}

function metadataPatch(path: string, { metadata }: Version, after: Version): object {
  if (path === 'spec') return { spec: after.spec }
  const field = path.slice('metadata.'.length)
  const [map = '', ...rest] = field.split('/')
  // Any key of those that begin like this.
  const key = rest.join('/').replace(/\*$/, 'other')
  if (map === 'finalizers') {
    const { finalizers = [] } = metadata
    const isThere = finalizers.includes(key)
    return { metadata: { finalizers: isThere ? finalizers.filter((each) => each !== key) : [...finalizers, key] } }
  }
  if (field === 'ownerReferences')
    return { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'other', uid: 'other' }] } }
  return { metadata: { [map]: { [key || 'example.dev/other']: 'other' } } }
}

const shownAs = (group: PathGroup, path: string): string => {
  if (group.on === 'metadata') return path
  return path.startsWith('conditions/') ? `status.conditions[${path.slice('conditions/'.length)}]` : `status.${path}`
}

/** All of a row; empty where nothing of it is enforced. `after` is the other version. */
export function ownershipAttempts(row: ResourceOwnership, closed: readonly string[], after: Version): OwnershipAttempt[] {
  return (enforcedKind(row, closed)?.groups ?? []).flatMap((group) =>
    group.paths.map((path) => ({
      ...{ path, shown: shownAs(group, path), writers: group.passes },
      subresource: group.on === 'status' ? ('status' as const) : ('' as const),
      patch: (stored: KubeObject) =>
        group.on === 'status' ? statusPatch(path, stored, after) : metadataPatch(path, stored, after),
    })),
  )
}
