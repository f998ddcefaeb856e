/**
 * Every condition of these kinds with its reasons. An unlisted reason does not compile; where a data plane's own reasons
 * pass through, `reported` is the one way.
 */
import { condition, reportedCondition } from 'kube-control-loop'

const seed = ['Pending'] as const

/** Why an address service or the lease table refused. */
const allocationRefusals = [
  'AddressPoolExhausted',
  'RetainedAddressConflict',
  'AddressAllocationRejected',
  'AllocationFailed',
] as const

/** Why a claim is not served. Bound, Allocated and Ready carry it; when an interface is already held, Ready alone. */
export const rejectReasons = [
  'NoLocationIdentity',
  'AmbiguousLocationIdentity',
  'ProjectUnresolved',
  'NetworkNotAvailableInLocation',
  'AddressFamiliesUnknown',
  'AddressFamilyNotCarried',
  'ProjectNamespaceNotFound',
  'InterfaceHeldByAnotherClaim',
  'NetworkMismatch',
  'InterfaceNameMismatch',
  'AddressFamilyMissing',
  'AddressClassMissing',
  'ReclaimPolicyMismatch',
  'SubnetGatewayUnusable',
  'AttachmentModeNotSupported',
  'AddressFamilyNotSupported',
  'InterfaceRefused',
  ...allocationRefusals,
] as const
export type RejectReason = (typeof rejectReasons)[number]

/** What stands between an interface and a data plane that could answer for it. */
const noReport = ['NoDataPlane', 'DataPlaneNotInstalled', 'ContractViolation'] as const
const notKnown = ['Pending', 'AwaitingDataPlane', 'ReportStale', 'ContractViolation'] as const

/** Ready names the first of these that does not hold. */
export const claimReadyOrder = ['Bound', 'Allocated', 'Prepared', 'Programmed'] as const

/** A workload may start. True is always `AttachmentReady`; else the data plane's own reason may stand. */
export const Prepared = reportedCondition(
  'Prepared',
  {
    True: ['AttachmentReady'],
    False: [
      'AwaitingVPC',
      'AwaitingVPCIdentifier',
      'AwaitingNetworkContext',
      'AttachmentRefused',
      'NetworkObjectForeign',
      ...noReport,
    ],
    Unknown: notKnown,
  },
  ['False', 'Unknown'],
)

/** Traffic flows. The reason is the data plane's. */
export const Programmed = reportedCondition(
  'Programmed',
  {
    True: ['Advertised', 'Programmed', 'NotReported', 'ContractViolation'],
    False: ['NotReported', ...noReport],
    Unknown: ['NotReported', ...notKnown],
  },
  ['True', 'False', 'Unknown'],
)

export const claimConditions = {
  Bound: condition('Bound', { True: ['Bound'], False: rejectReasons, Unknown: seed }),
  Allocated: condition('Allocated', {
    True: ['Allocated'],
    False: ['AddressAllocationMissing', ...rejectReasons],
    Unknown: seed,
  }),
  Prepared,
  Programmed,
  Ready: condition('Ready', {
    True: ['Ready'],
    False: ['NotBound', 'NotAllocated', 'NotPrepared', 'NotProgrammed', ...rejectReasons],
    Unknown: ['NotBound', 'NotAllocated', 'NotPrepared', 'NotProgrammed', ...seed],
  }),
} as const

export const interfaceConditions = {
  Allocated: condition('Allocated', {
    True: ['Allocated'],
    False: ['AddressAllocationMissing'],
    Unknown: seed,
  }),
  Prepared,
  Programmed,
  /** Written by the workload's holder, never by NSO: the list says what its reasons are known to be. */
  HolderAvailable: reportedCondition(
    'HolderAvailable',
    { True: ['Available'], False: ['HolderNotReported', 'HolderUnavailable', 'HolderTerminating'], Unknown: seed },
    ['True', 'False', 'Unknown'],
  ),
} as const

const ipamAllocated = condition('IPAMAllocated', {
  True: ['Allocated'],
  False: ['ProjectNamespaceNotFound', 'ProjectUnresolved', 'RangeOccupied', 'RangeUnsupported', ...allocationRefusals],
  Unknown: seed,
})
const rangesReady = condition('Ready', {
  True: ['Ready'],
  False: ['ProjectNamespaceNotFound', 'ProjectUnresolved', 'RangeOccupied', 'RangeUnsupported', ...allocationRefusals],
  Unknown: seed,
})

export const networkConditions = { IPAMAllocated: ipamAllocated, Ready: rangesReady } as const
export const networkContextConditions = { IPAMAllocated: ipamAllocated, Ready: rangesReady } as const

export const subnetConditions = {
  Allocated: condition('Allocated', {
    True: ['PrefixAllocated'],
    False: ['RangeOccupied', 'RangeUnsupported', ...allocationRefusals],
    Unknown: seed,
  }),
  /** Nobody writes it; the reasons are those it is declared with. */
  Programmed: condition('Programmed', { True: ['Programmed'], False: ['ProgrammingInProgress'], Unknown: seed }),
  Ready: condition('Ready', {
    True: ['Ready'],
    False: ['NotProgrammed', 'NotAllocated'],
    Unknown: ['NotProgrammed', 'NotAllocated', ...seed],
  }),
} as const

export const dataPlaneConditions = {
  /** The templates are sound, NSO knows the contract, and it is the data plane of at least one location. */
  Accepted: condition('Accepted', {
    True: ['Accepted'],
    False: ['InvalidTemplate', 'UnknownField', 'KindNotAllowed', 'ContractUnsupported', 'LocationsServedByAnother', 'Deleting'],
    Unknown: seed,
  }),
  /** The kinds are served. */
  Installed: condition('Installed', {
    True: ['Installed'],
    False: ['KindNotServed', 'KindNotNamespaced'],
    Unknown: ['DiscoveryFailed', 'NotAccepted', ...seed],
  }),
  /** NSO may read and write them. */
  Permitted: condition('Permitted', {
    True: ['Permitted'],
    False: ['NotPermitted'],
    Unknown: ['ReviewFailed', 'NotAccepted', 'NotInstalled', ...seed],
  }),
} as const

/** The conditions of each kind, for checks over all of them. */
export const conditionsByKind = {
  Network: networkConditions,
  NetworkContext: networkContextConditions,
  Subnet: subnetConditions,
  NetworkInterfaceClaim: claimConditions,
  NetworkInterface: interfaceConditions,
  DataPlane: dataPlaneConditions,
} as const
