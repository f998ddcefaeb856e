/** Every condition of this package's kinds with its reasons. An unlisted reason does not compile. */
import { condition, reportedCondition } from 'kube-control-loop'

export const vpcConditions = {
  Ready: condition('Ready', {
    True: ['IdentifierAllocated'],
    False: [],
    Unknown: [],
  }),
} as const

export const attachmentConditions = {
  /** A workload may start with it. */
  Ready: condition('Ready', {
    True: ['AttachmentDefinitionReady'],
    False: [
      'AwaitingVPC',
      'AwaitingVPCIdentifier',
      'IdentifiersExhausted',
      'IdentifierConflict',
      'VPCReplaced',
      'AttachmentDefinitionConflict',
      'AwaitingDefinitionRemoval',
      'DefinitionKindNotServed',
      'DefinitionsForbidden',
      'Detaching',
    ],
    Unknown: [],
  }),
  /** Traffic flows. While an advertisement stands, status, reason and message are those of its condition Advertised. */
  Programmed: reportedCondition(
    'Programmed',
    {
      True: ['Advertised'],
      False: ['AdvertisementWithdrawn'],
      Unknown: ['AwaitingDataPlane'],
    },
    ['True', 'False', 'Unknown'],
  ),
} as const

/** The conditions of each kind, for checks over all of them. */
export const conditionsByKind = { VPC: vpcConditions, VPCAttachment: attachmentConditions } as const
