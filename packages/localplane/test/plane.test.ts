/** What one control plane does for its users. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  applyPatch,
  attachPlane,
  connect,
  kubectl,
  LocalplaneError,
  type PlaneAccess,
  readAudit,
  tailAudit,
} from 'kube-localplane'
import { eventually, sharedPlane, testNamespace } from 'kube-localplane/testing'
import { definition, gizmo } from './gizmo.ts'

let plane: PlaneAccess
before(async () => {
  plane = await sharedPlane()
})

async function userInfo(kubeconfig: string) {
  const connection = await connect(kubeconfig)
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const answer = await connection.must({ method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', body })
  return (answer.status as { userInfo: { username: string; groups: string[] } }).userInfo
}

test('a kind can be created in the moment its definition is applied, and its owner references are collected', async () => {
  const { name: kind, object } = definition()
  await using namespace = await testNamespace(plane, 'gizmos')
  const { newDefinitions } = await plane.apply([object])
  assert.deepEqual(newDefinitions, [object.metadata.name])
  const path = `/apis/${kind.group}/v1/namespaces/${namespace.name}/gizmos`
  const make = (name: string, owners: object[] = []) =>
    plane.connection.must({ method: 'POST', path, body: gizmo({ group: kind.group, name, owners }) })
  const owner = (await make('owner')).metadata as { uid: string }
  await make('owned', [{ apiVersion: `${kind.group}/v1`, kind: 'Gizmo', name: 'owner', uid: owner.uid }])
  await plane.connection.must({ method: 'DELETE', path: `${path}/owner` })
  const isGone = async () => (await plane.connection.request({ path: `${path}/owned` })).status === 404
  await eventually('what it owned is collected', isGone, { timeoutMs: 30_000 })
  assert.deepEqual((await plane.apply([object])).newDefinitions, [], 'it can be repeated')
})

test('manifests arrive in an order that works, whatever their own', async () => {
  const { name: kind, object } = definition()
  const namespace = `late-${crypto.randomUUID().slice(0, 8)}`
  const custom = gizmo({ group: kind.group, name: 'one', namespace })
  await plane.apply([custom, object, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }])
  const stored = await plane.connection.must({ path: `/apis/${kind.group}/v1/namespaces/${namespace}/gizmos/one` })
  assert.equal((stored.metadata as { namespace: string }).namespace, namespace)
  await plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
})

test('what the server refuses is refused with its words', async () => {
  const bad = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'Not A Name', namespace: 'default' } }
  await assert.rejects(() => plane.apply([bad]), {
    code: 'REQUEST_REFUSED',
    message: /was answered 422: .*Not A Name.*Invalid value/,
  })
})

test('a deleted namespace goes away with what is in it', async () => {
  const namespace = await testNamespace(plane, 'going')
  const path = `/api/v1/namespaces/${namespace.name}`
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } }
  await plane.connection.must({ method: 'POST', path: `${path}/configmaps`, body })
  await namespace[Symbol.asyncDispose]()
  await eventually('the namespace is gone', async () => (await plane.connection.request({ path })).status === 404)
})

test('a user has the name and groups that were asked for, and may do what RBAC says', async () => {
  await using namespace = await testNamespace(plane, 'users')
  const kubeconfig = await plane.kubeconfigFor({ user: 'alice', groups: ['dev', `team-${namespace.name}`] })
  const { username, groups } = await userInfo(kubeconfig)
  assert.deepEqual([username, ...groups], ['alice', 'dev', `team-${namespace.name}`, 'system:authenticated'])
  const alice = await connect(kubeconfig)
  const path = `/api/v1/namespaces/${namespace.name}/configmaps`
  assert.equal((await alice.request({ path })).status, 403)
  await plane.apply([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'view', namespace: namespace.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: `team-${namespace.name}` }],
    },
  ])
  await eventually('alice may read', async () => (await alice.request({ path })).status === 200)
})

test('a service account has a token of its own', async () => {
  await using namespace = await testNamespace(plane, 'accounts')
  const serviceAccount = { namespace: namespace.name, name: 'robot' }
  await assert.rejects(() => plane.kubeconfigFor({ serviceAccount }), { code: 'REQUEST_REFUSED', message: /"robot" not found/ })
  await plane.apply([{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: namespace.name } }])
  const { username } = await userInfo(await plane.kubeconfigFor({ serviceAccount }))
  assert.equal(username, `system:serviceaccount:${namespace.name}:robot`)
})

test('a namespace has its default service account', async () => {
  await using namespace = await testNamespace(plane, 'default-account')
  const path = `/api/v1/namespaces/${namespace.name}/serviceaccounts/default`
  await eventually('the account is there', async () => (await plane.connection.request({ path })).status === 200)
})

test('an aggregated role has the rules of its parts when it is applied', async () => {
  const label = `aggregate-${crypto.randomUUID().slice(0, 8)}`
  const role = (name: string, rest: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `${label}-${name}`, labels: name === 'part' ? { [`example.dev/${label}`]: 'true' } : {} },
    ...rest,
  })
  const rules = [{ apiGroups: ['example.dev'], resources: ['gizmos'], verbs: ['get'] }]
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { [`example.dev/${label}`]: 'true' } }] }
  await plane.apply([role('whole', { aggregationRule }), role('part', { rules })])
  const whole = await plane.connection.must({ path: `/apis/rbac.authorization.k8s.io/v1/clusterroles/${label}-whole` })
  assert.deepEqual(whole.rules, rules)
})

test('the audit log has every request that was answered, with who and how', async () => {
  await using namespace = await testNamespace(plane, 'audited')
  const from = await tailAudit(plane)
  const path = `/api/v1/namespaces/${namespace.name}/configmaps/one?fieldManager=by-hand&force=true`
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { a: 'b' } }
  for (let n = 0; n < 20; n++) {
    await plane.connection.must({
      method: 'PATCH',
      path,
      contentType: applyPatch,
      body: { ...body, data: { a: `${n}` } },
      userAgent: 'by-test/1',
    })
  }
  await plane.connection.request({ path: `/api/v1/namespaces/${namespace.name}/configmaps/two` })
  const to = await tailAudit(plane)
  const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
  const mine = entries.filter((entry) => entry.namespace === namespace.name && entry.user === 'admin')
  const applied = mine.filter(({ verb }) => verb === 'patch')
  assert.equal(applied.length, 20)
  assert.partialDeepStrictEqual(applied[0], {
    code: 201,
    resource: 'configmaps',
    name: 'one',
    fieldManager: 'by-hand',
    force: true,
    dryRun: false,
    userAgent: 'by-test/1',
  })
  assert.partialDeepStrictEqual(mine.at(-1), {
    verb: 'get',
    name: 'two',
    code: 404,
    reason: 'NotFound',
    stage: 'ResponseComplete',
  })
})

test('kubectl speaks to this plane', async () => {
  await using namespace = await testNamespace(plane, 'kubectl')
  const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-stdin}\n'
  const applied = await kubectl(plane, ['-n', namespace.name, 'apply', '-f', '-'], manifest)
  assert.deepEqual({ code: applied.code, stdout: applied.stdout }, { code: 0, stdout: 'configmap/from-stdin created\n' })
  const missing = await kubectl(plane, ['-n', namespace.name, 'get', 'configmap', 'none'])
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /"none" not found/)
})

test('another process can use it by its directory', async () => {
  const attached = await attachPlane(plane.dir)
  assert.deepEqual([attached.url, attached.auditLogPath], [plane.url, plane.auditLogPath])
  const namespace = await testNamespace(attached, 'attached')
  assert.equal((await plane.connection.request({ path: `/api/v1/namespaces/${namespace.name}` })).status, 200)
  await namespace[Symbol.asyncDispose]()
  await assert.rejects(
    () => attachPlane('/nonexistent'),
    (error) => error instanceof LocalplaneError && error.code === 'NOT_RUNNING',
  )
})
