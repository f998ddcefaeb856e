/**
 * For people on call: what each reason means and what to do about it. A reason without both does not compile, nor does a text
 * for a reason that is not listed.
 */
import type { ReasonText, ReasonTexts } from 'kube-control-loop'
import type { conditionsByKind, RejectReason } from './conditions.ts'

const say = (means: string, remedy: string): ReasonText => ({ means, remedy })

const nothing = 'Nothing.'
const pending = say(
  'Nobody has looked at it yet: the CRD’s default, or the message says what is waited for.',
  'Wait some seconds. If it stays, and the message is “Waiting for controller”, see whether NSO runs and has a leader.',
)

/** Of an address service, or of the built-in leases. */
const allocationRefusals = {
  AddressPoolExhausted: say(
    'Every address (or block) of the range is held.',
    'Free some: delete claims and retained interfaces that are not used. Or add a Subnet, or widen the range.',
  ),
  RetainedAddressConflict: say(
    'The address service has something else under the name: of another network, class or namespace, or kept for an interface. The built-in leases never say this.',
    'As the message says: ask for the kept interface by networkInterfaceName, or delete what holds the address.',
  ),
  AddressAllocationRejected: say(
    'Nothing offers what is asked: no Subnet of this family or class in the network context, or no class or pool of the address service.',
    'Make what the message names, or ask for another family or class.',
  ),
  AllocationFailed: say(
    'Nothing could be allocated, for the cause in the message (a name too long, a Subnet in the way, a lease that the API server refuses, an address service that fails).',
    'Follow the message. It is tried again by itself.',
  ),
} as const

const projects = {
  ProjectUnresolved: say(
    'It is not known which project the namespace belongs to. Only installations with an address service for projects say this.',
    'See the labels of the namespace: meta.datumapis.com/upstream-cluster-name and upstream-namespace.',
  ),
  ProjectNamespaceNotFound: say(
    'The project has no such namespace. Only installations with an address service for projects say this.',
    'Make the namespace in the project.',
  ),
} as const

const rejections = {
  NoLocationIdentity: say(
    'NSO does not know which location it serves, or the location’s name is too long for a label.',
    'Create the ServingLocation of this cluster, or set the location in NSO’s settings.',
  ),
  AmbiguousLocationIdentity: say(
    'Several ServingLocations exist and no setting says which one is meant.',
    'Delete those that are not this cluster’s, or set the location.',
  ),
  ...projects,
  NetworkNotAvailableInLocation: say(
    'The network has no NetworkContext in this location, or that is being deleted.',
    'See whether the Network exists in this namespace and whether NetworkContext <network>-<location> does.',
  ),
  AddressFamiliesUnknown: say(
    'The NetworkContext does not say which address families are carried. Nothing is guessed.',
    'Set spec.ipFamilies of the NetworkContext, or of its Network.',
  ),
  AddressFamilyNotCarried: say(
    'The claim asks for a family that the network does not carry here.',
    'Ask for another family with a new claim, or add the family to the Network.',
  ),
  InterfaceHeldByAnotherClaim: say(
    'The interface that the claim wants is held by the claim in the message, or by an earlier one of the same name.',
    'Delete the other claim, or ask for another interface (spec.networkInterfaceName of a new claim).',
  ),
  NetworkMismatch: say(
    'The interface of that name is on another network.',
    'Make a new claim for another interface name, or delete the retained interface.',
  ),
  InterfaceNameMismatch: say(
    'The interface of that name has another device name in the guest.',
    'Make a new claim with the device name of the interface, or delete the retained interface.',
  ),
  AddressFamilyMissing: say(
    'The interface of that name has no address of a family that the claim asks for.',
    'Make a new claim for the families it has, or delete the retained interface.',
  ),
  AddressClassMissing: say(
    'The interface of that name has no address of a class that the claim asks for.',
    'Make a new claim for the classes it has, or delete the retained interface.',
  ),
  ReclaimPolicyMismatch: say(
    'The interface of that name has another reclaim policy.',
    'Make a new claim with the policy of the interface, or delete the retained interface.',
  ),
  SubnetGatewayUnusable: say(
    'A Subnet of a wanted family starts at the last address there is, so it has no gateway.',
    'Correct the Subnet that the message names.',
  ),
  AttachmentModeNotSupported: say(
    'The data plane of this location does not offer the attachment mode that the claim asks for. Nothing was made.',
    'Make a new claim with a mode that the message names, or serve the location with another data plane.',
  ),
  AddressFamilyNotSupported: say(
    'The data plane of this location does not carry an address family that the claim asks for. Nothing was made.',
    'Make a new claim for families that the message names, or serve the location with another data plane.',
  ),
  InterfaceRefused: say(
    'The API server takes no interface as the claim asks for it: no object can have its name, or a quota, a policy or a webhook is against it.',
    'Follow the message. It is tried again by itself; a name is changed with a new claim.',
  ),
  ...allocationRefusals,
} as const satisfies Readonly<Record<RejectReason, ReasonText>>

