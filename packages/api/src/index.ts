/** The kinds of networking.datumapis.com: objects, conditions, names, and who writes what. */
export { nsoAccount, nsoIpamAccount } from './account.ts'
export {
  claimConditions,
  claimReadyOrder,
  conditionsByKind,
  dataPlaneConditions,
  interfaceConditions,
  networkConditions,
  networkContextConditions,
  Prepared,
  Programmed,
  type RejectReason,
  rejectReasons,
  subnetConditions,
} from './conditions.ts'
export { enforcement, ownershipProbes } from './enforcement.ts'
export type { ExternalAddress, InterfaceAddress } from './kinds/address.ts'
export { AddressLease } from './kinds/address-lease.ts'
export type { ConditionSource } from './kinds/condition-source.ts'
export { contractVersions, DataPlane } from './kinds/data-plane.ts'
export {
  type AddressFamily,
  type AttachmentMode,
  attachmentModes,
  families,
  group,
  type ReclaimPolicy,
  version,
} from './kinds/group.ts'
export { Network } from './kinds/network.ts'
export { NetworkContext } from './kinds/network-context.ts'
export { NetworkInterface } from './kinds/network-interface.ts'
export { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
export { ServingLocation } from './kinds/serving-location.ts'
export { Subnet } from './kinds/subnet.ts'
export { kinds, nsoManifestFiles, nsoManifests, nsoRole } from './manifests.ts'
export {
  annotations,
  contextName,
  dataPlaneChoice,
  finalizers,
  labels,
  parseDataPlaneChoice,
  propagatedLabelPrefix,
} from './names.ts'
export {
  type ClaimStatusIntent,
  type DataPlaneStatusIntent,
  type InterfaceStatusIntent,
  type NetworkContextStatusIntent,
  type NetworkStatusIntent,
  ownership,
  type SubnetStatusIntent,
} from './ownership.ts'
export { reasonTexts } from './reason-texts.ts'
export { managers, statusOwners } from './status-owners.ts'
