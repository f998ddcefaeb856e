/** Who writes what on the kinds of this package. Types of intents, the runtime guard, roles, policies and tests come from it. */
import type { DocumentedOwnership, StatusIntent, StatusOf, StatusOwner } from 'kube-control-loop'
import { definitionOwnership, NetworkAttachmentDefinition } from 'kube-multus'
import { BridgeAttachment } from './bridge-attachment.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { statusTexts } from './status-texts.ts'

/** On networks and attachments; removed by the bridge controllers only, when nothing of them is in use any more. */
export const finalizer = 'bridge.datumapis.com/finalizer'

export const labels = {
  /** On a network definition: name of the bridge device. It tells our definitions from those of others. */
  bridge: 'bridge.datumapis.com/bridge',
} as const

/** Field managers of the bridge controllers. */
export const managers = { network: 'bridge-network', attachment: 'bridge-attachment' } as const

const identity = 'bridge'

export const statusOwners = {
  network: {
    writer: managers.network,
    identity,
    owns: ['observedGeneration', 'bridge', 'conditions/Ready'],
    when: 'when the network gets the name of its bridge',
  },
  attachment: {
    writer: managers.attachment,
    identity,
    owns: ['observedGeneration', 'bridge', 'networkAttachmentDefinition', 'conditions/Ready', 'conditions/Programmed'],
    when: 'when its network definition stands, and when a Pod gets or loses the interface',
  },
} as const satisfies Record<string, StatusOwner>

/** What whoever asks for networks and attachments writes there, and where these controllers put their finalizer. */
const requested = (writer: string, specWhen: string): Pick<DocumentedOwnership, 'metadata' | 'foreign'> => ({
  metadata: [
    ...[
      { path: 'spec', when: specWhen },
      { path: 'metadata.labels', when: 'at any time' },
    ].map((row) => ({ ...row, writer: 'requester', identity: 'requester', source: 'whoever asks for it' })),
    {
      path: `metadata.finalizers/${finalizer}`,
      when: 'in the body at creation, else added before the first write; removed when nothing of it is in use',
      source: 'the bridge controllers: it says that Pods may still use what was made',
      verbs: ['patch'],
      writer,
      identity,
    },
  ],
  foreign: [
    { path: 'metadata.ownerReferences', why: 'the requester’s: the object goes with the one that it was made for' },
    { path: 'metadata.annotations', why: 'the requester’s; the bridge controllers neither read nor write any here' },
  ],
})

export const ownership: readonly DocumentedOwnership[] = [
  {
    kind: BridgeNetwork,
    status: [statusOwners.network],
    texts: statusTexts.network,
    ...requested(managers.network, 'at creation; afterwards ranges may be added'),
  },
  {
    kind: BridgeAttachment,
    status: [statusOwners.attachment],
    texts: statusTexts.attachment,
    ...requested(managers.attachment, 'at any time; the network is fixed'),
  },
  {
    kind: NetworkAttachmentDefinition,
    // Anyone may have definitions of their own; these are told by the label.
    marked: labels.bridge,
    ...definitionOwnership({
      writer: managers.attachment,
      identity,
      of: BridgeAttachment.kind,
      source: 'BridgeAttachment.spec and its BridgeNetwork',
      labels: { [labels.bridge]: 'BridgeNetwork.status.bridge' },
      annotations: 'of others: the bridge controllers neither read nor write any here',
      heldBy: 'of others: the attachment’s own finalizer holds until no Pod uses the definition',
    }),
  },
]

/** Complete intents of the documented writers. */
export type NetworkStatusIntent = StatusIntent<StatusOf<typeof BridgeNetwork>, typeof statusOwners.network>
export type AttachmentStatusIntent = StatusIntent<StatusOf<typeof BridgeAttachment>, typeof statusOwners.attachment>
