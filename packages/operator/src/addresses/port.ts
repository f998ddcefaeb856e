/**
 * The port through which claims get their addresses. Adapters: `builtin` (AddressLease objects in the same cluster) and
 * `ipam` (IPClaims of an address service). One contract test suite runs against every adapter.
 */
import type { AddressFamily, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { Key } from 'kube-control-loop'
import type { ListedAddress } from './lease.ts'

/** One address that a claim asks for: of a family, or of a class (an external address or a named pool). */
export type AddressRequest = { family: AddressFamily; class?: undefined } | { class: string; family?: undefined }

/** One address that stands: canonical CIDR (RFC 5952 for IPv6), and what it was asked as. */
export type AllocatedAddress = { request: AddressRequest; family: AddressFamily; cidr: string; external: boolean }

/** Reject reasons of a claim that only whoever allocates can know. */
export type RefusalReason =
  | 'AddressPoolExhausted'
  | 'RetainedAddressConflict'
  | 'AddressAllocationRejected'
  | 'AllocationFailed'
  | 'ProjectUnresolved'
  | 'ProjectNamespaceNotFound'

export type Allocation =
  | { kind: 'allocated'; addresses: readonly AllocatedAddress[] }
  /** Nothing of this request stays allocated. `reason` is a reject reason of the claim; the message says what to do. */
  | {
      kind: 'refused'
      reason: RefusalReason
      message: string
    }

export type Verification =
  /** `outOfRange`: addresses that are held although no Subnet of the context contains them any more; absent where it does not matter. */
  | { kind: 'standing'; outOfRange?: readonly string[] }
  /**
   * One address of the interface has no allocation any more, or its allocation belongs to someone else. `untold`: nothing will
   * tell when that ends, so it is to be asked again after a while.
   */
  | { kind: 'missing'; address: string; message: string; untold?: true }
  /**
   * Nothing speaks against it, but what would say so is not there, as the network context. `withheld`: what is listed may be
   * another's, and reaches nobody.
   */
  | { kind: 'unknown'; message: string; withheld?: true }

export type AddressAllocator = {
  /**
   * Allocates every request of a claim, or none. Repeatable: the same claim (uid) gets the same addresses again, also after
   * a crash between allocation and interface, also from a second leader. Nothing is handed out before all holders are known.
   * May write; throws the writer's signals (WriteRaced, …) and faults.
   */
  allocate(
    request: {
      claim: NetworkInterfaceClaim
      context: NetworkContext
      subnets: readonly Subnet[]
      wants: readonly AddressRequest[]
    },
    signal: AbortSignal,
  ): Promise<Allocation>
  /**
   * Whether each address of an interface is still allocated to it; one that is merely missing is allocated again first. Without
   * its context nothing is allocated, and the answer is what stands. `speaker`: the claim whose status is to say it, absent: the
   * interface's is; while nobody can tell, the answer is what that one said.
   */
  verify(
    request: {
      interface: NetworkInterface
      context: NetworkContext | undefined
      subnets: readonly Subnet[]
      speaker?: NetworkInterfaceClaim
    },
    signal: AbortSignal,
  ): Promise<Verification>
  /**
   * Gives back every address the interface lists and every one allocated in its claim's name. Idempotent; call only when its
   * attachment is gone. Throws GiveBackWaits, as the next two do.
   */
  releaseInterface(nic: NetworkInterface, signal: AbortSignal): Promise<void>
  /**
   * Gives back what was allocated in the name of a claim that (a live read says) has no interface: crash leftovers. Idempotent.
   * `wants`: what the claim asks for, where it is known.
   */
  releaseClaim(claim: ReleasedClaim, signal: AbortSignal): Promise<void>
  /** Gives back allocations of the claim that its interface does not list (after a live read of both by the caller). */
  releaseSurplus(claim: NetworkInterfaceClaim, nic: NetworkInterface, signal: AbortSignal): Promise<void>
  /** Whether the claim seems to hold what its interface does not list. From what is known: no request. */
  hasSurplus(claim: NetworkInterfaceClaim, nic: NetworkInterface): boolean
  /**
   * Uids, other than the live claim's, in whose name allocations of this claim name stand that no interface lists. From what is
   * known: no request. Nothing is given back for it before a live read says that such a uid is nobody's.
   */
  strays(claim: Key, liveUid: string | undefined): readonly string[]
  /** Whether the interface may list all of these addresses: each is held for it. From what is known: no request. */
  holds(nic: NetworkInterface, addresses: readonly ListedAddress[]): boolean
  /** Tells whom a change of the allocations concerns, until the returned function is called. Own answers are no news. */
  onChange(listener: (news: AllocationNews) => void): () => void
}

export type ReleasedClaim = { namespace: string; name: string; uid: string; wants?: readonly AddressRequest[] }

export type AllocationNews = { readonly claims: Iterable<Key>; readonly interfaces: Iterable<Key> }

/**
 * Addresses cannot be given back now: whoever holds them is not reached, or refuses. What is deleted waits, saying the message;
 * `onChange` tells when it is worth trying again.
 */
export class GiveBackWaits extends Error {
  override readonly name = 'GiveBackWaits'
  readonly code = 'GIVE_BACK_WAITS'
}
