/** Kinds of which only group and name are known, as the API server serves them. */
import type { Kind } from 'kube-control-loop'
import { isFields, pick } from './owners/stored.ts'

/** The kind in the server's list of resources of its group and version; undefined where that has none of the name. */
export function servedKind(list: unknown, group: string, version: string, kind: string): Kind | undefined {
  const resources = pick(list, 'resources')
  const found = Array.isArray(resources)
    ? resources.filter(isFields).find((each) => each.kind === kind && typeof each.name === 'string' && !each.name.includes('/'))
    : undefined
  if (!found) return undefined
  return { group, version, kind, plural: String(found.name), scope: found.namespaced === true ? 'Namespaced' : 'Cluster' }
}