const allocated = {
  True: { Allocated: say('Every address of the interface is held by a lease.', nothing) },
  False: {
    AddressAllocationMissing: say(
      'An address that the interface lists is not held for it: its AddressLease is somebody else’s, or its IPClaim at the address service is gone or holds another. The address is kept, the claim stays bound.',
      'Look at what the message names. A lost lease is made again by itself, one that another holds must go first; an IPClaim has to be made again, for that very address.',
    ),
  },
  Unknown: { Pending: pending },
} as const

const noDataPlane = {
  NoDataPlane: say(
    'No accepted DataPlane serves this location.',
    'See kubectl get dataplanes: install one, or correct its spec.locations; its Accepted condition says what is wrong with it.',
  ),
  DataPlaneNotInstalled: say(
    'The API server does not serve the attachment kind of the DataPlane.',
    'Install the data plane’s CRDs. Nothing else is needed: it goes on by itself.',
  ),
  ContractViolation: say(
    'The data plane reports in a form that cannot be believed: no well-formed reason, status or list of conditions.',
    'Report it to the makers of the data plane; the message names the object and the fault.',
  ),
} as const

const notKnown = {
  Pending: say(
    'There is no report yet: the attachment does not exist, is being deleted, or the data plane has not spoken. Or deletion waits.',
    'The message names the object. If it stays, see that the data plane runs, and DataPlane conditions Installed and Permitted.',
  ),
  AwaitingDataPlane: say(
    'The attachment, or its report, is waited for.',
    'See that the data plane (its controllers and nodes) runs; see the attachment’s own conditions.',
  ),
  ReportStale: say(
    'The last report speaks of an older attachment: of an earlier generation, or of an object that belongs to another interface.',
    'Wait for the data plane to catch up. If it stays, see that the data plane runs.',
  ),
  ContractViolation: noDataPlane.ContractViolation,
} as const

const translatedPrepared = {
  True: { AttachmentReady: say('The data plane says that the attachment is ready: a workload may start.', nothing) },
  False: {
    AwaitingVPC: say(
      'The data plane waits for the network’s own object (VPC with Galactic).',
      'See whether NetworkContext and Subnets stand: the object is made after them.',
    ),
    AwaitingVPCIdentifier: say(
      'The VPC has no identifier yet.',
      'See that Galactic runs and what the VPC’s Ready condition says.',
    ),
    AwaitingNetworkContext: say(
      'A data plane waits for the network context.',
      'See whether NetworkContext <network>-<location> exists and is Ready.',
    ),
    AttachmentRefused: say(
      'The API server takes the attachment in no form: the data plane’s schema or a policy is against it.',
      'The message has the server’s words. Correct the templates of the DataPlane, or what the claim asks for.',
    ),
    NetworkObjectForeign: say(
      'An object of somebody else has the name of the network’s object, so the interface is not attached to it.',
      'Remove the object that the message names, or use another network name.',
    ),
    ...noDataPlane,
  },
  Unknown: notKnown,
} as const

const notReported = say(
  'The data plane reports no programming: this repeats Prepared.',
  'Nothing, when Prepared is True; else see Prepared.',
)

const translatedProgrammed = {
  True: {
    Advertised: say('A router advertises the attachment: traffic flows.', nothing),
    Programmed: say('The data plane has programmed the attachment: traffic flows.', nothing),
    NotReported: notReported,
    ContractViolation: say(
      'The data plane says True, without a well-formed reason.',
      'Report it to the makers of the data plane.',
    ),
  },
  False: { NotReported: notReported, ...noDataPlane },
  Unknown: { NotReported: notReported, ...notKnown },
} as const

const unmet = {
  NotBound: say('No interface is bound.', 'See the condition Bound.'),
  NotAllocated: say('Addresses are not held.', 'See the condition Allocated.'),
  NotPrepared: say('The data plane has not prepared the attachment: a workload cannot start.', 'See the condition Prepared.'),
  NotProgrammed: say('Traffic does not flow yet.', 'See the condition Programmed.'),
} as const

const occupied = {
  RangeOccupied: say(
    'The range overlaps one that another network or subnet holds. Or, of an object that is being deleted, an address service does not take its range back while something in it is held.',
    'Choose another range; or delete what holds a part of it. It is tried again by itself.',
  ),
  RangeUnsupported: say(
    'The range cannot be used: it cannot be read, is of another family, or is too small to be divided. Or an address service chooses the ranges, and none can be asked for.',
    'Correct the range that the message names, or leave it out.',
  ),
} as const

const ipamAllocated = {
  True: { Allocated: say('The ranges are held.', nothing) },
  False: { ...projects, ...occupied, ...allocationRefusals },
  Unknown: { Pending: pending },
} as const

const rangesReady = {
  True: { Ready: say('Interfaces may use it.', nothing) },
  False: { ...projects, ...occupied, ...allocationRefusals },
  Unknown: { Pending: pending },
} as const

const notAccepted = say('The DataPlane names kinds that may not be made.', 'See the condition Accepted.')

