/** What is installed for Galactic: its CRDs, its identity and permissions. And, for local use, the CRDs that others bring. */
import {
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
  rulesFor,
  serviceAccount,
} from 'kube-control-loop'
import { BGPAdvertisement, BGPRouter, NetworkAttachmentDefinition, ownership, VPC, VPCAttachment } from './api/index.ts'

/** The kinds that Galactic serves. */
export const kinds: readonly KindDefinition[] = [VPC, VPCAttachment]

/** Kinds that it reads or writes and that others install: CNI's, and the routers'. */
export const localKinds: readonly KindDefinition[] = [NetworkAttachmentDefinition, BGPAdvertisement, BGPRouter]

/** The identity that Galactic runs as. */
export const galacticAccount = { namespace: 'galactic-system', name: 'galactic' } as const

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
export function galacticManifests(): { crds: Manifest[]; rbac: Manifest[]; local: Manifest[] } {
  return { crds: crds(), rbac: rbac(), local: localCrds() }
}

/** Own files, relative to the folder of Galactic's configuration. */
export function galacticManifestFiles(): ManifestFile[] {
  return [
    ...kinds.map((kind) => ({ path: `crd/${kind.plural}.yaml`, objects: [crd(kind)] })),
    { path: 'rbac/galactic.yaml', objects: rbac() },
  ]
}

/** Files of the CRDs for local use. */
export function localManifestFiles(): ManifestFile[] {
  return localKinds.map((kind) => ({ path: `crd/${kind.plural}.yaml`, objects: [crd(kind)] }))
}
