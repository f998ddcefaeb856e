/** What to do about a living attachment: a pure function of what was seen. Tear-down is release.ts. */
import { hindrance, isRendered, type Rendering, type SeenDefinition } from 'kube-multus'
import { labels } from '../api/index.ts'
import type { Identity } from '../identifiers/identity.ts'
import { conflist, type Link } from './conflist.ts'

export type SeenAttachment = {
  readonly name: string
  readonly uid: string
  readonly vpcName: string
  readonly link: Link
  /** Identity in the status: written once, so it never changes. */
  readonly recorded: Identity | undefined
}

export type SeenVpc = { readonly id: string | undefined; readonly deleting: boolean }

export type Seen = {
  readonly attachment: SeenAttachment
  readonly vpc: SeenVpc | undefined
  /** False: the API server does not serve NetworkAttachmentDefinitions, so there can be none. */
  readonly definitionsServed: boolean
  readonly definition: SeenDefinition | undefined
  /** An older attachment that has the same identity: `namespace/name`. */
  readonly olderHolder: (identity: Identity) => string | undefined
}

export type BlockedReason =
  | 'AwaitingVPC'
  | 'AwaitingVPCIdentifier'
  | 'AwaitingDefinitionRemoval'
  | 'DefinitionKindNotServed'
  | 'AttachmentDefinitionConflict'
  | 'IdentifierConflict'
  | 'VPCReplaced'

export type Decision =
  /** Nothing can be done before something watched changes. */
  | { do: 'block'; reason: BlockedReason; message: string }
  /** Make the definition; with no attachment identifier, choose one first. */
  | { do: 'define'; vpc: string; attachment: string | undefined }
  /** Bring its text and labels to these; with no attachment identifier, choose another one first. */
  | { do: 'redefine'; vpc: string; attachment: string | undefined }
  | { do: 'keep'; identity: Identity }

const reasonOf = {
  unserved: 'DefinitionKindNotServed',
  deleting: 'AwaitingDefinitionRemoval',
  foreign: 'AttachmentDefinitionConflict',
} as const satisfies Record<string, BlockedReason>

const block = (reason: BlockedReason, message: string): Decision => ({ do: 'block', reason, message })

export function decide(seen: Seen, systemNamespace: string): Decision {
  const { attachment, vpc, definition } = seen
  const vpcId = usableVpc(attachment, vpc)
  if (typeof vpcId !== 'string') return vpcId
  const hindered = hindrance(attachment.name, seen.definitionsServed, definition)
  if (hindered) return block(reasonOf[hindered.is], hindered.message)
  const identity = attachment.recorded ?? labelled(definition, vpcId)
  const older = identity && seen.olderHolder(identity)
  if (identity && older !== undefined && attachment.recorded) {
    return block(
      'IdentifierConflict',
      `attachment identifier ${identity.attachment} of VPC ${identity.vpc} is also held by the older ${older}`,
    )
  }
  const chosen = older === undefined ? identity?.attachment : undefined
  if (!definition) return { do: 'define', vpc: vpcId, attachment: chosen }
  const right = identity && chosen !== undefined && isRendered(definition, renderingOf(attachment, identity, systemNamespace))
  return right ? { do: 'keep', identity } : { do: 'redefine', vpc: vpcId, attachment: chosen }
}

/** What the definition of an attachment is to say. */
export function renderingOf(
  { name, link }: Pick<SeenAttachment, 'name' | 'link'>,
  identity: Identity,
  systemNamespace: string,
): Rendering {
  return {
    labels: { [labels.vpc]: identity.vpc, [labels.vpcAttachment]: identity.attachment },
    config: conflist(name, identity, link, systemNamespace),
  }
}

/** The VPC's identifier, or why there is none to use. An attachment that has its identity is not disturbed by a VPC that waits to go. */
function usableVpc({ vpcName, recorded }: SeenAttachment, vpc: SeenVpc | undefined): string | Decision {
  if (!vpc) return block('AwaitingVPC', `VPC ${vpcName} does not exist`)
  if (vpc.deleting && !recorded) return block('AwaitingVPC', `VPC ${vpcName} is being deleted and takes no new attachment`)
  if (vpc.id === undefined) return block('AwaitingVPCIdentifier', `VPC ${vpcName} has no identifier yet`)
  if (recorded && recorded.vpc !== vpc.id) {
    return block('VPCReplaced', `this attachment belongs to VPC identifier ${recorded.vpc}, VPC ${vpcName} has ${vpc.id}`)
  }
  return vpc.id
}

function labelled(definition: SeenDefinition | undefined, vpcId: string): Identity | undefined {
  const attachment = definition?.labels[labels.vpcAttachment]
  return attachment !== undefined && definition?.labels[labels.vpc] === vpcId ? { vpc: vpcId, attachment } : undefined
}

/** Whether `a` is the older of two holders of one identity; ties go by uid, so that both see the same. */
export function isOlder(a: { createdAt: string; uid: string }, b: { createdAt: string; uid: string }): boolean {
  return a.createdAt === b.createdAt ? a.uid < b.uid : a.createdAt < b.createdAt
}
