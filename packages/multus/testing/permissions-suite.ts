/** What an application may do, asked with its own token after installation of its own manifests and nothing else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clusterRole, clusterRoleBinding, type Manifest, type ManifestFile } from 'kube-control-loop'
import { type AccountName, isWildcarded, permissionsOf, showGrant } from 'kube-control-loop/testing'
import { connect, type Plane, startPlane } from 'kube-localplane'

type Rule = { apiGroups?: string[]; resources?: string[]; verbs?: string[] }

export type PermissionsSuite = {
  readonly account: AccountName & { readonly namespace: string; readonly name: string }
  readonly crds: readonly Manifest[]
  readonly rbac: readonly Manifest[]
  readonly files: readonly ManifestFile[]
  /** Groups whose objects it reads or writes. */
  readonly groups: readonly string[]
  /** One of its own resources. */
  readonly own: { readonly group: string; readonly resource: string }
}

const spread = (rules: readonly Rule[]): string[] =>
  rules
    .flatMap(({ apiGroups = [], resources = [], verbs = [] }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
    )
    .sort()

/** Every account may ask who it is and what it may do. */
const isOfEverybody = (line: string) => /^create (authorization|authentication)\.k8s\.io\/selfsubject/.test(line)

export function testPermissions({ account, crds, rbac, files, groups, own }: PermissionsSuite): void {
  let plane: Plane
  before(async () => {
    plane = await startPlane({ name: `${account.name}-permissions`, controllers: false })
    await plane.apply([...crds, ...rbac] as never)
  })
  after(() => plane?.stop())

  const beyond = (objects: readonly Manifest[]) =>
    permissionsOf([...files, { path: 'planted.yaml', objects }], account)
      .filter((grant) => isWildcarded(grant) || grant.rule.apiGroups?.some((group) => !groups.includes(group)))
      .map(showGrant)

  test('its manifests reach into the groups that it works with, and none is wildcarded', () => {
    assert.deepEqual(beyond([]), [])
  })

  test('a rule on another group, or a wildcard, is named with its source', () => {
    const foreign = { apiGroups: ['foreign.example.dev'], resources: ['things'], verbs: ['get'] }
    const wide = { apiGroups: [own.group], resources: [own.resource], verbs: ['*'] }
    const plant = [clusterRole('more', [foreign, wide]), clusterRoleBinding('more', 'more', account)]
    assert.deepEqual(beyond(plant), [
      'planted.yaml: ClusterRole more rule 0: groups ["foreign.example.dev"], resources ["things"], verbs ["get"]; by ClusterRoleBinding more (planted.yaml)',
      `planted.yaml: ClusterRole more rule 1: groups ["${own.group}"], resources ["${own.resource}"], verbs ["*"]; by ClusterRoleBinding more (planted.yaml)`,
    ])
  })

  test('the API server gives its account that, and nothing else', async () => {
    const connection = await connect(await plane.kubeconfigFor({ serviceAccount: account }))
    try {
      for (const namespace of ['default', account.namespace]) {
        const apiVersion = 'authorization.k8s.io/v1'
        const body = { apiVersion, kind: 'SelfSubjectRulesReview', spec: { namespace } }
        const answer = await connection.must({ method: 'POST', path: `/apis/${apiVersion}/selfsubjectrulesreviews`, body })
        const { resourceRules } = answer.status as { resourceRules: Rule[] }
        const written = permissionsOf([{ path: 'own', objects: rbac }], account)
          .filter((grant) => grant.namespace === undefined || grant.namespace === namespace)
          .map(({ rule }) => rule)
        assert.deepEqual(
          spread(resourceRules).filter((line) => !isOfEverybody(line)),
          spread(written),
          namespace,
        )
      }
    } finally {
      connection.close()
    }
  })
}
