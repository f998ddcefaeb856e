/**
 * What NSO and Galactic may do, by all manifests of the repository taken together: each keeps to its side. A rule that breaks
 * this is named with its file, role and binding, also when it arrives through aggregation, a group or a namespace.
 */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { nsoAccount } from '@nso/api'
import { galacticAccount } from 'galactic'
import { standInNodeAccount, standInNodeManifests } from 'galactic/testing'
import { clusterRole, clusterRoleBinding, type Manifest, type ManifestFile, type PolicyRule } from 'kube-control-loop'
import {
  type AccountName,
  allows,
  escalates,
  type GrantedRule,
  isWildcarded,
  permissionsOf,
  showGrant,
  touchesGroup,
} from 'kube-control-loop/testing'
import { parseAllDocuments } from 'yaml'

const root = path.resolve(import.meta.dirname, '..')
const nsoGroup = 'networking.datumapis.com'
const cniGroup = 'k8s.cni.cncf.io'

async function rendered(): Promise<ManifestFile[]> {
  const files: ManifestFile[] = []
  for await (const file of glob('{config,deploy}/**/*.{yaml,yml,json}', { cwd: root })) {
    const documents = parseAllDocuments(await readFile(path.join(root, file), 'utf8'))
    const objects = documents.map((document) => document.toJS() as Manifest | null).filter((object) => object?.kind !== undefined)
    files.push({ path: file, objects: objects as Manifest[] })
  }
  return [...files.sort((a, b) => (a.path < b.path ? -1 : 1)), { path: 'stand-in node', objects: standInNodeManifests() }]
}

const manifests = await rendered()

type Expectation = { says: string; account: AccountName; breaks(grant: GrantedRule): boolean }

const writing = ['create', 'update', 'patch', 'delete', 'deletecollection']

/** A status outside NSO's group, of whatever kind: patched, updated, or written by a rule for all subresources. */
function writesForeignStatus(grant: GrantedRule): boolean {
  const { apiGroups = [], resources = [], verbs = [] } = grant.rule
  return (
    apiGroups.some((group) => group !== nsoGroup) &&
    resources.some((resource) => resource === '*' || resource.endsWith('/status')) &&
    verbs.some((verb) => verb === '*' || writing.includes(verb))
  )
}

const expectations: Expectation[] = [
  { says: 'Galactic holds no verb on NSO’s group', account: galacticAccount, breaks: (grant) => touchesGroup(grant, nsoGroup) },
  { says: 'Galactic holds no wildcard', account: galacticAccount, breaks: isWildcarded },
  { says: 'Galactic cannot become somebody else', account: galacticAccount, breaks: escalates },
  {
    says: 'the node that stands in holds no verb on NSO’s group',
    account: standInNodeAccount,
    breaks: (grant) => touchesGroup(grant, nsoGroup),
  },
  { says: 'NSO holds no wildcard', account: nsoAccount, breaks: isWildcarded },
  { says: 'NSO cannot become somebody else', account: nsoAccount, breaks: escalates },
  { says: 'NSO cannot write the status of a data plane', account: nsoAccount, breaks: writesForeignStatus },
  { says: 'NSO holds no verb on network definitions', account: nsoAccount, breaks: (grant) => touchesGroup(grant, cniGroup) },
]

const broken = ({ account, breaks }: Expectation, files: readonly ManifestFile[]) =>
  permissionsOf(files, account).filter(breaks).map(showGrant)

for (const expectation of expectations) {
  test(expectation.says, () => assert.deepEqual(broken(expectation, manifests), []))
}

test('the manifests give each of them what it works with, so that these tests look at something', () => {
  const may = (account: AccountName, group: string, resource: string, verb: string) =>
    permissionsOf(manifests, account).some((grant) => allows(grant, { group, resource, verb }))
  assert.ok(may(galacticAccount, 'cloud.datumapis.com', 'vpcattachments/status', 'patch'))
  assert.ok(may(galacticAccount, cniGroup, 'network-attachment-definitions', 'create'))
  assert.ok(may(nsoAccount, nsoGroup, 'networkinterfaceclaims/status', 'patch'))
  // Through the role that deploy/data-planes adds.
  assert.ok(may(nsoAccount, 'cloud.datumapis.com', 'vpcattachments', 'create'))
})

const rule = (group: string, resource: string, ...verbs: string[]): PolicyRule => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
})

