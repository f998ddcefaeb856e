/** Which claim holds an interface. The name stands in spec.claimRef, the uid beside it in an annotation; both move together. */
import { annotations, type NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import type { Key } from 'kube-control-loop'
import { keyFor } from 'kube-control-loop'

export type Holder = { name: string; uid: string | undefined }

export function holderOf(nic: NetworkInterface): Holder | undefined {
  const name = nic.spec.claimRef?.name
  return name === undefined ? undefined : { name, uid: nic.metadata.annotations?.[annotations.claimUid] }
}

/** Key of the claim that holds the interface, whatever incarnation. */
export function holderKeyOf(nic: NetworkInterface): Key | undefined {
  const holder = holderOf(nic)
  return holder && keyFor(holder.name, nic.metadata.namespace)
}

/** Key of the claim in whose name the addresses were first held; the original system's interfaces bear its name. */
export function allocationKeyOf({ metadata }: NetworkInterface): Key {
  return keyFor(metadata.annotations?.[annotations.allocationClaim] ?? metadata.name, metadata.namespace)
}

/**
 * `former`: an earlier claim of the same name, told apart by its uid. An interface that records no uid was bound by the
 * original system, which knows names only: the name decides, and the next pass records the uid.
 */
export type Hold = 'ours' | 'free' | 'former' | 'other'

export function holdOf(nic: NetworkInterface, claim: NetworkInterfaceClaim): Hold {
  const holder = holderOf(nic)
  if (!holder) return 'free'
  if (holder.name !== claim.metadata.name) return 'other'
  return holder.uid === undefined || holder.uid === claim.metadata.uid ? 'ours' : 'former'
}

export function isDeleting(object: { metadata: { deletionTimestamp?: string } }): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

/** Name of the interface that a claim asks for: derived from the claim, so that a crash or a retry finds what was made. */
export function interfaceNameOf(claim: NetworkInterfaceClaim): string {
  return claim.spec.networkInterfaceName ?? claim.metadata.name
}

/** On copies of interfaces that are published elsewhere: another process writes all of them, status included. */
const projectionLabel = 'networking.datumapis.com/network-interface-projection'

export function isProjection(nic: NetworkInterface): boolean {
  return nic.metadata.labels?.[projectionLabel] === 'true'
}
