/**
 * What a service account may do by a set of manifests, before any server has seen them: bindings to it, to its user name and
 * to the groups that every account is in; roles, aggregation resolved. Each rule keeps where it was written, so that a test can name
 * the offending one. On the strict side: a role that no manifest holds counts as one that allows everything.
 * Source: rbac.authorization.k8s.io/v1; groups of an account: KEP-1205 and the authentication documentation.
 */
import type { Manifest, ManifestFile } from './manifest.ts'
import type { PolicyRule } from './rbac.ts'

export type AccountName = { readonly namespace: string; readonly name: string }

/** A rule as manifests have it: those on paths outside the API carry `nonResourceURLs` and no groups. */
export type WrittenRule = Partial<PolicyRule> & { nonResourceURLs?: string[] }

export type GrantedRule = {
  readonly rule: WrittenRule
  /** Where the rule counts; undefined: everywhere. */
  readonly namespace: string | undefined
  /** The role in whose manifest it stands. */
  readonly source: { readonly file: string; readonly role: string; readonly index: number }
  /** Roles that gather it, innermost first, then the binding with its file. */
  readonly through: readonly string[]
}

/** What may be asked of the API server; `resource` with its subresource, as in `pods/log`. */
export type Access = { readonly group: string; readonly resource: string; readonly verb: string }

type Placed = { file: string; object: Manifest }
type Subject = { kind: string; name: string; namespace?: string }
type RoleRef = { kind: string; name: string }
type Selector = {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

const rbacApi = /^rbac\.authorization\.k8s\.io\//

/** Every rule that holds for the account, in the order of the manifests. */
export function permissionsOf(files: readonly ManifestFile[], account: AccountName): GrantedRule[] {
  const objects = files.flatMap(({ path, objects }) => objects.flatMap((object) => unpacked(path, object)))
  const rbac = objects.filter(({ object }) => rbacApi.test(object.apiVersion))
  return rbac
    .filter(({ object }) => object.kind === 'ClusterRoleBinding' || object.kind === 'RoleBinding')
    .filter(({ object }) => subjectsOf(object).some((subject) => isMeant(subject, account, object.metadata.namespace)))
    .flatMap((binding) => rulesOfBinding(rbac, binding))
}

/** A rule with its source, in one line. */
export function showGrant({ rule, namespace, source, through }: GrantedRule): string {
  const list = (name: string, values: readonly string[] | undefined) => (values ? [`${name} ${JSON.stringify(values)}`] : [])
  const what = [
    ...list('groups', rule.apiGroups),
    ...list('resources', rule.resources),
    ...list('named', rule.resourceNames),
    ...list('paths', rule.nonResourceURLs),
    ...list('verbs', rule.verbs),
  ].join(', ')
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  return `${source.file}: ${source.role} rule ${source.index}: ${what}${where}; by ${through.join(', ')}`
}

const isAny = (values: readonly string[] = [], wanted: string) => values.includes('*') || values.includes(wanted)

/** Whether the rule allows it on some object; a rule on named objects counts too. */
export function allows({ rule }: GrantedRule, { group, resource, verb }: Access): boolean {
  const subresource = resource.split('/')[1]
  const isResource =
    isAny(rule.resources, resource) || (subresource !== undefined && rule.resources?.includes(`*/${subresource}`))
  return isAny(rule.apiGroups, group) && isResource === true && isAny(rule.verbs, verb)
}

/** Whether a rule reaches into a group, with whatever verb and resource. */
export const touchesGroup = ({ rule }: GrantedRule, group: string): boolean => isAny(rule.apiGroups, group)

/** Whether any part of it stands for more than it names. */
export function isWildcarded({ rule }: GrantedRule): boolean {
  const { apiGroups = [], resources = [], verbs = [], nonResourceURLs = [] } = rule
  return [...apiGroups, ...resources, ...verbs, ...nonResourceURLs].some((value) => value.includes('*'))
}

/** Ways to become somebody else, or to be given more than is written here. */
export function escalates(grant: GrantedRule): boolean {
  const { verbs = [] } = grant.rule
  const writing = ['create', 'update', 'patch', 'delete', 'deletecollection', '*']
  return (
    isWildcarded(grant) ||
    verbs.some((verb) => ['impersonate', 'bind', 'escalate'].includes(verb)) ||
    allows(grant, { group: '', resource: 'serviceaccounts/token', verb: 'create' }) ||
    ['get', 'list', 'watch'].some((verb) => allows(grant, { group: '', resource: 'secrets', verb })) ||
    (touchesGroup(grant, 'rbac.authorization.k8s.io') && verbs.some((verb) => writing.includes(verb)))
  )
}

/** Lists (`v1 List`, `ClusterRoleList`) are looked into. */
function unpacked(file: string, object: Manifest): Placed[] {
  const items = object.kind.endsWith('List') && Array.isArray(object.items) ? (object.items as Manifest[]) : undefined
  return items ? items.flatMap((item) => unpacked(file, item)) : [{ file, object }]
}

const subjectsOf = ({ subjects }: Manifest): Subject[] => (Array.isArray(subjects) ? subjects : [])

function isMeant(subject: Subject, { namespace, name }: AccountName, bindingNamespace: string | undefined): boolean {
  const groups = [
    'system:serviceaccounts',
    `system:serviceaccounts:${namespace}`,
    'system:authenticated',
    // What anybody may, it may too.
    'system:unauthenticated',
  ]
  switch (subject.kind) {
    case 'ServiceAccount':
      return subject.name === name && (subject.namespace ?? bindingNamespace) === namespace
    case 'User':
      return [`system:serviceaccount:${namespace}:${name}`, 'system:anonymous', '*'].includes(subject.name)
    case 'Group':
      return groups.includes(subject.name)
    default:
      return false
  }
}

function rulesOfBinding(rbac: readonly Placed[], { file, object }: Placed): GrantedRule[] {
  const binding = `${object.kind} ${object.metadata.name} (${file})`
  const namespace = object.kind === 'RoleBinding' ? object.metadata.namespace : undefined
  const { kind, name } = object.roleRef as RoleRef
  const role = rbac.find(
    (one) =>
      one.object.kind === kind &&
      one.object.metadata.name === name &&
      (kind === 'ClusterRole' || one.object.metadata.namespace === namespace),
  )
  if (role) return rulesOfRole(rbac, role, []).map((found) => ({ ...found, namespace, through: [...found.through, binding] }))
  const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }
  const source = { file: 'in no manifest', role: `${kind} ${name}`, index: 0 }
  return [{ rule: everything, namespace, source, through: [binding] }]
}

