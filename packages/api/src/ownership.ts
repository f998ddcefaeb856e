/**
 * Who writes what on these kinds. Types of intents, the runtime guard, roles, field descriptions, documentation and tests
 * come from this table. Source: decision "one object's status belongs to one process" with server-side apply beneath (KEP-555).
 */
import type { MetadataOwner, OwnershipTable, ResourceOwnership, StatusIntent, StatusOf, StatusOwner } from 'kube-control-loop'
import { AddressLease } from './kinds/address-lease.ts'
import { DataPlane } from './kinds/data-plane.ts'
import { Network } from './kinds/network.ts'
import { NetworkContext } from './kinds/network-context.ts'
import { NetworkInterface } from './kinds/network-interface.ts'
import { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
import { ServingLocation } from './kinds/serving-location.ts'
import { Subnet } from './kinds/subnet.ts'
import { annotations, finalizers } from './names.ts'

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
const nso = 'nso'

/** The original's processes send no field manager; its binary is called `manager`. */
const formerly = ['manager', ''] as const

/**
 * Managers whose `Update` entries on these kinds are the original's: names of its binaries, and what the API server takes from
 * the user agent of a client that names no manager.
 */
export const legacyManagers = ['manager', 'network-services-operator', 'network-services', 'vpc-controller'] as const

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

type Verbs = NonNullable<MetadataOwner['verbs']>

const byNso = (writer: string, path: string, when: string, verbs?: Verbs): MetadataOwner => ({
  path,
  writer,
  identity: nso,
  formerly,
  when,
  ...(verbs ? { verbs } : {}),
})
/** Not enforced: others write here too, by right. */
const shared = (owner: MetadataOwner): MetadataOwner => ({ ...owner, shared: true })
const byOther = (identity: string, path: string, when: string): MetadataOwner => ({ path, writer: identity, identity, when })
const finalizer = (name: string) => `metadata.finalizers/${name}`
const annotation = (name: string) => `metadata.annotations/${name}`

const claim: ResourceOwnership = {
  kind: NetworkInterfaceClaim,
  legacy: legacyManagers,
  status: [statusOwners.claim],
  metadata: [
    byOther('creator', 'spec', 'at creation; fixed afterwards'),
    byOther('creator', 'metadata.labels', 'at any time'),
    byOther('creator', 'metadata.annotations', 'at any time'),
    byNso(
      managers.claim,
      finalizer(finalizers.claim),
      'added by the admission policy at creation, else before the first allocation; removed when everything is given back',
      ['patch'],
    ),
  ],
}

const networkInterface: ResourceOwnership = {
  kind: NetworkInterface,
  legacy: legacyManagers,
  status: [statusOwners.interface, statusOwners.interfaceHolder],
  metadata: [
    byNso(managers.claim, 'spec', 'at creation, at binding and release, and when the network context or its subnets change', [
      'create',
      'patch',
      'delete',
    ]),
    byNso(managers.claim, 'metadata.labels', 'at creation, and when labels of the claim that it repeats change'),
    byNso(managers.claim, 'metadata.ownerReferences', 'never: an interface goes by its finalizer, not by an owner'),
    byNso(managers.claim, annotation(annotations.allocationClaim), 'at creation'),
    byNso(managers.claim, annotation(annotations.claimUid), 'at creation, binding and release, together with spec.claimRef'),
    byNso(managers.claim, annotation(annotations.dataPlane), 'at creation, when a data plane serves the location by then'),
    byNso(
      managers.interface,
      annotation(annotations.dataPlane),
      'before the first attachment, when no data plane did at creation, or the one chosen is gone',
    ),
    byNso(
      managers.interface,
      finalizer(finalizers.interface),
      'in the body at creation; removed when attachment and addresses are given back',
      ['patch'],
    ),
  ],
}

const network: ResourceOwnership = {
  kind: Network,
  legacy: legacyManagers,
  status: [statusOwners.network],
  metadata: [
    byOther('user', 'spec', 'at any time'),
    byNso(managers.network, finalizer(finalizers.network), 'before the first context is made; removed when none is left', [
      'patch',
    ]),
  ],
}

const networkContext: ResourceOwnership = {
  kind: NetworkContext,
  legacy: legacyManagers,
  status: [statusOwners.networkContext],
  metadata: [
    shared(
      byNso(
        managers.network,
        'spec',
        'unless a user or propagation wrote the context: when the network is served in a location',
        ['create', 'patch', 'delete'],
      ),
    ),
    shared(byNso(managers.network, 'metadata.labels', 'together with the spec')),
    shared(byNso(managers.network, 'metadata.ownerReferences', 'at creation: the network')),
    byNso(managers.contextHold, finalizer(finalizers.contextInUse), 'while an interface of the network stands', ['patch']),
    byNso(managers.networkContext, finalizer(finalizers.contextSubnet), 'while a subnet that was made for it stands', ['patch']),
  ],
}

const subnet: ResourceOwnership = {
  kind: Subnet,
  legacy: legacyManagers,
  status: [statusOwners.subnet],
  metadata: [
    shared(
      byNso(managers.networkContext, 'spec', 'unless a user wrote the subnet: when the context has a family without one', [
        'create',
        'delete',
      ]),
    ),
    shared(byNso(managers.networkContext, 'metadata.ownerReferences', 'at creation: the network context')),
  ],
  reserved: [{ path: 'conditions/Programmed', why: 'no router reports on subnets' }],
}

const servingLocation: ResourceOwnership = {
  kind: ServingLocation,
  status: [],
  metadata: [byOther('administrator', 'spec', 'when the cluster starts or ends to serve a location')],
}

const addressLease: ResourceOwnership = {
  kind: AddressLease,
  status: [],
  metadata: [
    byNso(managers.claim, 'spec', 'at creation, for one request of a claim; fixed afterwards', ['create', 'delete']),
    byNso(managers.interface, 'deletion', 'when the attachment that used the address is gone', ['delete']),
  ],
}

const dataPlane: ResourceOwnership = {
  kind: DataPlane,
  status: [statusOwners.dataPlane],
  metadata: [byOther('administrator', 'spec', 'at installation')],
}

export const ownership: OwnershipTable = [
  claim,
  networkInterface,
  network,
  networkContext,
  subnet,
  servingLocation,
  addressLease,
  dataPlane,
]

/** Complete intents of the documented writers. */
export type ClaimStatusIntent = StatusIntent<StatusOf<typeof NetworkInterfaceClaim>, typeof statusOwners.claim>
export type InterfaceStatusIntent = StatusIntent<StatusOf<typeof NetworkInterface>, typeof statusOwners.interface>
export type NetworkStatusIntent = StatusIntent<StatusOf<typeof Network>, typeof statusOwners.network>
export type NetworkContextStatusIntent = StatusIntent<StatusOf<typeof NetworkContext>, typeof statusOwners.networkContext>
export type SubnetStatusIntent = StatusIntent<StatusOf<typeof Subnet>, typeof statusOwners.subnet>
export type DataPlaneStatusIntent = StatusIntent<StatusOf<typeof DataPlane>, typeof statusOwners.dataPlane>
