/** What Galactic may do, asked with its own token after installation of its own manifests and nothing else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clusterRole, clusterRoleBinding, type Manifest } from 'kube-control-loop'
import { isWildcarded, permissionsOf, showGrant } from 'kube-control-loop/testing'
import { connect, type Plane, startPlane } from 'kube-localplane'
import { ownership } from '../src/api/index.ts'
import { galacticAccount, galacticManifestFiles, galacticManifests } from '../src/manifests.ts'

let plane: Plane
before(async () => {
  plane = await startPlane({ name: 'galactic-permissions', controllers: false })
  const { crds, rbac } = galacticManifests()
  await plane.apply([...crds, ...rbac] as never)
})
after(() => plane.stop())

type Rule = { apiGroups?: string[]; resources?: string[]; verbs?: string[] }

/** Groups whose objects it reads or writes, those of its table; events; and leases, to be elected. */
const groups = [...new Set(ownership.map(({ kind }) => kind.group)), 'events.k8s.io', 'coordination.k8s.io'].sort()

const beyond = (objects: readonly Manifest[]) =>
  permissionsOf([...galacticManifestFiles(), { path: 'planted.yaml', objects }], galacticAccount)
    .filter((grant) => isWildcarded(grant) || grant.rule.apiGroups?.some((group) => !groups.includes(group)))
    .map(showGrant)

test('its manifests reach into the groups of its own table, and none is wildcarded', () => {
  assert.deepEqual(beyond([]), [])
})

test('a rule on another group, or a wildcard, is named with its source', () => {
  const foreign = { apiGroups: ['foreign.example.dev'], resources: ['things'], verbs: ['get'] }
  const wide = { apiGroups: ['cloud.datumapis.com'], resources: ['vpcs'], verbs: ['*'] }
  const plant = [clusterRole('more', [foreign, wide]), clusterRoleBinding('more', 'more', galacticAccount)]
  assert.deepEqual(beyond(plant), [
    'planted.yaml: ClusterRole more rule 0: groups ["foreign.example.dev"], resources ["things"], verbs ["get"]; by ClusterRoleBinding more (planted.yaml)',
    'planted.yaml: ClusterRole more rule 1: groups ["cloud.datumapis.com"], resources ["vpcs"], verbs ["*"]; by ClusterRoleBinding more (planted.yaml)',
  ])
})

const spread = (rules: readonly Rule[]): string[] =>
  rules
    .flatMap(({ apiGroups = [], resources = [], verbs = [] }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
    )
    .sort()

/** Every account may ask who it is and what it may do. */
const isOfEverybody = (line: string) => /^create (authorization|authentication)\.k8s\.io\/selfsubject/.test(line)

test('the API server gives its account that, and nothing else', async () => {
  const connection = await connect(await plane.kubeconfigFor({ serviceAccount: galacticAccount }))
  try {
    for (const namespace of ['default', galacticAccount.namespace]) {
      const apiVersion = 'authorization.k8s.io/v1'
      const body = { apiVersion, kind: 'SelfSubjectRulesReview', spec: { namespace } }
      const answer = await connection.must({ method: 'POST', path: `/apis/${apiVersion}/selfsubjectrulesreviews`, body })
      const { resourceRules } = answer.status as { resourceRules: Rule[] }
      const written = permissionsOf([{ path: 'galactic', objects: galacticManifests().rbac }], galacticAccount)
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
