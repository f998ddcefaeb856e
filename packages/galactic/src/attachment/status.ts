/** Turns a verdict into the complete intent of the attachment's one status writer: pure. */
import { type AttachmentStatusIntent, attachmentConditions } from '../api/index.ts'
import type { Identity } from '../identifiers/identity.ts'
import type { BlockedReason } from './decide.ts'
import type { NodeReport } from './programmed.ts'

export type Verdict =
  | { readonly ready: true; readonly definition: string }
  | {
      readonly ready: false
      readonly reason: BlockedReason | 'IdentifiersExhausted' | 'DefinitionsForbidden' | 'Detaching'
      readonly message: string
    }

export type Said = {
  readonly generation: number
  readonly verdict: Verdict
  /** Written once: it stands in every intent from the first on, since leaving it out would ask the server to take it back. */
  readonly identity: Identity | undefined
  /** Name of the definition that is this attachment's own, also while it is not (yet) right. */
  readonly definition: string | undefined
  readonly report: NodeReport
}

/** What is reported on an attachment that has no identity yet. */
export const notReported: NodeReport = {
  programmed: { status: 'Unknown', reason: 'AwaitingDataPlane', message: 'the attachment has no identity yet' },
}

export function intentOf({ generation, verdict, identity, definition, report }: Said): AttachmentStatusIntent {
  const { programmed, ...fields } = report
  const { Ready, Programmed } = attachmentConditions
  return {
    observedGeneration: generation,
    ...(identity ? { vpc: identity.vpc, vpcAttachment: identity.attachment } : {}),
    ...(definition === undefined ? {} : { networkAttachmentDefinition: definition }),
    ...fields,
    conditions: [
      verdict.ready
        ? Ready.yes('AttachmentDefinitionReady', `NetworkAttachmentDefinition ${verdict.definition} is ready`, generation)
        : Ready.no(verdict.reason, verdict.message, generation),
      Programmed.reported(programmed.status, programmed.reason, programmed.message, generation),
    ],
  }
}
