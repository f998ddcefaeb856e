/**
 * What NSO and the data planes may do, by all manifests of the repository taken together: each keeps to its side. A rule that
 * breaks this is named with its file, role and binding, also when it arrives through aggregation, a group or a namespace.
 */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { nsoAccount } from '@nso/api'
import { galacticAccount } from 'galactic'
import { standInNodeAccount, standInNodeManifests } from 'galactic/testing'
import { bridgeAccount } from 'kube-bridge'
import { standInMultusAccount, standInMultusManifests } from 'kube-bridge/testing'
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
import { standInAccount, standInManifests } from 'kube-ipam/stand-in'
import { parseAllDocuments } from 'yaml'

const root = path.resolve(import.meta.dirname, '..')
const nsoGroup = 'networking.datumapis.com'
const cniGroup = 'k8s.cni.cncf.io'

async function rendered(): Promise<ManifestFile[]> {
  const files: ManifestFile[] = []
  for await (const file of glob('{config,deploy,examples}/**/*.{yaml,yml,json}', {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  })) {
    const documents = parseAllDocuments(await readFile(path.join(root, file), 'utf8'))
    const objects = documents.map((document) => document.toJS() as Manifest | null).filter((object) => object?.kind !== undefined)
    files.push({ path: file, objects: objects as Manifest[] })
  }
  return [
    ...files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    { path: 'stand-in node', objects: standInNodeManifests() },
    { path: 'stand-in for Multus', objects: standInMultusManifests() },
    { path: 'stand-in for the address service', objects: standInManifests() },
  ]
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

/** Identities of the data planes, those of the examples as their manifests make them. */
const dataPlanes = [
  { title: 'Galactic', account: galacticAccount, group: 'cloud.datumapis.com', attachments: 'vpcattachments' },
  { title: 'Bridge', account: bridgeAccount, group: 'bridge.datumapis.com', attachments: 'bridgeattachments' },
  {
    ...{ title: 'the example in TypeScript', account: { namespace: 'wires-system', name: 'wires' } },
    ...{ group: 'wires.example.dev', attachments: 'wires' },
  },
  {
    ...{ title: 'the example without our code', account: { namespace: 'cables-system', name: 'cables' } },
    ...{ group: 'cables.example.dev', attachments: 'cables' },
  },
] as const

/** A verb beyond reading on something of another data plane. */
const writesOf =
  (group: string) =>
  ({ rule: { apiGroups = [], verbs = [] } }: GrantedRule): boolean =>
    apiGroups.some((each) => dataPlanes.some((other) => other.group === each && each !== group)) &&
    verbs.some((verb) => verb === '*' || writing.includes(verb))

const expectations: Expectation[] = [
  ...dataPlanes.flatMap(({ title, account, group }): Expectation[] => [
    { says: `${title} holds no verb on NSO’s group`, account, breaks: (grant) => touchesGroup(grant, nsoGroup) },
    { says: `${title} holds no wildcard`, account, breaks: isWildcarded },
    { says: `${title} cannot become somebody else`, account, breaks: escalates },
    { says: `${title} writes nothing of another data plane`, account, breaks: writesOf(group) },
  ]),
  {
    says: 'Bridge reads Pods, and writes none',
    account: bridgeAccount,
    breaks: (grant) => writing.some((verb) => allows(grant, { group: '', resource: 'pods', verb })),
  },
  {
    says: 'the stand-in for Multus holds no verb on NSO’s group',
    account: standInMultusAccount,
    breaks: (grant) => touchesGroup(grant, nsoGroup),
  },
  {
    says: 'the node that stands in holds no verb on NSO’s group',
    account: standInNodeAccount,
    breaks: (grant) => touchesGroup(grant, nsoGroup),
  },
  {
    says: 'the stand-in for the address service holds no verb on NSO’s group',
    account: standInAccount,
    breaks: (grant) => touchesGroup(grant, nsoGroup),
  },
  {
    says: 'the stand-in for the address service makes no claims: they are made in a caller’s name',
    account: standInAccount,
    breaks: (grant) => allows(grant, { group: 'ipam.miloapis.com', resource: 'ipclaims', verb: 'create' }),
  },
  { says: 'the stand-in for the address service cannot become somebody else', account: standInAccount, breaks: escalates },
  { says: 'NSO holds no wildcard', account: nsoAccount, breaks: isWildcarded },
  { says: 'NSO cannot become somebody else', account: nsoAccount, breaks: escalates },
  { says: 'NSO cannot write the status of a data plane', account: nsoAccount, breaks: writesForeignStatus },
  { says: 'NSO holds no verb on network definitions', account: nsoAccount, breaks: (grant) => touchesGroup(grant, cniGroup) },
  {
    says: 'NSO holds no verb on Pods',
    account: nsoAccount,
    breaks: (grant) => allows(grant, { group: '', resource: 'pods', verb: 'get' }),
  },
]

const broken = ({ account, breaks }: Expectation, files: readonly ManifestFile[]) =>
  permissionsOf(files, account).filter(breaks).map(showGrant)

for (const expectation of expectations) {
  test(expectation.says, () => assert.deepEqual(broken(expectation, manifests), []))
}

test('the manifests give each of them what it works with, so that these tests look at something', () => {
  const may = (account: AccountName, group: string, resource: string, verb: string) =>
    permissionsOf(manifests, account).some((grant) => allows(grant, { group, resource, verb }))
  for (const { account, group, attachments, title } of dataPlanes) {
    assert.ok(may(account, group, `${attachments}/status`, 'patch'), title)
    // Through the role that its manifest in deploy/data-planes, or beside the example, adds.
    assert.ok(may(nsoAccount, group, attachments, 'create'), title)
  }
  for (const account of [galacticAccount, bridgeAccount])
    assert.ok(may(account, cniGroup, 'network-attachment-definitions', 'create'))
  assert.ok(may(bridgeAccount, '', 'pods', 'watch'))
  assert.ok(may(nsoAccount, nsoGroup, 'networkinterfaceclaims/status', 'patch'))
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
    says: 'a get on NSO’s group, bound to an example',
    breaks: 'the example without our code holds no verb on NSO’s group',
    plant: planted(reader, clusterRoleBinding('planted', 'reader', { namespace: 'cables-system', name: 'cables' })),
    named: `planted.yaml: ClusterRole reader rule 0: groups ["${nsoGroup}"], resources ["networkinterfaceclaims"], verbs ["get"]; by ClusterRoleBinding planted (planted.yaml)`,
  },
  {
    says: 'Galactic’s attachments, for the bridge',
    breaks: 'Bridge writes nothing of another data plane',
    plant: planted(
      clusterRole('wide', [rule('cloud.datumapis.com', 'vpcattachments/status', 'patch')]),
      clusterRoleBinding('planted', 'wide', bridgeAccount),
    ),
    named:
      'planted.yaml: ClusterRole wide rule 0: groups ["cloud.datumapis.com"], resources ["vpcattachments/status"], verbs ["patch"]; by ClusterRoleBinding planted (planted.yaml)',
  },
  {
    says: 'Pods, for the bridge to write',
    breaks: 'Bridge reads Pods, and writes none',
    plant: planted(clusterRole('wide', [rule('', 'pods', 'patch')]), clusterRoleBinding('planted', 'wide', bridgeAccount)),
    named:
      'planted.yaml: ClusterRole wide rule 0: groups [""], resources ["pods"], verbs ["patch"]; by ClusterRoleBinding planted (planted.yaml)',
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
