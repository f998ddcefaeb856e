/** Turns a verdict into the complete intent of the attachment's one status writer: pure. */
import { type AttachmentStatusIntent, attachmentConditions } from '../api/index.ts'
import type { BlockedReason } from './decide.ts'
import type { Programmed } from './programmed.ts'

export type Verdict =
  | { readonly ready: true }
  | {
      readonly ready: false
      readonly reason: BlockedReason | 'DefinitionsForbidden' | 'Detaching'
      readonly message: string
    }

export type Said = {
  readonly generation: number
  readonly verdict: Verdict
  /** Written once: it stands in every intent from the first on, since leaving it out would ask the server to take it back. */
  readonly bridge: string | undefined
  /** Name of the definition that is this attachment's own, also while it is not (yet) right. */
  readonly definition: string | undefined
  readonly programmed: Programmed
}

export function intentOf({ generation, verdict, bridge, definition, programmed }: Said): AttachmentStatusIntent {
  const { Ready, Programmed } = attachmentConditions
  const { message } = programmed
  return {
    observedGeneration: generation,
    ...(bridge === undefined ? {} : { bridge }),
    ...(definition === undefined ? {} : { networkAttachmentDefinition: definition }),
    conditions: [
      verdict.ready
        ? Ready.yes('DefinitionReady', 'the NetworkAttachmentDefinition of this name stands', generation)
        : Ready.no(verdict.reason, verdict.message, generation),
      programmed.status === 'True'
        ? Programmed.yes(programmed.reason, message, generation)
        : programmed.status === 'False'
          ? Programmed.no(programmed.reason, message, generation)
          : Programmed.unknown(programmed.reason, message, generation),
    ],
  }
}
