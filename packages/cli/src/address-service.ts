/**
 * Where NSO's addresses come from: from itself, or from an address service, of which only a stand-in runs here. The stand-in keeps
 * what it holds on the same control plane, as a process and an identity of its own.
 */
import { labels, nsoManifests } from '@nso/api'
import { clusterRole, clusterRoleBinding, type Manifest, serviceAccount } from 'kube-control-loop'
import { IPAllocation, IPClaim, IPClass, IPPool } from 'kube-ipam'
import { alphaPools, standInAccount, standInManifests } from 'kube-ipam/stand-in'
import type { ApiConnection } from 'kube-localplane'
import { Explained } from './failure.ts'
import type { Account } from './identities.ts'

export type AddressSource = 'builtin' | 'ipam'

/** Whoever looks after the address service by hand. */
export const serviceAdministrator: Account = { namespace: standInAccount.namespace, name: 'ipam-administrator' }

export const standInService = {
  title: 'the stand-in for an address service',
  account: standInAccount,
  main: 'kube-ipam/stand-in/main',
} as const

/** Project and namespace there of everything that is asked for here. */
export const project = 'alpha'

/** What NSO is told of the service. */
export const ipamFlags = (kubeconfig: string): string[] => [
  ...['--ipam-kubeconfig', kubeconfig],
  ...['--ipam-network-class', 'datum-network-v6', '--ipam-subnet-class', 'datum-subnet-v6'],
]

/** On a namespace here: which project it belongs to, and the namespace there. */
export const projectLabels = (namespace: string): Record<string, string> => ({
  [labels.upstreamCluster]: `cluster-_${project}`,
  [labels.upstreamNamespace]: namespace,
})

function administratorManifests(): Manifest[] {
  const { name } = serviceAdministrator
  const all = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']
  return [
    serviceAccount(serviceAdministrator.namespace, name),
    clusterRole(name, [
      {
        apiGroups: [IPClaim.group],
        resources: [IPClass, IPPool, IPAllocation, IPClaim].map(({ plural }) => plural),
        verbs: all,
      },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
    ]),
    clusterRoleBinding(name, name, serviceAdministrator),
  ]
}

/** Everything that the stand-in and its two callers need: NSO's permissions are those that it has at a real service. */
export const serviceManifests = (): Manifest[] => [
  ...standInManifests(),
  ...nsoManifests().ipam,
  ...administratorManifests(),
  ...alphaPools(),
]

/** Its kinds served by somebody else are somebody's real addresses: classes and pools to play with do not belong there. */
export async function requireNoOtherService(connection: ApiConnection): Promise<void> {
  const path = `/apis/apiregistration.k8s.io/v1/apiservices/${IPClaim.version}.${IPClaim.group}`
  const { status, body } = await connection.request({ path })
  const { spec } = (status === 200 ? body : {}) as { spec?: { service?: { name: string; namespace: string } } }
  if (spec?.service)
    throw new Explained(
      `This cluster has an address service already (${spec.service.namespace}/${spec.service.name}), and --addresses ipam runs a stand-in for one. ` +
        'Nothing was installed. Use a local control plane, or run NSO yourself with --ipam-kubeconfig.',
    )
}
