/** Chooses the identity of an attachment, whose record is its NetworkAttachmentDefinition. */
import { advertisementNames, type Identity, identityKey } from '../identifiers/identity.ts'
import { attachmentSpace, pickIdentifier } from '../identifiers/pick.ts'
import type { Parts } from '../parts.ts'

/**
 * The identity to use: the one decided, else a free attachment identifier, reserved until the definition that records it is
 * seen. Undefined: the VPC has none left.
 */
export function chooseIdentity(parts: Parts, uid: string, vpc: string, decided: string | undefined): Identity | undefined {
  const { reservations } = parts
  if (decided !== undefined) return { vpc, attachment: decided }
  const taken = (id: string) => isTaken(parts, uid, { vpc, attachment: id })
  const held = reservations.held(uid, vpc)
  // Another leader may have given it out since it was reserved.
  const attachment = held !== undefined && !taken(held) ? held : pickIdentifier(attachmentSpace, parts.random, taken)
  if (attachment === undefined) return undefined
  reservations.reserve(uid, vpc, attachment)
  return { vpc, attachment }
}

/**
 * Taken: given out (in a status, in a definition's labels, or being written), or still advertised by a node that has not let go
 * of an earlier attachment. Asked by every name that the node side derives, so that no two attachments share one of those.
 */
function isTaken({ caches, reservations, settings }: Parts, uid: string, identity: Identity): boolean {
  const key = identityKey(identity)
  return (
    reservations.isTaken(identity.vpc, identity.attachment, uid) ||
    caches.definitions.by('identity', key).length > 0 ||
    caches.attachments.by('identity', key).length > 0 ||
    advertisementNames(identity).some(
      (name) =>
        caches.attachments.by('advertisement', name).length > 0 ||
        caches.definitions.by('advertisement', name).length > 0 ||
        caches.advertisements.get(`${settings.systemNamespace}/${name}`) !== undefined,
    )
  )
}
