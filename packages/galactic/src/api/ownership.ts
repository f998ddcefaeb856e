/** Who writes what on the kinds of this package. Types of intents, the runtime guard, roles, descriptions and tests come from it. */
import {
  type DocumentedOwnership,
  gatheringManagers,
  type MetadataOwner,
  type StatusIntent,
  type StatusOf,
  type StatusOwner,
} from 'kube-control-loop'
import { definitionOwnership, NetworkAttachmentDefinition } from 'kube-multus'
import { BGPAdvertisement, BGPRouter } from './routing.ts'
import { statusTexts } from './status-texts.ts'
import { VPC } from './vpc.ts'
import { VPCAttachment } from './vpc-attachment.ts'

/** On VPCs and attachments; removed by Galactic only, when nothing of it is in use any more. */
export const finalizer = 'cloud.datumapis.com/finalizer'

/** Labels of a network definition: the record of the identifiers it was made with. */
export const labels = {
  vpc: 'cloud.datumapis.com/vpc',
  vpcAttachment: 'cloud.datumapis.com/vpc-attachment',
} as const

export const annotations = {
  /** On a network definition, by the node's CNI plugin: device on the side of the node. */
  hostInterface: 'k8s.v1.cni.cncf.io/host-interface',
} as const

/** Field managers of Galactic. */
export const managers = { vpc: 'galactic-vpc', attachment: 'galactic-vpcattachment' } as const

const galactic = 'galactic'

/** The controller that was here before sends no field manager; its binary is called `vpc-controller`. */
const formerly = ['vpc-controller', ''] as const

/**
 * Managers whose `Update` entries on these kinds are of earlier software: names of its binaries, and what the API server takes
 * from the user agent of a client that names no manager. And those of the server, where it has gathered what that software held.
 */
export const legacyManagers = ['vpc-controller', 'manager', ...gatheringManagers] as const

export const statusOwners = {
  vpc: {
    writer: managers.vpc,
    identity: galactic,
    formerly,
    owns: ['observedGeneration', 'vpc', 'conditions/Ready'],
    when: 'when the network gets its identifier',
  },
  attachment: {
    writer: managers.attachment,
    identity: galactic,
    formerly,
    owns: [
      'observedGeneration',
      'vpc',
      'vpcAttachment',
      'networkAttachmentDefinition',
      'node',
      'hostInterface',
      'vrfInterface',
      'podSubnet',
      'conditions/Ready',
      'conditions/Programmed',
    ],
    when: 'when its network definition stands, and when a router starts or ends to advertise it',
  },
} as const satisfies Record<string, StatusOwner>

/** Owners that Galactic reads and is none of. */
export const routerOwners = {
  advertisement: {
    writer: 'router',
    identity: 'router',
    owns: ['observedGeneration', 'advertisedPrefixes', 'conditions/*'],
    when: 'when the router takes or leaves it',
  },
  router: {
    writer: 'router',
    identity: 'router',
    owns: ['observedGeneration', 'phase', 'peers', 'roles', 'conditions/*'],
    when: 'as its sessions come and go',
  },
} as const satisfies Record<string, StatusOwner>

type Documented = DocumentedOwnership['metadata'][number]

const byGalactic = (
  writer: string,
  path: string,
  when: string,
  source: string,
  verbs: NonNullable<MetadataOwner['verbs']>,
): Documented => ({
  path,
  writer,
  identity: galactic,
  formerly,
  when,
  source,
  verbs,
})
const byOther = (identity: string, path: string, when: string, source: string): Documented => ({
  path,
  writer: identity,
  identity,
  when,
  source,
})
const finalizerPath = `metadata.finalizers/${finalizer}`
const finalizerWhen = 'in the body at creation, else added before the first write; removed when nothing of it is in use'
const finalizerSource = 'Galactic: it says that identifiers may still be in use on nodes'
const requester = 'whoever asks for the network or the attachment'
const annotationsWhy = 'the requester’s; Galactic neither reads nor writes any here'

const definitionOwner = definitionOwnership({
  writer: managers.attachment,
  identity: galactic,
  formerly,
  of: VPCAttachment.kind,
  source: 'VPCAttachment.spec and both identifiers',
  labels: {
    [labels.vpc]: 'VPC.status.vpc',
    [labels.vpcAttachment]: 'a free identifier; this label is the record of it',
  },
  heldBy: 'of others: Galactic puts none here, since the attachment’s own holds until its node has let go',
})

export const ownership: readonly DocumentedOwnership[] = [
  {
    kind: VPC,
    legacy: legacyManagers,
    status: [statusOwners.vpc],
    texts: statusTexts.vpc,
    metadata: [
      byOther('requester', 'spec', 'at creation; fixed afterwards', requester),
      byOther('requester', 'metadata.labels', 'at any time', requester),
      byGalactic(managers.vpc, finalizerPath, finalizerWhen, finalizerSource, ['patch']),
    ],
    foreign: [
      { path: 'metadata.ownerReferences', why: 'the requester’s: the VPC goes with the object that it was made for' },
      { path: 'metadata.annotations', why: annotationsWhy },
    ],
  },
  {
    kind: VPCAttachment,
    legacy: legacyManagers,
    status: [statusOwners.attachment],
    texts: statusTexts.attachment,
    metadata: [
      byOther('requester', 'spec', 'at any time', requester),
      byOther('requester', 'metadata.labels', 'at any time', requester),
      byGalactic(managers.attachment, finalizerPath, finalizerWhen, finalizerSource, ['patch']),
    ],
    reserved: [
      { path: 'containerID', why: 'only the node knows the sandbox, and it reports nothing here' },
      { path: 'podName', why: 'only the node knows the pod, and it reports nothing here' },
      { path: 'guestInterface', why: 'only the node knows the device, and it reports nothing here' },
      { path: 'egress', why: 'egress is not built' },
    ],
    foreign: [
      { path: 'metadata.ownerReferences', why: 'the requester’s: the attachment goes with the object that it was made for' },
      { path: 'metadata.annotations', why: annotationsWhy },
    ],
  },
  {
    kind: NetworkAttachmentDefinition,
    // Anyone may have definitions of their own; these are told by the label.
    marked: labels.vpcAttachment,
    legacy: legacyManagers,
    ...definitionOwner,
    metadata: [
      ...definitionOwner.metadata,
      byOther('node', `metadata.annotations/${annotations.hostInterface}`, 'when a pod is attached', 'the node’s CNI plugin'),
    ],
  },
  {
    kind: BGPAdvertisement,
    status: [routerOwners.advertisement],
    texts: statusTexts.advertisement,
    metadata: [byOther('node', 'spec', 'when a pod is attached', 'the node’s CNI plugin')],
  },
  {
    kind: BGPRouter,
    status: [routerOwners.router],
    texts: statusTexts.router,
    metadata: [byOther('administrator', 'spec', 'when a node joins', 'whoever runs the nodes')],
  },
]

export type VPCStatus = StatusOf<typeof VPC>
export type VPCAttachmentStatus = StatusOf<typeof VPCAttachment>

/** Complete intents of the documented writers. */
export type VPCStatusIntent = StatusIntent<StatusOf<typeof VPC>, typeof statusOwners.vpc>
export type AttachmentStatusIntent = StatusIntent<StatusOf<typeof VPCAttachment>, typeof statusOwners.attachment>
