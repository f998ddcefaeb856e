/** What is installed for Galactic: its CRDs, its identity and permissions. And, for local use, the CRDs that others bring. */
import {
  aboutParameters,
  clusterRole,
  clusterRoleBinding,
  crdOf,
  eventsGrant,
  type KindDefinition,
  leaderElectionRole,
  type Manifest,
  type ManifestFile,
  namespaceManifest,
  ownershipOf,
  ownershipParameters,
  ownershipPolicies,
  rulesFor,
  serviceAccount,
} from 'kube-control-loop'
import { galacticAccount } from './account.ts'
import { BGPAdvertisement, BGPRouter, NetworkAttachmentDefinition, ownership, VPC, VPCAttachment } from './api/index.ts'
import { enforcement } from './enforcement.ts'

export { galacticAccount } from './account.ts'
export { enforcement, ownershipProbes } from './enforcement.ts'

/** The kinds that Galactic serves. */
export const kinds: readonly KindDefinition[] = [VPC, VPCAttachment]

/** Kinds that it reads or writes and that others install: CNI's, and the routers'. */
export const localKinds: readonly KindDefinition[] = [NetworkAttachmentDefinition, BGPAdvertisement, BGPRouter]

const crd = (kind: KindDefinition) => crdOf(kind, ownershipOf(kind, ownership))

export const crds = (): Manifest[] => kinds.map(crd)

export const localCrds = (): Manifest[] => localKinds.map(crd)

export const rbac = (): Manifest[] => [
  namespaceManifest(galacticAccount.namespace),
  serviceAccount(galacticAccount.namespace, galacticAccount.name),
  clusterRole('galactic', rulesFor('galactic', ownership, [eventsGrant])),
  clusterRoleBinding('galactic', 'galactic', galacticAccount),
  ...leaderElectionRole('galactic-leader-election', galacticAccount),
]

/** All of it, in the order of installation; `local` only where the node plugins' own CRDs are not installed. */
export function galacticManifests(): { crds: Manifest[]; rbac: Manifest[]; local: Manifest[]; ownership: Manifest[] } {
  return { crds: crds(), rbac: rbac(), local: localCrds(), ownership: ownershipPolicies(enforcement) }
}

/** Own files, relative to the folder of Galactic's configuration. */
export function galacticManifestFiles(): ManifestFile[] {
  return [
    ...kinds.map((kind) => ({ path: `crd/${kind.plural}.yaml`, objects: [crd(kind)] })),
    { path: 'rbac/galactic.yaml', objects: rbac() },
    { path: 'policy/ownership.yaml', objects: ownershipPolicies(enforcement) },
    { path: 'policy/parameters.yaml', objects: [ownershipParameters(enforcement, 'Deny')], about: aboutParameters },
  ]
}

/** Files of the CRDs for local use. */
export function localManifestFiles(): ManifestFile[] {
  return localKinds.map((kind) => ({ path: `crd/${kind.plural}.yaml`, objects: [crd(kind)] }))
}
