/** Makes, changes and removes the network definition of an attachment. */
import {
  apiVersionOf,
  type Cache,
  type ChildWriter,
  type Client,
  type JsonPatchOperation,
  type Kind,
  keyOf,
  type Watch,
} from 'kube-control-loop'
import { type Attachment, type AttachmentKind, isControlledBy, type Rendering } from './definition.ts'
import { NetworkAttachmentDefinition } from './network-attachment-definition.ts'

type Of<K, What> = K extends Kind<infer S, infer T> ? (What extends 'cache' ? Cache<S, T> : ChildWriter<S, T>) : never

export type DefinitionCache = Of<typeof NetworkAttachmentDefinition, 'cache'>
export type DefinitionWriter = Pick<Of<typeof NetworkAttachmentDefinition, 'writer'>, 'create' | 'patch' | 'remove'>

export type Definitions = {
  readonly client: Client
  readonly cache: DefinitionCache
  readonly writer: DefinitionWriter
}

/** Makes the definition, named as the attachment and controlled by it. */
export async function define(
  { writer }: Pick<Definitions, 'writer'>,
  kind: AttachmentKind,
  { metadata: { name, namespace, uid } }: Attachment,
  { labels, config }: Rendering,
  signal: AbortSignal,
): Promise<void> {
  const owner = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name,
    uid: uid ?? '',
    controller: true,
    blockOwnerDeletion: false,
  }
  await writer.create(
    {
      apiVersion: apiVersionOf(NetworkAttachmentDefinition),
      kind: NetworkAttachmentDefinition.kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { ...labels }, ownerReferences: [owner] },
      spec: { config },
    },
    signal,
  )
}

/** Changes only what differs, by compare-and-swap; the annotations are of others and stay. */
export async function redefine(
  { cache, writer }: Pick<Definitions, 'cache' | 'writer'>,
  attachment: Attachment,
  rendering: Rendering,
  signal: AbortSignal,
): Promise<void> {
  const standing = cache.get(keyOf(attachment))
  if (standing) await writer.patch(standing, changes(standing, rendering), signal)
}

function changes({ metadata, spec }: NetworkAttachmentDefinition, { labels, config }: Rendering): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = []
  if (!metadata.labels)
    operations.push({ op: 'test', path: '/metadata/labels', value: null }, { op: 'add', path: '/metadata/labels', value: labels })
  for (const [label, value] of Object.entries(labels)) {
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

/** Deletes the definition if it is of this very attachment. True when a live read has found none of it. */
export async function definitionIsGone(
  { client, cache, writer }: Definitions,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<boolean> {
  // Definitions go with their kind, and what is not served cannot be read.
  if (cache.state === 'unserved') return true
  const cached = cache.get(keyOf(attachment))
  if (cached && isControlledBy(cached, attachment)) {
    if (cached.metadata.deletionTimestamp === undefined) await writer.remove(cached, signal)
  }
  const { name, namespace } = attachment.metadata
  const live = await client.find(NetworkAttachmentDefinition, { name, namespace }, signal)
  if (!live || !isControlledBy(live, attachment)) return true
  cache.absorb(live)
  if (live.metadata.deletionTimestamp === undefined) await writer.remove(live, signal)
  return false
}

/** The kind of definitions goes or comes back: every attachment's has gone with it, or can be made again. */
export function definitionsServed(definitions: Pick<Cache, 'onState'>, attachments: Pick<Cache, 'values'>): Watch {
  return {
    subscribe: (enqueue) =>
      definitions.onState((state) => {
        if (state === 'synced' || state === 'unserved')
          for (const attachment of attachments.values()) enqueue(keyOf(attachment), { urgent: false })
      }),
  }
}
