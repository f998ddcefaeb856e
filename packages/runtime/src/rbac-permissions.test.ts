import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest, ManifestFile } from './manifest.ts'
import { aggregatedClusterRole, clusterRole, clusterRoleBinding, type PolicyRule, serviceAccount } from './rbac.ts'
import { allows, escalates, isWildcarded, permissionsOf, showGrant, touchesGroup } from './rbac-permissions.ts'

const account = { namespace: 'here', name: 'app' }
const rule = (group: string, resources: string[], verbs: string[]): PolicyRule => ({ apiGroups: [group], resources, verbs })
const own = clusterRole('app', [rule('own.dev', ['things'], ['get'])])
const base: ManifestFile = {
  path: 'app.yaml',
  objects: [serviceAccount('here', 'app'), own, clusterRoleBinding('app', 'app', account)],
}
const shown = (...objects: Manifest[]) => permissionsOf([base, { path: 'planted.yaml', objects }], account).map(showGrant)
const ownShown =
  'app.yaml: ClusterRole app rule 0: groups ["own.dev"], resources ["things"], verbs ["get"]; by ClusterRoleBinding app (app.yaml)'

const bound = (subject: object, roleRef: object, namespace?: string): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding',
  metadata: { name: 'planted', ...(namespace ? { namespace } : {}) },
  roleRef,
  subjects: [subject],
})
const spy = clusterRole('spy', [rule('own.dev', ['things'], ['get']), rule('foreign.dev', ['secrets'], ['list'])])
const spyRef = { kind: 'ClusterRole', name: 'spy' }
const planted = (through: string, where = '') =>
  `planted.yaml: ClusterRole spy rule 1: groups ["foreign.dev"], resources ["secrets"], verbs ["list"]${where}; by ${through}`

test('its own role, with file, role, index and binding', () => {
  assert.deepEqual(shown(), [ownShown])
})

const subjects: { says: string; subject: object; meant: boolean }[] = [
  { says: 'the account', subject: { kind: 'ServiceAccount', ...account }, meant: true },
  {
    says: 'an account of that name elsewhere',
    subject: { kind: 'ServiceAccount', namespace: 'there', name: 'app' },
    meant: false,
  },
  { says: 'its user name', subject: { kind: 'User', name: 'system:serviceaccount:here:app' }, meant: true },
  { says: 'a user of its name', subject: { kind: 'User', name: 'app' }, meant: false },
  { says: 'all accounts', subject: { kind: 'Group', name: 'system:serviceaccounts' }, meant: true },
  { says: 'all accounts of its namespace', subject: { kind: 'Group', name: 'system:serviceaccounts:here' }, meant: true },
  { says: 'all accounts of another namespace', subject: { kind: 'Group', name: 'system:serviceaccounts:there' }, meant: false },
  { says: 'everybody with a name', subject: { kind: 'Group', name: 'system:authenticated' }, meant: true },
  { says: 'everybody without one', subject: { kind: 'Group', name: 'system:unauthenticated' }, meant: true },
  { says: 'administrators', subject: { kind: 'Group', name: 'system:masters' }, meant: false },
]

for (const { says, subject, meant } of subjects) {
  test(`a binding to ${says} ${meant ? 'counts' : 'does not count'}`, () => {
    const found = shown(spy, bound(subject, spyRef)).filter((line) => line.includes('foreign.dev'))
    assert.deepEqual(found, meant ? [planted('ClusterRoleBinding planted (planted.yaml)')] : [])
  })
}

test('a role binding gives the role in its namespace, and names an account of that namespace without saying so', () => {
  const found = shown(spy, bound({ kind: 'ServiceAccount', name: 'app' }, spyRef, 'here'))
  assert.deepEqual(found.slice(2), [planted('RoleBinding planted (planted.yaml)', ' in namespace here')])
})

test('a Role is found in the namespace of its binding, not in another', () => {
  const role = (namespace: string, group: string): Manifest => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'local', namespace },
    rules: [rule(group, ['things'], ['get'])],
  })
  const binding = bound({ kind: 'ServiceAccount', ...account }, { kind: 'Role', name: 'local' }, 'there')
  const found = permissionsOf(
    [{ path: 'x.yaml', objects: [role('here', 'wrong.dev'), role('there', 'right.dev'), binding] }],
    account,
  )
  assert.deepEqual(
    found.map(({ rule, namespace }) => [rule.apiGroups, namespace]),
    [[['right.dev'], 'there']],
  )
})

