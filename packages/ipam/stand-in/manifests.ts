/** What is installed for the stand-in: the kinds, served by CRD, and its own identity with what it reads and writes. */
import {
  clusterRole,
  clusterRoleBinding,
  crdOf,
  type Manifest,
  namespaceManifest,
  type PolicyRule,
  reading,
  serviceAccount,
} from 'kube-control-loop'
import { IPAllocation, IPClaim, IPClass, IPPool } from '../src/index.ts'

export const standInAccount = { namespace: 'ipam-system', name: 'ipam-stand-in' } as const

const kinds = [IPClass, IPPool, IPAllocation, IPClaim]

const rules: PolicyRule[] = [
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  { apiGroups: [IPClass.group], resources: [IPClass.plural], verbs: [...reading] },
  { apiGroups: [IPPool.group], resources: [IPPool.plural], verbs: [...reading, 'create', 'delete'] },
  { apiGroups: [IPAllocation.group], resources: [IPAllocation.plural], verbs: [...reading, 'create', 'patch', 'delete'] },
  { apiGroups: [IPClaim.group], resources: [IPClaim.plural], verbs: [...reading, 'delete'] },
  {
    apiGroups: [IPClaim.group],
    resources: [IPPool, IPAllocation, IPClaim].map(({ plural }) => `${plural}/status`),
    verbs: ['get', 'patch'],
  },
]

/** CRDs first. */
export function standInManifests(): Manifest[] {
  const { namespace, name } = standInAccount
  return [
    ...kinds.map((kind) => crdOf(kind)),
    namespaceManifest(namespace),
    serviceAccount(namespace, name),
    clusterRole(name, rules),
    clusterRoleBinding(name, name, standInAccount),
  ]
}

/** What a client of the service may do: claims, and what they hold. */
export const clientRules: PolicyRule[] = [
  { apiGroups: [IPClaim.group], resources: [IPClaim.plural], verbs: [...reading, 'create', 'patch', 'delete'] },
  { apiGroups: [IPAllocation.group], resources: [IPAllocation.plural], verbs: [...reading, 'delete'] },
  { apiGroups: [IPClass.group], resources: [IPClass.plural, IPPool.plural], verbs: [...reading] },
]

/** An identity for a client of the service, with its permissions. */
export function clientManifests(account: { namespace: string; name: string }): Manifest[] {
  const role = `ipam-client:${account.name}`
  return [
    serviceAccount(account.namespace, account.name),
    clusterRole(role, clientRules),
    clusterRoleBinding(role, role, account),
  ]
}
