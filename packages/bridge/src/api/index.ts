/** The kinds that the bridge controllers serve and write, their conditions, and who writes what. */

export { NetworkAttachmentDefinition } from 'kube-multus'
export { BridgeAttachment } from './bridge-attachment.ts'
export { BridgeNetwork } from './bridge-network.ts'
export { attachmentConditions, conditionsByKind, networkConditions } from './conditions.ts'
export { group, version } from './group.ts'
export {
  type AttachmentStatusIntent,
  finalizer,
  labels,
  managers,
  type NetworkStatusIntent,
  ownership,
  statusOwners,
} from './ownership.ts'
export { reasonTexts } from './reason-texts.ts'
