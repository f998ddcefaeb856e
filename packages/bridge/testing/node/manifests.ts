/** Identity and permissions of the stand-in for kubelet and Multus: what these two have, and nothing more. */
import {
  clusterRole,
  clusterRoleBinding,
  type Manifest,
  namespaceManifest,
  type PolicyRule,
  serviceAccount,
} from 'kube-control-loop'

export const standInKubeletAccount = { namespace: 'stand-in-node', name: 'stand-in-kubelet' } as const

const following = ['get', 'list', 'watch']

const rules: PolicyRule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: [...following, 'delete'] },
  { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] },
  { apiGroups: ['k8s.cni.cncf.io'], resources: ['network-attachment-definitions'], verbs: following },
]

export function standInKubeletManifests(): Manifest[] {
  const { namespace, name } = standInKubeletAccount
  return [
    namespaceManifest(namespace),
    serviceAccount(namespace, name),
    clusterRole(name, rules),
    clusterRoleBinding(name, name, standInKubeletAccount),
  ]
}
