/** The identity that the stand-in for Multus runs as, with no more than Multus needs. */
import { clusterRole, clusterRoleBinding, type Manifest, reading, serviceAccount } from 'kube-control-loop'
import { bridgeAccount } from '../src/account.ts'

export const standInMultusAccount = { namespace: bridgeAccount.namespace, name: 'stand-in-multus' } as const

/** Needs the namespace of the bridge data plane. */
export function standInMultusManifests(): Manifest[] {
  const { namespace, name } = standInMultusAccount
  return [
    serviceAccount(namespace, name),
    clusterRole(name, [
      { apiGroups: [''], resources: ['pods'], verbs: [...reading, 'patch'] },
      { apiGroups: ['k8s.cni.cncf.io'], resources: ['network-attachment-definitions'], verbs: [...reading] },
    ]),
    clusterRoleBinding(name, name, standInMultusAccount),
  ]
}
