/** Small questions about objects, and the labels and owner references that the controllers set. */
import { labels } from '@nso/api'
import { apiVersionOf, type Kind, type KubeObject, type OwnerReference } from 'kube-control-loop'

const longestLabel = 63
const longestName = 253

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

/** Made for exactly this owner: a hand-made object, or one of an earlier owner of the name, is not ours to change. */
export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  const { uid } = owner.metadata
  return uid !== undefined && (object.metadata.ownerReferences ?? []).some((reference) => reference.uid === uid)
}

/** A controller reference that does not hold up the owner's deletion: the finalizers do that, in the right order. */
export function controllerReference(kind: Kind, owner: KubeObject): OwnerReference {
  const { name, uid } = owner.metadata
  if (uid === undefined) throw new TypeError(`${kind.kind} ${name} has no uid: only stored objects own others`)
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid, controller: true, blockOwnerDeletion: false }
}

/** Labels for finding things by; a name that is too long for a label value has none, and its object says it in the spec. */
export function placeLabels(place: {
  network: string
  location: string
  networkUid?: string | undefined
}): Record<string, string> {
  const wanted = { [labels.network]: place.network, [labels.location]: place.location, [labels.networkUid]: place.networkUid }
  return Object.fromEntries(
    Object.entries(wanted).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1].length <= longestLabel,
    ),
  )
}

/** Whether the API server would take the name for its length; names made of valid names are valid otherwise. */
export function isTooLong(name: string): boolean {
  return name.length > longestName
}
