/** What is installed for NSO: CRDs, its identity and permissions, and the optional admission policy. */
import {
  aboutParameters,
  aggregatedClusterRole,
  clusterRole,
  clusterRoleBinding,
  crdOf,
  eventsGrant,
  type Grant,
  type KindDefinition,
  leaderElectionRole,
  type Manifest,
  type ManifestFile,
  namespaceManifest,
  ownershipOf,
  ownershipParameters,
  ownershipPolicies,
  type PolicyRule,
  reading,
  rulesFor,
  serviceAccount,
} from 'kube-control-loop'
import { nsoAccount, nsoIpamAccount } from './account.ts'
import { enforcement } from './enforcement.ts'
import { AddressLease } from './kinds/address-lease.ts'
import { DataPlane } from './kinds/data-plane.ts'
import { Network } from './kinds/network.ts'
import { NetworkContext } from './kinds/network-context.ts'
import { NetworkInterface } from './kinds/network-interface.ts'
import { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
import { ServingLocation } from './kinds/serving-location.ts'
import { Subnet } from './kinds/subnet.ts'
import { labels } from './names.ts'
import { ownership } from './ownership.ts'
import { claimFinalizerBinding, claimFinalizerPolicy } from './policy.ts'

/** Every kind that NSO serves. */
export const kinds: readonly KindDefinition[] = [
  Network,
  NetworkContext,
  Subnet,
  ServingLocation,
  NetworkInterface,
  NetworkInterfaceClaim,
  AddressLease,
  DataPlane,
]

/** The role that is bound to it, whose rules are those of all ClusterRoles labelled for it. */
export const nsoRole = 'nso'

const aggregate = { [labels.aggregateToNso]: 'true' }

const grants: readonly Grant[] = [
  { group: '', resources: ['namespaces'], verbs: reading },
  { group: 'authorization.k8s.io', resources: ['selfsubjectaccessreviews'], verbs: ['create'] },
  eventsGrant,
  // Kinds of data planes come and go, and permissions on them: both are watched instead of asked for.
  { group: 'apiextensions.k8s.io', resources: ['customresourcedefinitions'], verbs: reading },
  { group: 'rbac.authorization.k8s.io', resources: ['clusterroles'], verbs: reading, resourceNames: [nsoRole] },
]

export const crds = (): Manifest[] => kinds.map((kind) => crdOf(kind, ownershipOf(kind, ownership)))

/** Namespace, account, roles, bindings. The role `nso` gathers every ClusterRole labelled for it: data planes add theirs. */
export const rbac = (): Manifest[] => [
  namespaceManifest(nsoAccount.namespace),
  serviceAccount(nsoAccount.namespace, nsoAccount.name),
  aggregatedClusterRole(nsoRole, aggregate),
  clusterRole('nso-core', rulesFor('nso', ownership, grants), aggregate),
  clusterRoleBinding('nso', nsoRole, nsoAccount),
  ...leaderElectionRole('nso-leader-election', nsoAccount),
]

/** Of an address service's API (`ipam.miloapis.com`): as little as addresses of interfaces and ranges of networks need. */
const ipamRules: PolicyRule[] = [
  { apiGroups: ['ipam.miloapis.com'], resources: ['ipclaims'], verbs: [...reading, 'create', 'patch', 'delete'] },
  // Listed to find what a pass that ended between two deletes has left.
  { apiGroups: ['ipam.miloapis.com'], resources: ['ipallocations'], verbs: ['get', 'list', 'delete'] },
  { apiGroups: ['ipam.miloapis.com'], resources: ['ipclasses'], verbs: ['get'] },
]

/** For the API server of an address service, which may be another cluster: the account whose token NSO's kubeconfig for it has. */
const ipamRbac = (): Manifest[] => [
  namespaceManifest(nsoIpamAccount.namespace),
  serviceAccount(nsoIpamAccount.namespace, nsoIpamAccount.name),
  clusterRole(nsoIpamAccount.name, ipamRules),
  clusterRoleBinding(nsoIpamAccount.name, nsoIpamAccount.name, nsoIpamAccount),
]

/** Optional: after each start of an API server the creates it matches are refused with 503 for some seconds. */
export const policies = (): Manifest[] => [claimFinalizerPolicy, claimFinalizerBinding]

/** Refuse what the ownership table does not allow. Their parameters are apart, since an administrator edits them. */
const ownershipFence = (): Manifest[] => ownershipPolicies(enforcement)

/** All of it, in the order of installation; `ipam` is for the API server of an address service, where there is one. */
export function nsoManifests(): Record<'crds' | 'rbac' | 'ipam' | 'policies' | 'ownership', Manifest[]> {
  return { crds: crds(), rbac: rbac(), ipam: ipamRbac(), policies: policies(), ownership: ownershipFence() }
}

const aboutIpam = ['For the API server of an address service, where NSO takes addresses from one (--ipam-kubeconfig).']

/** The same as files, relative to the folder of NSO's configuration. */
export function nsoManifestFiles(): ManifestFile[] {
  return [
    ...kinds.map((kind, index) => ({ path: `crd/${kind.plural}.yaml`, objects: crds().slice(index, index + 1) })),
    { path: 'rbac/nso.yaml', objects: rbac() },
    { path: 'rbac/ipam-client.yaml', objects: ipamRbac(), about: aboutIpam },
    { path: 'policy/claim-finalizer.yaml', objects: policies() },
    { path: 'policy/ownership.yaml', objects: ownershipFence() },
    { path: 'policy/parameters.yaml', objects: [ownershipParameters(enforcement, 'Deny')], about: aboutParameters },
  ]
}