type RoleRule = Pick<GrantedRule, 'rule' | 'source' | 'through'>

/** Own rules, and those of the roles that it gathers; what an aggregating manifest says itself holds until it is overwritten. */
function rulesOfRole(rbac: readonly Placed[], { file, object }: Placed, above: readonly Manifest[]): RoleRule[] {
  const role = `${object.kind} ${object.metadata.name}`
  const own = ((object.rules as WrittenRule[] | undefined) ?? []).map(
    (rule, index): RoleRule => ({ rule, source: { file, role, index }, through: [] }),
  )
  const selectors = (object.aggregationRule as { clusterRoleSelectors?: Selector[] } | undefined)?.clusterRoleSelectors ?? []
  const gathered = rbac
    .filter((one) => one.object.kind === 'ClusterRole' && one.object !== object && !above.includes(one.object))
    .filter((one) => selectors.some((selector) => isSelected(selector, one.object.metadata.labels ?? {})))
    .flatMap((one) => rulesOfRole(rbac, one, [...above, object]))
    .map((found) => ({ ...found, through: [...found.through, role] }))
  return [...own, ...gathered]
}

function isSelected({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        case 'DoesNotExist':
          return value === undefined
        default:
          throw new Error(`a selector with operator ${operator} selects nothing that could be told`)
      }
    })
  )
}
