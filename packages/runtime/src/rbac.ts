/**
 * Permissions from the ownership table: an identity gets what its rows say it writes, plus a declared list of reads. Nothing
 * is wildcarded. A status is written by apply, which the API server asks `patch` for.
 */
import type { Manifest } from './manifest.ts'
import type { OwnershipTable, ResourceOwnership } from './ownership.ts'

export type PolicyRule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }

/** Resources of one group with the verbs on them, beyond what the table says; with names, on these objects alone. */
export type Grant = {
  readonly group: string
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export const reading = ['get', 'list', 'watch'] as const
const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']

type Wanted = { group: string; resource: string; verbs: readonly string[] }

function rowGrants({ kind, status, metadata }: ResourceOwnership, identity: string): Wanted[] {
  const own = metadata.filter((owner) => owner.identity === identity).flatMap(({ verbs = [] }) => verbs)
  const writesStatus = status.some((owner) => owner.identity === identity)
  // managedFields can be put right on the main resource only: on /status the server drops such a patch.
  const rights = writesStatus ? ['patch'] : []
  return [
    { group: kind.group, resource: kind.plural, verbs: [...reading, ...own, ...rights] },
    ...(writesStatus ? [{ group: kind.group, resource: `${kind.plural}/status`, verbs: ['get', 'patch'] }] : []),
  ]
}

/** Rules for one identity: reads every kind of its table, writes what the table says, and is granted the rest by name. */
export function rulesFor(identity: string, table: OwnershipTable, grants: readonly Grant[]): PolicyRule[] {
  const wanted = [
    ...table.flatMap((row) => rowGrants(row, identity)),
    ...grants
      .filter(({ resourceNames }) => !resourceNames)
      .flatMap(({ group, resources, verbs }) => resources.map((resource): Wanted => ({ group, resource, verbs }))),
  ]
  const byResource = Map.groupBy(wanted, ({ group, resource }) => `${group}/${resource}`)
  const merged = [...byResource.values()].map((all): Wanted => {
    const [{ group, resource } = { group: '', resource: '' }] = all
    const verbs = new Set(all.flatMap((one) => one.verbs))
    return { group, resource, verbs: verbOrder.filter((verb) => verbs.has(verb)) }
  })
  const byVerbs = Map.groupBy(merged, ({ group, verbs }) => `${group} ${verbs.join(' ')}`)
  const rules = [...byVerbs.values()].map((all) => ({
    apiGroups: [all[0]?.group ?? ''],
    resources: all.map(({ resource }) => resource),
    verbs: [...(all[0]?.verbs ?? [])],
  }))
  return [...rules, ...grants.flatMap(namedRule)]
}

const namedRule = ({ group, resources, verbs, resourceNames }: Grant): PolicyRule[] =>
  resourceNames ? [{ apiGroups: [group], resources: [...resources], verbs: [...verbs], resourceNames: [...resourceNames] }] : []

const rbac = 'rbac.authorization.k8s.io/v1'
const rbacGroup = 'rbac.authorization.k8s.io'

export const namespaceManifest = (name: string): Manifest => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

export const serviceAccount = (namespace: string, name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
})

export const clusterRole = (name: string, rules: readonly PolicyRule[], labels?: Record<string, string>): Manifest => ({
  apiVersion: rbac,
  kind: 'ClusterRole',
  metadata: { name, ...(labels ? { labels } : {}) },
  rules,
})

/**
 * A role whose rules are those of all ClusterRoles with the label. The control plane writes `rules`; the manifest leaves
 * them out, so that installing it again takes nothing away.
 */
export const aggregatedClusterRole = (name: string, matchLabels: Record<string, string>): Manifest => ({
  apiVersion: rbac,
  kind: 'ClusterRole',
  metadata: { name },
  aggregationRule: { clusterRoleSelectors: [{ matchLabels }] },
})

type Subject = { namespace: string; name: string }
const subjects = ({ namespace, name }: Subject) => [{ kind: 'ServiceAccount', name, namespace }]

export const clusterRoleBinding = (name: string, role: string, subject: Subject): Manifest => ({
  apiVersion: rbac,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
  subjects: subjects(subject),
})

/** A role in one namespace and its binding: leases of an elected process. */
export function leaderElectionRole(name: string, subject: Subject): Manifest[] {
  const metadata = { name, namespace: subject.namespace }
  const rules: PolicyRule[] = [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'] },
  ]
  return [
    { apiVersion: rbac, kind: 'Role', metadata, rules },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbacGroup, kind: 'Role', name },
      subjects: subjects(subject),
    },
  ]
}

/** What every process may do to tell people: events, nothing else. */
export const events: Grant = { group: 'events.k8s.io', resources: ['events'], verbs: ['create', 'patch'] }
