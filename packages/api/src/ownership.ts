/**
 * Who writes what on these kinds. Types of intents, the runtime guard, roles, field descriptions, documentation and tests
 * come from this table. Source: decision "one object's status belongs to one process" with server-side apply beneath (KEP-555).
 */
import type { DocumentedOwnership, MetadataOwner, StatusIntent, StatusOf } from 'kube-control-loop'
import { AddressLease } from './kinds/address-lease.ts'
import { DataPlane } from './kinds/data-plane.ts'
import { Network } from './kinds/network.ts'
import { NetworkContext } from './kinds/network-context.ts'
import { NetworkInterface } from './kinds/network-interface.ts'
import { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
import { ServingLocation } from './kinds/serving-location.ts'
import { Subnet } from './kinds/subnet.ts'
import { annotations, finalizers, labels, propagatedLabelPrefix } from './names.ts'
import { formerly, legacyManagers, managers, nso, statusOwners } from './status-owners.ts'
import { statusTexts } from './status-texts.ts'

type Verbs = NonNullable<MetadataOwner['verbs']>
type Documented = DocumentedOwnership['metadata'][number]

const byNso = (writer: string, path: string, when: string, source: string, verbs?: Verbs): Documented => ({
  path,
  writer,
  identity: nso,
  formerly,
  when,
  source,
  ...(verbs ? { verbs } : {}),
})
/** Not enforced: others write here too, by right. */
const shared = (owner: Documented): Documented => ({ ...owner, shared: true })
const withKeys = (owner: Documented, ...keys: readonly string[]): Documented => ({ ...owner, keys })
const byOther = (identity: string, path: string, when: string, source: string): Documented => ({
  path,
  writer: identity,
  identity,
  when,
  source,
})
/** Finalizers that NSO itself adds and removes. */
const held = 'NSO: it says that something must be given back first'
const finalizer = (name: string) => `metadata.finalizers/${name}`
const annotation = (name: string) => `metadata.annotations/${name}`

const claim: DocumentedOwnership = {
  kind: NetworkInterfaceClaim,
  legacy: legacyManagers,
  status: [statusOwners.claim],
  texts: statusTexts.claim,
  metadata: [
    byOther('creator', 'spec', 'at creation; fixed afterwards', 'whoever asks for the interface'),
    byOther('creator', 'metadata.labels', 'at any time', 'whoever asks for the interface'),
    byOther('creator', 'metadata.annotations', 'at any time', 'whoever asks for the interface'),
    byNso(
      managers.claim,
      finalizer(finalizers.claim),
      'added by the admission policy at creation, else before the first allocation; removed when everything is given back',
      held,
      ['patch'],
    ),
  ],
  foreign: [
    {
      path: 'metadata.ownerReferences',
      why: 'the creator’s: the claim goes with the workload that it was made for; NSO adds none',
    },
  ],
}

const networkInterface: DocumentedOwnership = {
  kind: NetworkInterface,
  legacy: legacyManagers,
  status: [statusOwners.interface, statusOwners.interfaceHolder],
  texts: { ...statusTexts.interface, ...statusTexts.interfaceHolder },
  metadata: [
    byNso(
      managers.claim,
      'spec',
      'at creation, at binding and release, and when the network context or its subnets change',
      'the claim, what is allocated for it, the network context and its subnets',
      ['create', 'patch', 'delete'],
    ),
    withKeys(
      byNso(
        managers.claim,
        'metadata.labels',
        'at creation, and when labels of the claim that it repeats change',
        'the location, and labels of the claim',
      ),
      labels.location,
      `${propagatedLabelPrefix}*`,
    ),
    byNso(
      managers.claim,
      'metadata.ownerReferences',
      'never: an interface goes by its finalizer, not by an owner',
      'nothing: there are none',
    ),
    byNso(managers.claim, annotation(annotations.allocationClaim), 'at creation', 'the name of the claim'),
    byNso(
      managers.claim,
      annotation(annotations.claimUid),
      'at creation, binding and release, together with spec.claimRef',
      'the uid of the claim',
    ),
    byNso(
      managers.claim,
      annotation(annotations.dataPlane),
      'at creation, when a data plane serves the location by then',
      'the choice among DataPlanes: name and uid',
    ),
    byNso(
      managers.interface,
      annotation(annotations.dataPlane),
      'before the first attachment, when no data plane did at creation, or the one chosen is gone',
      'the choice among DataPlanes: name and uid',
    ),
    byNso(
      managers.interface,
      finalizer(finalizers.interface),
      'in the body at creation; removed when attachment and addresses are given back',
      held,
      ['patch'],
    ),
  ],
}

const network: DocumentedOwnership = {
  kind: Network,
  legacy: legacyManagers,
  status: [statusOwners.network],
  texts: statusTexts.network,
  metadata: [
    byOther('user', 'spec', 'at any time', 'whoever wants the network'),
    byNso(managers.network, finalizer(finalizers.network), 'before the first context is made; removed when none is left', held, [
      'patch',
    ]),
    byNso(
      managers.network,
      finalizer(finalizers.networkPrefix),
      'before an address service is asked for the prefix; removed when it is given back there',
      held,
      ['patch'],
    ),
  ],
}

const networkContext: DocumentedOwnership = {
  kind: NetworkContext,
  legacy: legacyManagers,
  status: [statusOwners.networkContext],
  texts: statusTexts.networkContext,
  metadata: [
    shared(
      byNso(
        managers.network,
        'spec',
        'unless a user or propagation wrote the context: when the network is served in a location',
        'the Network and the ServingLocation',
        ['create', 'patch', 'delete'],
      ),
    ),
    shared(
      withKeys(
        byNso(managers.network, 'metadata.labels', 'together with the spec', 'the Network and the location'),
        labels.network,
        labels.networkUid,
        labels.location,
      ),
    ),
    shared(byNso(managers.network, 'metadata.ownerReferences', 'at creation: the network', 'the Network')),
    byNso(managers.contextHold, finalizer(finalizers.contextInUse), 'while an interface of the network stands', held, ['patch']),
    byNso(
      managers.networkContext,
      finalizer(finalizers.contextSubnet),
      'while a subnet that was made for it stands, or an address service holds its range',
      held,
      ['patch'],
    ),
  ],
  foreign: [
    {
      path: `metadata.labels/${labels.upstreamCluster}`,
      why: 'propagation from the control plane puts it there: the project of the context',
    },
    {
      path: `metadata.labels/${labels.upstreamNamespace}`,
      why: 'propagation from the control plane puts it there: the namespace in the project',
    },
    { path: 'metadata.annotations', why: 'of users and propagation; NSO writes none here' },
  ],
}

const subnet: DocumentedOwnership = {
  kind: Subnet,
  legacy: legacyManagers,
  status: [statusOwners.subnet],
  texts: statusTexts.subnet,
  metadata: [
    shared(
      byNso(
        managers.networkContext,
        'spec',
        'unless a user wrote the subnet: when the context has a family without one',
        'the range of the Network, or the answer of an address service',
        ['create', 'delete'],
      ),
    ),
    shared(
      withKeys(
        byNso(managers.networkContext, 'metadata.labels', 'at creation', 'the Network and the location'),
        labels.network,
        labels.networkUid,
        labels.location,
      ),
    ),
    shared(byNso(managers.networkContext, 'metadata.ownerReferences', 'at creation: the network context', 'the NetworkContext')),
  ],
  reserved: [{ path: 'conditions/Programmed', why: 'no router reports on subnets' }],
}

const servingLocation: DocumentedOwnership = {
  kind: ServingLocation,
  status: [],
  texts: {},
  metadata: [
    byOther(
      'administrator',
      'spec',
      'when the cluster starts or ends to serve a location',
      'whoever says which location the cluster serves',
    ),
  ],
}

const addressLease: DocumentedOwnership = {
  kind: AddressLease,
  status: [],
  texts: {},
  metadata: [
    byNso(
      managers.claim,
      'spec',
      'at creation, for one request of a claim; fixed afterwards',
      'the claim, and the Subnets of the network context',
      ['create', 'delete'],
    ),
    byNso(managers.interface, 'deletion', 'when the attachment that used the address is gone', 'the attachment being gone', [
      'delete',
    ]),
  ],
}

const dataPlane: DocumentedOwnership = {
  kind: DataPlane,
  status: [statusOwners.dataPlane],
  texts: statusTexts.dataPlane,
  metadata: [
    byOther('administrator', 'spec', 'at installation', 'whoever installs the data plane'),
    byNso(
      managers.dataPlane,
      finalizer(finalizers.dataPlane),
      'before it is offered to any interface; removed when it is deleted and serves none',
      held,
      ['patch'],
    ),
  ],
}

export const ownership: readonly DocumentedOwnership[] = [
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
