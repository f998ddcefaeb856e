/** Brings the NetworkAttachmentDefinition of an attachment to what was decided. */
import { apiVersionOf, type JsonPatchOperation, keyOf } from 'kube-control-loop'
import { labels, NetworkAttachmentDefinition, VPCAttachment } from '../api/index.ts'
import { advertisementNames, type Identity, identityKey } from '../identifiers/identity.ts'
import { attachmentSpace, pickIdentifier } from '../identifiers/pick.ts'
import type { Parts } from '../parts.ts'
import { conflist } from './conflist.ts'
import type { SeenAttachment } from './decide.ts'

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

/**
 * Makes the definition. Its labels are the record of the identity, so it is made before the status speaks of it.
 * Crash: the next run finds the identity in the labels.
 */
export async function define(
  parts: Parts,
  attachment: VPCAttachment,
  seen: SeenAttachment,
  identity: Identity,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = attachment.metadata
  const body: NetworkAttachmentDefinition = {
    apiVersion: apiVersionOf(NetworkAttachmentDefinition),
    kind: NetworkAttachmentDefinition.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: labelsOf(identity),
      ownerReferences: [
        {
          apiVersion: apiVersionOf(VPCAttachment),
          kind: VPCAttachment.kind,
          name,
          uid: uid ?? '',
          controller: true,
          blockOwnerDeletion: false,
        },
      ],
    },
    spec: { config: conflist(name, identity, seen.link, parts.settings.systemNamespace) },
  }
  await parts.writers.definition.create(body, signal)
}

/** Changes only what differs, by compare-and-swap; the annotations are the node's and stay. */
export async function redefine(
  parts: Parts,
  attachment: VPCAttachment,
  seen: SeenAttachment,
  identity: Identity,
  signal: AbortSignal,
): Promise<void> {
  const standing = parts.caches.definitions.get(keyOf(attachment))
  if (!standing) return
  const config = conflist(seen.name, identity, seen.link, parts.settings.systemNamespace)
  await parts.writers.definition.patch(standing, changes(standing, labelsOf(identity), config), signal)
}

const labelsOf = ({ vpc, attachment }: Identity) => ({ [labels.vpc]: vpc, [labels.vpcAttachment]: attachment })

function changes(
  { metadata, spec }: NetworkAttachmentDefinition,
  wanted: Record<string, string>,
  config: string,
): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = []
  if (!metadata.labels)
    operations.push({ op: 'test', path: '/metadata/labels', value: null }, { op: 'add', path: '/metadata/labels', value: wanted })
  for (const [label, value] of Object.entries(wanted)) {
    const old = metadata.labels?.[label]
    if (!metadata.labels || old === value) continue
    const path = `/metadata/labels/${label.replaceAll('~', '~0').replaceAll('/', '~1')}`
    operations.push({ op: 'test', path, value: old ?? null }, { op: 'add', path, value })
  }
  if (!spec) operations.push({ op: 'add', path: '/spec', value: { config } })
  else if (spec.config !== config) {
    operations.push(
      { op: 'test', path: '/spec/config', value: spec.config ?? null },
      { op: 'add', path: '/spec/config', value: config },
    )
  }
  return operations
}
