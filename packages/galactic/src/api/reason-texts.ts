/**
 * For people on call: what each reason means and what to do about it. A reason without both does not compile, nor does a text
 * for a reason that is not listed.
 */
import type { ReasonText, ReasonTexts } from 'kube-control-loop'
import type { conditionsByKind } from './conditions.ts'

const say = (means: string, remedy: string): ReasonText => ({ means, remedy })

const nothing = 'Nothing.'

const blocked = {
  AwaitingVPC: say('The VPC of spec.vpc does not exist, or is being deleted.', 'Make the VPC, or correct spec.vpc.'),
  AwaitingVPCIdentifier: say('The VPC has no identifier yet.', 'It takes milliseconds. If it stays, see the logs about the VPC.'),
  IdentifiersExhausted: say(
    'No free attachment identifier was found in the VPC.',
    'Delete attachments of the VPC that are not used, or use another VPC.',
  ),
  IdentifierConflict: say(
    'An older attachment has the same identifier; traffic of the two could mix. The message names it.',
    'Delete one of the two attachments and let it be made again.',
  ),
  VPCReplaced: say(
    'The VPC was deleted and made again with another identifier. The attachment keeps the old one.',
    'Delete the attachment and let it be made again.',
  ),
  AttachmentDefinitionConflict: say(
    'A NetworkAttachmentDefinition of this name belongs to somebody else. It is not touched.',
    'Delete or rename that definition.',
  ),
  AwaitingDefinitionRemoval: say(
    'An earlier definition of this name is being deleted.',
    'See which finalizers hold it: metadata.finalizers of the definition.',
  ),
  DefinitionKindNotServed: say('The API server serves no NetworkAttachmentDefinitions.', 'Install the CRD that Multus brings.'),
  DefinitionsForbidden: say(
    'The API server does not let Galactic write NetworkAttachmentDefinitions; the message has its words.',
    'Apply the ClusterRole of its manifests again (config/galactic/rbac). It goes on by itself within some seconds.',
  ),
  Detaching: say(
    'The attachment is being deleted and waits until its node has withdrawn the advertisement, for a limited time.',
    'Nothing. If it lasts, see the node in the message.',
  ),
} as const

export const reasonTexts = {
  VPC: {
    Ready: { True: { IdentifierAllocated: say('The network has its identifier.', nothing) }, False: {}, Unknown: {} },
  },
  VPCAttachment: {
    Ready: {
      True: { AttachmentDefinitionReady: say('The definition stands: a workload may start.', nothing) },
      False: blocked,
      Unknown: {},
    },
    Programmed: {
      True: { Advertised: say('A router advertises the attachment: traffic flows.', nothing) },
      False: {
        AdvertisementWithdrawn: say(
          'The advertisement that stood is gone: no traffic flows.',
          'Normal when the pod ended. Else see the CNI plugin and the router on the node.',
        ),
      },
      Unknown: {
        AwaitingDataPlane: say(
          'No router has reported yet: the pod has not started, or its node does not speak.',
          'See whether the pod started, then the CNI plugin and the router on its node.',
        ),
      },
    },
  },
} as const satisfies ReasonTexts<typeof conditionsByKind>
