/**
 * The identity of an attachment (a VPC identifier and an attachment identifier, both base62) and every name that the node
 * side derives from it. Names are computed here and nowhere else, so that a reader and a writer cannot disagree.
 */
import { base62ToHex } from './base62.ts'

/** Both parts in base62, as they stand in status, labels and the CNI configuration. */
export type Identity = { readonly vpc: string; readonly attachment: string }

/** Key of an identity in indexes and reservations. Case matters. */
export function identityKey({ vpc, attachment }: Identity): string {
  return `${vpc}-${attachment}`
}

/**
 * Names under which the node side may publish the BGPAdvertisement of an identity: the hexadecimal form, which is the only
 * one an API server accepts for every identity, then the base62 form of older nodes. A base62 name with a capital cannot exist
 * as an object name (RFC 1123) and is left out; the two forms may be equal.
 */
export function advertisementNames(identity: Identity): readonly string[] {
  const names: string[] = []
  const [vpc, attachment] = [base62ToHex(identity.vpc), base62ToHex(identity.attachment)]
  if (vpc !== undefined && attachment !== undefined) names.push(`${vpc}-${attachment}`)
  const plain = identityKey(identity)
  if (/^[a-z0-9]+-[a-z0-9]+$/.test(plain) && !names.includes(plain)) names.push(plain)
  return names
}

/** Host side of the veth pair or the tap device. Linux: at most 15 characters. */
export function hostInterfaceName({ vpc, attachment }: Identity): string {
  return `G${vpc.padStart(9, '0')}${attachment.padStart(3, '0')}H`
}

/** The VRF device of a VPC on every node that carries one of its attachments. Linux: at most 15 characters. */
export function vrfInterfaceName(vpc: string): string {
  return `G${vpc.padStart(9, '0')}V`
}
