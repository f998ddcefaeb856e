/** What is installed for the bridge data plane: CRDs, identity, permissions. And, for places without Multus, the CRD that it brings. */
import {
  aboutParameters,
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
  reading,
  rulesFor,
  serviceAccount,
} from 'kube-control-loop'
import { bridgeAccount } from './account.ts'
import { BridgeAttachment, BridgeNetwork, NetworkAttachmentDefinition, ownership } from './api/index.ts'
import { enforcement } from './enforcement.ts'

export { bridgeAccount } from './account.ts'
export { enforcement, ownershipProbes } from './enforcement.ts'

/** The kinds that the bridge data plane serves. */
export const kinds: readonly KindDefinition[] = [BridgeNetwork, BridgeAttachment]

/** The kind that it writes and that Multus brings. */
export const localKinds: readonly KindDefinition[] = [NetworkAttachmentDefinition]

const crdFile = (kind: KindDefinition): ManifestFile => ({
  path: `crd/${kind.plural}.yaml`,
  objects: [crdOf(kind, ownershipOf(kind, ownership))],
})
const objectsOf = (files: readonly ManifestFile[]): Manifest[] => files.flatMap(({ objects }) => objects)

/** Multus reports on Pods. They are read, and never written. */
const podsGrant: Grant = { group: '', resources: ['pods'], verbs: reading }

export const rbac = (): Manifest[] => [
  namespaceManifest(bridgeAccount.namespace),
  serviceAccount(bridgeAccount.namespace, bridgeAccount.name),
  clusterRole('bridge', rulesFor('bridge', ownership, [podsGrant, eventsGrant])),
  clusterRoleBinding('bridge', 'bridge', bridgeAccount),
  ...leaderElectionRole('bridge-leader-election', bridgeAccount),
]

/** Own files, relative to the folder of the bridge data plane’s configuration. */
export function bridgeManifestFiles(): ManifestFile[] {
  return [
    ...kinds.map(crdFile),
    { path: 'rbac/bridge.yaml', objects: rbac() },
    { path: 'policy/ownership.yaml', objects: ownershipPolicies(enforcement) },
    { path: 'policy/parameters.yaml', objects: [ownershipParameters(enforcement, 'Deny')], about: aboutParameters },
  ]
}

/** All of it, in the order of installation; `local` only where Multus’ own CRD is not installed. */
export function bridgeManifests(): { crds: Manifest[]; rbac: Manifest[]; local: Manifest[]; ownership: Manifest[] } {
  return {
    crds: objectsOf(kinds.map(crdFile)),
    rbac: rbac(),
    local: objectsOf(localKinds.map(crdFile)),
    ownership: ownershipPolicies(enforcement),
  }
}
