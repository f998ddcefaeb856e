/** The documented writers of statuses, and the names that they go by. The table in ownership.ts is made of them. */
import { gatheringManagers, type StatusOwner } from 'kube-control-loop'

/** Field managers of NSO. One is used for apply on status, or for creates and patches of objects, never for both on one path. */
export const managers = {
  claim: 'nso-networkinterfaceclaim',
  interface: 'nso-networkinterface',
  dataPlane: 'nso-dataplane',
  network: 'nso-network',
  networkContext: 'nso-networkcontext',
  contextHold: 'nso-networkcontexthold',
  subnet: 'nso-subnet',
} as const

/** NSO's service account is `nso`; the other identities are named in settings at installation. */
export const nso = 'nso'

/** The original's processes send no field manager; its binary is called `manager`. */
export const formerly = ['manager', ''] as const

/**
 * Managers whose `Update` entries on these kinds are the original's: names of its binaries, and what the API server takes from
 * the user agent of a client that names no manager. And those of the server, where it has gathered what the original held.
 */
export const legacyManagers = [
  'manager',
  'network-services-operator',
  'network-services',
  'vpc-controller',
  ...gatheringManagers,
] as const

/** The documented writers of statuses. A writer is made from one of these; its intents carry nothing else. */
export const statusOwners = {
  claim: {
    writer: managers.claim,
    identity: nso,
    formerly,
    owns: [
      'networkInterfaceRef',
      'addresses',
      'externalAddresses',
      'conditionSources',
      'conditions/Bound',
      'conditions/Allocated',
      'conditions/Prepared',
      'conditions/Programmed',
      'conditions/Ready',
    ],
    when: 'when the claim is bound or rejected, and when the data plane reports on the attachment of its interface',
  },
  interface: {
    writer: managers.interface,
    identity: nso,
    formerly,
    owns: [
      'phase',
      'networkContextRef',
      'attachmentRef',
      'vpc',
      'conditionSources',
      'conditions/Allocated',
      'conditions/Prepared',
      'conditions/Programmed',
    ],
    when: 'when the interface is bound or released, and when the data plane reports on its attachment',
  },
  interfaceHolder: {
    writer: 'holder',
    identity: 'holder',
    anyManager: true,
    owns: ['conditions/HolderAvailable'],
    when: 'when the workload that holds the interface comes or goes',
  },
  network: {
    writer: managers.network,
    identity: nso,
    formerly,
    owns: ['ipam', 'conditions/IPAMAllocated', 'conditions/Ready'],
    when: 'when the ranges of the network are held, or cannot be',
  },
  networkContext: {
    writer: managers.networkContext,
    identity: nso,
    formerly,
    owns: ['ipam', 'conditions/IPAMAllocated', 'conditions/Ready'],
    when: 'when the subnets of the context are held, or cannot be; never in a cell that only receives contexts',
  },
  subnet: {
    writer: managers.subnet,
    identity: nso,
    formerly,
    owns: ['startAddress', 'prefixLength', 'conditions/Allocated', 'conditions/Ready'],
    when: 'when the range of the subnet is held',
  },
  dataPlane: {
    writer: managers.dataPlane,
    identity: nso,
    owns: ['conditions/Accepted', 'conditions/Installed', 'conditions/Permitted'],
    when: 'when the data plane is written, and when its kinds or permissions come or go',
  },
} as const satisfies Record<string, StatusOwner>
