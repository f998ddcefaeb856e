export {
  type AttachmentMode,
  type AttachmentStatusIntent,
  annotations,
  attachmentConditions,
  attachmentModes,
  BGPAdvertisement,
  BGPRouter,
  conditionsByKind,
  finalizer,
  group,
  labels,
  managers,
  NetworkAttachmentDefinition,
  ownership,
  routingGroup,
  routingVersion,
  statusOwners,
  VPC,
  VPCAttachment,
  type VPCAttachmentStatus,
  type VPCStatus,
  type VPCStatusIntent,
  version,
  vpcConditions,
} from './api/index.ts'
export { createGalactic, defaultSettings, type Galactic, type GalacticOptions, leaseName } from './app.ts'
export { type Caches, recordedIdentity } from './caches.ts'
export { base62ToHex, fromBase62, toBase62 } from './identifiers/base62.ts'
export { advertisementNames, hostInterfaceName, type Identity, identityKey, vrfInterfaceName } from './identifiers/identity.ts'
export type { RandomInt } from './identifiers/pick.ts'
export {
  crds,
  galacticAccount,
  galacticManifestFiles,
  galacticManifests,
  kinds,
  localCrds,
  localKinds,
  localManifestFiles,
  rbac,
} from './manifests.ts'
export { attachmentControllerName, type Settings, vpcControllerName } from './parts.ts'
