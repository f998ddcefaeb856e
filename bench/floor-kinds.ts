/**
 * The floor's kinds: the chain's own kinds under groups that nobody follows. On the same API server they cost what the real
 * ones cost (same schemas, same store, same admission policy), and neither NSO nor Galactic hears of them.
 */
import { AddressLease, NetworkInterface, NetworkInterfaceClaim, nsoManifests } from '@nso/api'
import { BGPAdvertisement, NetworkAttachmentDefinition, VPCAttachment } from 'galactic/api'
import { galacticManifests } from 'galactic/manifests'
import type { Kind } from 'kube-control-loop'
import type { KubeObject as Manifest } from 'kube-localplane'

const chainKinds = {
  claim: NetworkInterfaceClaim,
  lease: AddressLease,
  interface: NetworkInterface,
  attachment: VPCAttachment,
  definition: NetworkAttachmentDefinition,
  advertisement: BGPAdvertisement,
} as const

export type Role = keyof typeof chainKinds

export const roles = Object.keys(chainKinds) as Role[]

export const realKind = (role: Role): Kind => chainKinds[role]

/** Replaces the API groups in any text by ones of the same length, so that bodies keep their size. */
export function inFloorGroups(text: string): string {
  return text.replaceAll('datumapis.com', 'floor.example').replaceAll('k8s.cni.cncf.io', 'cni.floor.tests')
}

export function floorKind(role: Role): Kind {
  const { version, kind, plural, scope, group } = realKind(role)
  return { version, kind, plural, scope, group: inFloorGroups(group) }
}

/** Definitions of the floor's kinds, and the policy that adds a claim's finalizer (where `withPolicy`). */
export function floorManifests(withPolicy: boolean): Manifest[] {
  const nso = nsoManifests()
  const galactic = galacticManifests()
  const wanted = new Set(roles.map((role) => `${realKind(role).plural}.${realKind(role).group}`))
  const crds = [...nso.crds, ...galactic.crds, ...galactic.local].filter(({ metadata }) => wanted.has(metadata.name))
  const copied = JSON.parse(inFloorGroups(JSON.stringify([...crds, ...(withPolicy ? nso.policies : [])]))) as Manifest[]
  return copied.map((manifest) => (manifest.kind.startsWith('MutatingAdmission') ? renamed(manifest) : manifest))
}

/** Policies have no group in their names. */
function renamed(manifest: Manifest): Manifest {
  const name = `floor-${manifest.metadata.name}`
  const spec = manifest.spec as { policyName?: string }
  return {
    ...manifest,
    metadata: { ...manifest.metadata, name },
    spec: spec.policyName === undefined ? spec : { ...spec, policyName: name },
  }
}