export const reasonTexts = {
  Network: { IPAMAllocated: ipamAllocated, Ready: rangesReady },
  NetworkContext: { IPAMAllocated: ipamAllocated, Ready: rangesReady },
  Subnet: {
    Allocated: {
      True: { PrefixAllocated: say('The range is held.', nothing) },
      False: { ...occupied, ...allocationRefusals },
      Unknown: { Pending: pending },
    },
    Programmed: {
      True: { Programmed: say('Routers carry the range. Nobody says this yet.', nothing) },
      False: { ProgrammingInProgress: say('Routers do not carry the range yet. Nobody says this yet.', nothing) },
      Unknown: { Pending: say('Nobody reports on subnets.', 'Nothing: claims do not wait for it.') },
    },
    Ready: {
      True: { Ready: say('Routers carry the range.', nothing) },
      False: {
        NotProgrammed: say(
          'No router has reported the range. As no router reports on subnets, this stays.',
          'Nothing: claims do not wait for it.',
        ),
        NotAllocated: say('The range is not held.', 'See the condition Allocated.'),
      },
      Unknown: {
        NotProgrammed: say('It is not known whether routers carry the range.', 'Nothing: claims do not wait for it.'),
        NotAllocated: say('It is not known whether the range is held.', 'See the condition Allocated.'),
        Pending: pending,
      },
    },
  },
  NetworkInterfaceClaim: {
    Bound: {
      True: { Bound: say('The claim holds the interface in status.networkInterfaceRef.', nothing) },
      False: rejections,
      Unknown: { Pending: pending },
    },
    Allocated: { ...allocated, False: { ...allocated.False, ...rejections } },
    Prepared: translatedPrepared,
    Programmed: translatedProgrammed,
    Ready: {
      True: { Ready: say('The interface is bound, allocated, prepared and programmed.', nothing) },
      False: { ...unmet, ...rejections },
      Unknown: { ...unmet, Pending: pending },
    },
  },
  NetworkInterface: {
    Allocated: allocated,
    Prepared: translatedPrepared,
    Programmed: translatedProgrammed,
    HolderAvailable: {
      True: { Available: say('The workload that holds the interface is up.', nothing) },
      False: {
        HolderNotReported: say('Nothing is known of the workload.', 'See the system that runs workloads.'),
        HolderUnavailable: say('The workload is down.', 'See the workload.'),
        HolderTerminating: say('The workload is ending.', nothing),
      },
      Unknown: { Pending: pending },
    },
  },
  DataPlane: {
    Accepted: {
      True: { Accepted: say('The templates are sound, and it serves at least one of its locations.', nothing) },
      False: {
        InvalidTemplate: say(
          'A template does not compile, or spec lacks a part.',
          'Correct what the message names, with its place.',
        ),
        UnknownField: say(
          'A template or report names a field that the served schema of its kind lacks.',
          'Correct what the message names, or install the version of the data plane’s CRDs that has the field.',
        ),
        KindNotAllowed: say(
          'The templates name a kind that may not be made for users, such as one of Kubernetes itself.',
          'Name a kind of the data plane.',
        ),
        ContractUnsupported: say(
          'The DataPlane follows a version of the contract that this NSO does not know.',
          'Install a newer NSO, or the DataPlane for a version that the message names.',
        ),
        LocationsServedByAnother: say(
          'Another DataPlane, with more exact locations or older, serves all of them.',
          'Change spec.locations of one of them.',
        ),
        Deleting: say(
          'It is being deleted, takes no new interfaces, and stays until those it serves are gone.',
          'Delete the claims that the message names, or wait for them to go.',
        ),
      },
      Unknown: { Pending: pending },
    },
    Installed: {
      True: { Installed: say('The API server serves the kinds.', nothing) },
      False: {
        KindNotServed: say('The API server does not serve a kind of the templates.', 'Install the data plane’s CRDs.'),
        KindNotNamespaced: say('A kind of the templates is not namespaced, so it cannot be used.', 'Name a namespaced kind.'),
      },
      Unknown: {
        DiscoveryFailed: say(
          'The API server could not be asked for the kinds.',
          'It is asked again. If it stays, see the API server.',
        ),
        NotAccepted: notAccepted,
        Pending: pending,
      },
    },
    Permitted: {
      True: { Permitted: say('NSO may read and write the kinds.', nothing) },
      False: {
        NotPermitted: say(
          'NSO lacks the verbs that the message names.',
          'Grant them with a ClusterRole labelled networking.datumapis.com/aggregate-to-nso: "true".',
        ),
      },
      Unknown: {
        ReviewFailed: say(
          'The API server did not answer what NSO may do.',
          'It is asked again. If it stays, see the API server.',
        ),
        NotAccepted: notAccepted,
        NotInstalled: say('Permissions are asked for when the kinds are served.', 'See the condition Installed.'),
        Pending: pending,
      },
    },
  },
} as const satisfies ReasonTexts<typeof conditionsByKind>
