/** What is seen of the network definition that stands under an attachment's name, and what stands in the way there. */
import type { Kind, KubeObject } from 'kube-control-loop'
import type { NetworkAttachmentDefinition } from './network-attachment-definition.ts'

/** Whoever a definition is made for; the definition has its name. */
export type Attachment = Pick<KubeObject, 'kind' | 'metadata'>

export type SeenDefinition = {
  readonly deleting: boolean
  /** Its controller is this very attachment (uid). */
  readonly isOurs: boolean
  /** Who controls it, in words. */
  readonly controlledBy: string
  readonly labels: Readonly<Record<string, string>>
  readonly config: string | undefined
}

/** Takes nothing for granted: anyone may have made the definition. */
export function seeDefinition({ metadata, spec }: NetworkAttachmentDefinition, attachment: Attachment): SeenDefinition {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller)
  return {
    deleting: metadata.deletionTimestamp !== undefined,
    isOurs: isControlledBy({ metadata }, attachment),
    controlledBy: controller ? `${controller.kind} ${controller.name}${sameName(controller, attachment)}` : 'nobody',
    labels: metadata.labels ?? {},
    config: spec?.config,
  }
}

function sameName(controller: { kind: string; name: string; uid: string }, attachment: Attachment): string {
  const { name, uid } = attachment.metadata
  return controller.kind === attachment.kind && controller.name === name && controller.uid !== uid ? ' that was deleted' : ''
}

/** The controller reference names this very attachment: the uid decides, since a name can be taken again. */
export function isControlledBy({ metadata }: Pick<KubeObject, 'metadata'>, attachment: Pick<KubeObject, 'metadata'>): boolean {
  return metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === attachment.metadata.uid) ?? false
}

export type Hindrance = { readonly is: 'unserved' | 'deleting' | 'foreign'; readonly message: string }

/** Why no definition can stand under `name` now, or undefined. A foreign one is never adopted. */
export function hindrance(name: string, served: boolean, definition: SeenDefinition | undefined): Hindrance | undefined {
  if (!served) return { is: 'unserved', message: 'the API server serves no NetworkAttachmentDefinitions' }
  if (definition?.deleting)
    return { is: 'deleting', message: 'an earlier NetworkAttachmentDefinition of this name is being deleted' }
  if (!definition || definition.isOurs) return undefined
  return {
    is: 'foreign',
    message: `NetworkAttachmentDefinition ${name} is not of this attachment: it is controlled by ${definition.controlledBy}`,
  }
}

/** What a definition of ours is to say. */
export type Rendering = { readonly labels: Readonly<Record<string, string>>; readonly config: string }

/** Whether it says that; further labels are of others and stay. */
export function isRendered(definition: SeenDefinition, { labels, config }: Rendering): boolean {
  return definition.config === config && Object.entries(labels).every(([label, value]) => definition.labels[label] === value)
}

/** The kind whose objects definitions are made for. */
export type AttachmentKind = Pick<Kind, 'group' | 'version' | 'kind' | 'plural' | 'scope'>
