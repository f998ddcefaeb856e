/** One cache per kind, shared by all controllers of the process, with every index that any of them asks for. */
import {
  AddressLease,
  annotations,
  DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  parseDataPlaneChoice,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { type Cache, type CacheOptions, type Kind, type KubeObject, keyFor, type SpecOf, type StatusOf } from 'kube-control-loop'
import { addressIndexKey, contextKeyOf, leaseIndexes, listedAddresses } from './addresses/lease.ts'
import { allocationKeyOf, holderKeyOf, interfaceNameOf } from './interface/holder.ts'

const kinds = {
  claims: NetworkInterfaceClaim,
  interfaces: NetworkInterface,
  contexts: NetworkContext,
  subnets: Subnet,
  networks: Network,
  servingLocations: ServingLocation,
  leases: AddressLease,
  dataPlanes: DataPlane,
} as const

type Kinds = typeof kinds

export type Caches = { readonly [Name in keyof Kinds]: Cache<SpecOf<Kinds[Name]>, StatusOf<Kinds[Name]>> }

const unsupportedReasons = new Set(['AttachmentModeNotSupported', 'AddressFamilyNotSupported'])

const isUnsupported = ({ status }: NetworkInterfaceClaim): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'Ready' && unsupportedReasons.has(reason)) ?? false

const identity = {
  uid: ({ metadata }: Pick<KubeObject, 'metadata'>) => [metadata.uid ?? []].flat(),
  namespace: ({ metadata }: Pick<KubeObject, 'metadata'>) => [metadata.namespace ?? []].flat(),
  /** Under the empty value: those that are being deleted. */
  going: ({ metadata }: Pick<KubeObject, 'metadata'>) => (metadata.deletionTimestamp === undefined ? [] : ['']),
}

/** Makes a cache of one kind; where the process really follows the server, and where a test does. */
export type MakeCache = <S, T>(kind: Kind<S, T>, options: CacheOptions<S, T>) => Cache<S, T>

export function createCaches(make: MakeCache): Caches {
  return {
    claims: make(kinds.claims, {
      indexes: {
        network: (claim) => [keyFor(claim.spec.network.name, claim.metadata.namespace)],
        interface: (claim) => [keyFor(interfaceNameOf(claim), claim.metadata.namespace)],
        /** Under the empty value: those whose status says that a data plane does not offer what they ask for. */
        unsupported: (claim) => (isUnsupported(claim) ? [''] : []),
      },
    }),
    interfaces: make(kinds.interfaces, {
      indexes: {
        claim: (nic) => [holderKeyOf(nic) ?? []].flat(),
        /** Name of the chosen data plane; empty: none yet. */
        plane: (nic) => [parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])?.name ?? ''],
        network: (nic) => [keyFor(nic.spec.network.name, nic.metadata.namespace)],
        context: (nic) => [contextKeyOf(nic) ?? []].flat(),
        /** Network of those that tell neither a location nor a context. */
        unplaced: (nic) => (contextKeyOf(nic) === undefined ? [keyFor(nic.spec.network.name, nic.metadata.namespace)] : []),
        /** Every address that it lists. */
        address: (nic) =>
          listedAddresses(nic).flatMap(({ block }) => (block ? [addressIndexKey(nic.metadata.namespace, block)] : [])),
        /** The claim in whose name the addresses are held. */
        allocation: (nic) => [allocationKeyOf(nic)],
      },
    }),
    contexts: make(kinds.contexts, {
      indexes: {
        network: (context) => [keyFor(context.spec.network.name, context.metadata.namespace)],
        ...identity,
      },
    }),
    subnets: make(kinds.subnets, {
      indexes: { context: (subnet) => [keyFor(subnet.spec.networkContext.name, subnet.metadata.namespace)] },
    }),
    networks: make(kinds.networks, { indexes: identity }),
    servingLocations: make(kinds.servingLocations, {}),
    leases: make(kinds.leases, {
      indexes: {
        ...leaseIndexes,
        /** Every incarnation of a claim name. */
        claim: (lease) => [keyFor(lease.spec.holder.claimName, lease.metadata.namespace)],
      },
    }),
    dataPlanes: make(kinds.dataPlanes, {}),
  }
}