test('aggregated roles are gathered through several levels, in whatever files, and a circle ends', () => {
  const gather = (name: string, label: string, labels: Record<string, string> = {}): Manifest => ({
    ...aggregatedClusterRole(name, { [label]: 'true' }),
    metadata: { name, labels },
  })
  const files: ManifestFile[] = [
    { path: 'a.yaml', objects: [gather('top', 'to-top', { 'to-middle': 'true' }), clusterRoleBinding('app', 'top', account)] },
    { path: 'b.yaml', objects: [gather('middle', 'to-middle', { 'to-top': 'true' })] },
    { path: 'c.yaml', objects: [clusterRole('leaf', [rule('foreign.dev', ['things'], ['get'])], { 'to-middle': 'true' })] },
    { path: 'd.yaml', objects: [clusterRole('other', [rule('other.dev', ['things'], ['get'])], { 'to-middle': 'false' })] },
  ]
  assert.deepEqual(permissionsOf(files, account).map(showGrant), [
    'c.yaml: ClusterRole leaf rule 0: groups ["foreign.dev"], resources ["things"], verbs ["get"]; by ClusterRole middle, ClusterRole top, ClusterRoleBinding app (a.yaml)',
  ])
})

test('selectors by expression', () => {
  const gathers = (operator: string, values?: string[]) => {
    const top = {
      ...clusterRole('top', []),
      aggregationRule: {
        clusterRoleSelectors: [{ matchExpressions: [{ key: 'part', operator, ...(values ? { values } : {}) }] }],
      },
    }
    const leaf = (name: string, labels: Record<string, string>) => clusterRole(name, [rule(name, ['things'], ['get'])], labels)
    const objects = [
      top,
      leaf('a', { part: 'a' }),
      leaf('b', { part: 'b' }),
      leaf('none', {}),
      clusterRoleBinding('x', 'top', account),
    ]
    return permissionsOf([{ path: 'x.yaml', objects }], account).flatMap(({ rule }) => rule.apiGroups ?? [])
  }
  assert.deepEqual(gathers('In', ['a']), ['a'])
  assert.deepEqual(gathers('NotIn', ['a']), ['b', 'none'])
  assert.deepEqual(gathers('Exists'), ['a', 'b'])
  assert.deepEqual(gathers('DoesNotExist'), ['none'])
})

test('a role that stands in no manifest counts as everything', () => {
  const [, found] = shown(bound({ kind: 'Group', name: 'system:serviceaccounts' }, { kind: 'ClusterRole', name: 'view' }))
  assert.equal(
    found,
    'in no manifest: ClusterRole view rule 0: groups ["*"], resources ["*"], verbs ["*"]; by ClusterRoleBinding planted (planted.yaml)',
  )
})

test('a list of objects is looked into', () => {
  const list = {
    apiVersion: 'v1',
    kind: 'List',
    metadata: { name: '' },
    items: [spy, bound({ kind: 'ServiceAccount', ...account }, spyRef)],
  }
  assert.equal(shown(list).length, 3)
})

const grant = (rule: object) => ({ rule, namespace: undefined, source: { file: '', role: '', index: 0 }, through: [] })
const things = grant(rule('own.dev', ['things', '*/status'], ['get', 'patch']))

test('what a rule allows', () => {
  const may = (resource: string, verb: string, group = 'own.dev') => allows(things, { group, resource, verb })
  assert.deepEqual([may('things', 'get'), may('others/status', 'patch')], [true, true])
  assert.deepEqual(
    [may('others', 'get'), may('things/scale', 'get'), may('things', 'list'), may('things', 'get', '')],
    [false, false, false, false],
  )
  const everything = grant(rule('*', ['*'], ['*']))
  assert.equal(allows(everything, { group: 'any.dev', resource: 'any/status', verb: 'delete' }), true)
  assert.deepEqual(
    [touchesGroup(things, 'own.dev'), touchesGroup(things, 'other.dev'), touchesGroup(everything, 'other.dev')],
    [true, false, true],
  )
})

test('wildcards are found wherever they stand', () => {
  const plain = rule('own.dev', ['things'], ['get'])
  assert.equal(isWildcarded(grant(plain)), false)
  for (const part of [{ apiGroups: ['*'] }, { resources: ['*'] }, { resources: ['*/status'] }, { verbs: ['*'] }])
    assert.equal(isWildcarded(grant({ ...plain, ...part })), true, JSON.stringify(part))
  assert.equal(isWildcarded(grant({ nonResourceURLs: ['/metrics/*'], verbs: ['get'] })), true)
})

test('ways to become somebody else are found', () => {
  const ways = [
    rule('', ['users'], ['impersonate']),
    rule('', ['serviceaccounts/token'], ['create']),
    rule('', ['secrets'], ['list']),
    rule('rbac.authorization.k8s.io', ['clusterroles'], ['bind']),
    rule('rbac.authorization.k8s.io', ['rolebindings'], ['create']),
  ]
  for (const way of ways) assert.equal(escalates(grant(way)), true, JSON.stringify(way))
  const reads = { ...rule('rbac.authorization.k8s.io', ['clusterroles'], ['get', 'list', 'watch']), resourceNames: ['app'] }
  for (const plain of [reads, rule('own.dev', ['things'], ['get', 'create'])])
    assert.equal(escalates(grant(plain)), false, JSON.stringify(plain))
})