const label = { 'networking.datumapis.com/aggregate-to-nso': 'true' }
const planted = (...objects: Manifest[]): ManifestFile => ({ path: 'planted.yaml', objects })
const groupBinding = (group: string, role: string, namespace?: string): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding',
  metadata: { name: 'planted', ...(namespace ? { namespace } : {}) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
})
const reader = clusterRole('reader', [rule(nsoGroup, 'networkinterfaceclaims', 'get')])

type Plant = { says: string; breaks: string; plant: ManifestFile; named: string }

const plants: Plant[] = [
  {
    says: 'a get on NSO’s group, bound to Galactic',
    breaks: 'Galactic holds no verb on NSO’s group',
    plant: planted(reader, clusterRoleBinding('planted', 'reader', galacticAccount)),
    named: `planted.yaml: ClusterRole reader rule 0: groups ["${nsoGroup}"], resources ["networkinterfaceclaims"], verbs ["get"]; by ClusterRoleBinding planted (planted.yaml)`,
  },
  {
    says: 'the same for all service accounts, in one namespace',
    breaks: 'Galactic holds no verb on NSO’s group',
    plant: planted(reader, groupBinding('system:serviceaccounts', 'reader', 'default')),
    named: `planted.yaml: ClusterRole reader rule 0: groups ["${nsoGroup}"], resources ["networkinterfaceclaims"], verbs ["get"] in namespace default; by RoleBinding planted (planted.yaml)`,
  },
  {
    says: 'NSO’s own role, for everybody with a name',
    breaks: 'Galactic holds no verb on NSO’s group',
    plant: planted(groupBinding('system:authenticated', 'nso')),
    named: `config/nso/rbac/nso.yaml: ClusterRole nso-core rule 0: groups ["${nsoGroup}"], resources ["networkinterfaceclaims","networks","dataplanes"], verbs ["get","list","watch","patch"]; by ClusterRole nso, ClusterRoleBinding planted (planted.yaml)`,
  },
  {
    says: 'a wildcard in a group that Galactic has',
    breaks: 'Galactic holds no wildcard',
    plant: planted(
      clusterRole('wide', [rule('cloud.datumapis.com', '*/status', 'patch')]),
      clusterRoleBinding('planted', 'wide', galacticAccount),
    ),
    named:
      'planted.yaml: ClusterRole wide rule 0: groups ["cloud.datumapis.com"], resources ["*/status"], verbs ["patch"]; by ClusterRoleBinding planted (planted.yaml)',
  },
  {
    says: 'a data plane’s status, in a role that aggregates to NSO',
    breaks: 'NSO cannot write the status of a data plane',
    plant: planted(clusterRole('joint', [rule('cloud.datumapis.com', 'vpcattachments/status', 'patch')], label)),
    named:
      'planted.yaml: ClusterRole joint rule 0: groups ["cloud.datumapis.com"], resources ["vpcattachments/status"], verbs ["patch"]; by ClusterRole nso, ClusterRoleBinding nso (config/nso/rbac/nso.yaml)',
  },
  {
    says: 'network definitions, in a role that aggregates to NSO',
    breaks: 'NSO holds no verb on network definitions',
    plant: planted(clusterRole('joint', [rule(cniGroup, 'network-attachment-definitions', 'get')], label)),
    named: `planted.yaml: ClusterRole joint rule 0: groups ["${cniGroup}"], resources ["network-attachment-definitions"], verbs ["get"]; by ClusterRole nso, ClusterRoleBinding nso (config/nso/rbac/nso.yaml)`,
  },
  {
    says: 'another’s token, in a role that aggregates to NSO',
    breaks: 'NSO cannot become somebody else',
    plant: planted(clusterRole('joint', [rule('', 'serviceaccounts/token', 'create')], label)),
    named:
      'planted.yaml: ClusterRole joint rule 0: groups [""], resources ["serviceaccounts/token"], verbs ["create"]; by ClusterRole nso, ClusterRoleBinding nso (config/nso/rbac/nso.yaml)',
  },
]

for (const { says, breaks, plant, named } of plants) {
  test(`planted: ${says}`, () => {
    const expectation = expectations.find((one) => one.says === breaks)
    assert.ok(expectation)
    assert.equal(broken(expectation, [...manifests, plant])[0], named)
  })
}
