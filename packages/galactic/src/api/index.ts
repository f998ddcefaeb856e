/** The kinds that Galactic serves and reads, their conditions, and who writes what. */

export { NetworkAttachmentDefinition } from 'kube-multus'
export { attachmentConditions, conditionsByKind, vpcConditions } from './conditions.ts'
export { type AttachmentMode, attachmentModes, group, routingGroup, routingVersion, version } from './group.ts'
export {
  type AttachmentStatusIntent,
  annotations,
  finalizer,
  labels,
  managers,
  ownership,
  statusOwners,
  type VPCAttachmentStatus,
  type VPCStatus,
  type VPCStatusIntent,
} from './ownership.ts'
export { reasonTexts } from './reason-texts.ts'
export { BGPAdvertisement, BGPRouter } from './routing.ts'
export { VPC } from './vpc.ts'
export { VPCAttachment } from './vpc-attachment.ts'
