/** A lease as an object: what it says, whom it belongs to, and the indexes under which it is found. */
import { AddressLease, annotations, contextName, labels, type NetworkInterface } from '@nso/api'
import { apiVersionOf, type Key, keyFor, type ObjectMeta } from 'kube-control-loop'
import { type Block, formatCidr, readBlock, sameBlock } from './cidr.ts'
import { leaseName } from './lease-name.ts'
import type { AddressRequest } from './port.ts'

/** For whom an address is held: one request of one incarnation of a claim. */
export type LeaseHolder = { readonly claimName: string; readonly claimUID: string; readonly request: AddressRequest }

/** Indexes that the lease cache needs, by name. */
export const leaseIndexes = {
  /** By the claim incarnation that holds it: see `holderIndexKey`. */
  holder: (lease: AddressLease) => [holderIndexKey(lease.metadata.namespace, lease.spec.holder.claimUID)],
  /** By its address in canonical form, whatever the context: see `addressIndexKey`. */
  address: (lease: AddressLease) => {
    const block = blockOf(lease)
    return block ? [addressIndexKey(lease.metadata.namespace, block)] : []
  },
} as const

export function holderIndexKey(namespace: string | undefined, claimUid: string): string {
  return keyFor(claimUid, namespace)
}

export function addressIndexKey(namespace: string | undefined, block: Block): string {
  return keyFor(formatCidr(block), namespace)
}

/** What a lease holds; undefined when its text is no address (a hand-made object), and then it holds nothing but its name. */
export function blockOf(lease: AddressLease): Block | undefined {
  return readBlock(lease.spec.address)
}

export function leaseFor(
  at: { network: string; context: { name: string; namespace?: string | undefined }; subnet?: string | undefined; unit: Block },
  holder: LeaseHolder,
): AddressLease {
  const { network, context, subnet, unit } = at
  const metadata: ObjectMeta = { name: leaseName(network, unit) }
  if (context.namespace !== undefined) metadata.namespace = context.namespace
  const { request, claimName, claimUID } = holder
  return {
    apiVersion: apiVersionOf(AddressLease),
    kind: AddressLease.kind,
    metadata,
    spec: {
      network: { name: network },
      networkContext: { name: context.name },
      ...(subnet === undefined ? {} : { subnet: { name: subnet } }),
      family: unit.family,
      address: formatCidr(unit),
      holder: { claimName, claimUID, ...(request.class === undefined ? { family: request.family } : { class: request.class }) },
    },
  } as AddressLease
}

export function isFor(lease: AddressLease, request: AddressRequest): boolean {
  const { holder } = lease.spec
  return request.class === undefined ? holder.family === request.family : holder.class === request.class
}

/** Text that names a request of a holder, for the order of candidates. */
export function holderText(holder: LeaseHolder): string {
  const { request } = holder
  return `${holder.claimUID}/${request.class === undefined ? `f-${request.family}` : `c-${request.class}`}`
}

/**
 * Key of the context that an interface is in; undefined when it tells neither the location nor the context. Its label first: a
 * status is written anew from it, and what somebody else puts there meanwhile must not move the interface.
 */
export function contextKeyOf(nic: NetworkInterface): Key | undefined {
  const location = nic.metadata.labels?.[labels.location]
  const name = location ? contextName(nic.spec.network.name, location) : nic.status?.networkContextRef?.name
  return name === undefined ? undefined : keyFor(name, nic.metadata.namespace)
}

/** Key of the network within which the interface's addresses are its own. */
export function networkKeyOf(nic: NetworkInterface): Key {
  return keyFor(nic.spec.network.name, nic.metadata.namespace)
}

export function keyOfLeaseNetwork(lease: AddressLease): Key {
  return keyFor(lease.spec.network.name, lease.metadata.namespace)
}

export type ListedAddress = { readonly text: string; readonly block: Block | undefined; readonly request: AddressRequest }

/** Every address that an interface lists, inner and external. */
export function listedAddresses(nic: NetworkInterface): readonly ListedAddress[] {
  const inner = (nic.spec.addresses ?? []).map(({ address, family }) => ({ text: address, request: { family } }))
  const external = (nic.spec.externalAddresses ?? []).map((each) => ({ text: each.address, request: { class: each.class } }))
  return [...inner, ...external].map((each) => ({ ...each, block: readBlock(each.text) }))
}

/** Those of the leases whose address the interface does not list. */
export function unlistedBy(nic: NetworkInterface, leases: readonly AddressLease[]): readonly AddressLease[] {
  const listed = listedAddresses(nic).flatMap(({ block }) => block ?? [])
  return leases.filter((lease) => {
    const block = blockOf(lease)
    return block === undefined || !listed.some((each) => sameBlock(each, block))
  })
}

/**
 * In whose names an interface's addresses may be held: its present claim's, and the one they were first allocated for, which
 * differs by uid (a retained interface bound again) or by name. The original system's interfaces bear their claim's name.
 */
export function holdersOf(nic: NetworkInterface): { names: ReadonlySet<string>; uid: string | undefined } {
  const written = nic.metadata.annotations ?? {}
  const names = [nic.spec.claimRef?.name, written[annotations.allocationClaim] ?? nic.metadata.name]
  return { names: new Set(names.filter((name) => name !== undefined)), uid: written[annotations.claimUid] }
}

/** Whether a lease's holder is one of them. */
export function isHolder(nic: NetworkInterface, holder: { claimName: string; claimUID: string }): boolean {
  const { names, uid } = holdersOf(nic)
  return holder.claimUID === uid || names.has(holder.claimName)
}

/**
 * In whose name an address of a live interface is held anew: its claim's. While no claim holds the interface its own uid
 * stands for one, so that the lease is nobody's when the interface is gone.
 */
export function holderToBe(nic: NetworkInterface): { claimName: string; claimUID: string } {
  const { names, uid } = holdersOf(nic)
  const [claimName = nic.metadata.name] = names
  return { claimName, claimUID: uid ?? nic.metadata.uid ?? '' }
}
