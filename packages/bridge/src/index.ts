/** The bridge data plane, for programs that run it in process or install it. */
export {
  type AttachmentStatusIntent,
  attachmentConditions,
  BridgeAttachment,
  BridgeNetwork,
  conditionsByKind,
  finalizer,
  group,
  labels,
  managers,
  NetworkAttachmentDefinition,
  type NetworkStatusIntent,
  networkConditions,
  ownership,
  statusOwners,
  version,
} from './api/index.ts'
export { type Bridge, type BridgeOptions, createBridge, defaultSettings, leaseName } from './app.ts'
export { conflist, type Link, type OnNetwork } from './attachment/conflist.ts'
export { bridgeAccount, bridgeManifestFiles, bridgeManifests, kinds, localKinds, rbac } from './manifests.ts'
export type { Settings } from './parts.ts'
