/** Identity and permissions of the stand-in node: those of a CNI plugin and a router, and nothing more. */
import {
  clusterRole,
  clusterRoleBinding,
  type Manifest,
  namespaceManifest,
  type PolicyRule,
  serviceAccount,
} from 'kube-control-loop'

export const standInNodeAccount = { namespace: 'galactic-system', name: 'stand-in-node' } as const

const following = ['get', 'list', 'watch']

const rules: PolicyRule[] = [
  { apiGroups: ['cloud.datumapis.com'], resources: ['vpcattachments'], verbs: following },
  { apiGroups: ['k8s.cni.cncf.io'], resources: ['network-attachment-definitions'], verbs: following },
  {
    apiGroups: ['network.datumapis.com'],
    resources: ['bgpadvertisements', 'bgprouters'],
    verbs: [...following, 'create', 'patch', 'delete'],
  },
  { apiGroups: ['network.datumapis.com'], resources: ['bgpadvertisements/status'], verbs: ['get', 'patch'] },
]

export function standInNodeManifests(): Manifest[] {
  return [
    namespaceManifest(standInNodeAccount.namespace),
    serviceAccount(standInNodeAccount.namespace, standInNodeAccount.name),
    clusterRole('stand-in-node', rules),
    clusterRoleBinding('stand-in-node', 'stand-in-node', standInNodeAccount),
  ]
}
