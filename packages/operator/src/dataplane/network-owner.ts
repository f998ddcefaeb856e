/** Whose the object under a network context's name is. */
import type { NetworkContext } from '@nso/api'
import { type KubeObject, keyOf } from 'kube-control-loop'

/** `going`: of an earlier context, which its owner reference collects, or being deleted. */
export type NetworkObjectOwner = { is: 'ours' } | { is: 'going'; says: string } | { is: 'foreign'; message: string }

/** Pure. */
export function ownerOfNetworkObject(stored: KubeObject, { kind, metadata }: NetworkContext): NetworkObjectOwner {
  const owner = stored.metadata.ownerReferences?.find((reference) => reference.controller)
  if (owner && owner.uid === metadata.uid) return { is: 'ours' }
  const says = `${stored.kind} ${keyOf(stored)}`
  const isEarlier = owner?.kind === kind && owner.name === metadata.name
  if (isEarlier || stored.metadata.deletionTimestamp) return { is: 'going', says }
  return { is: 'foreign', message: `${says} exists and is not this context’s: it is not taken over` }
}
