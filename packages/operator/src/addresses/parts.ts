/** What the parts of the built-in allocator share. */
import type { AddressLease, NetworkContext, NetworkInterface, Subnet } from '@nso/api'
import type { Cache, ChildWriter, Client, KubeObject } from 'kube-control-loop'
import type { HeldAddresses } from './held.ts'
import type { Posting } from './posting.ts'
import type { WaitingClaims } from './waiting.ts'

type CacheFor<O extends KubeObject> = O extends KubeObject<infer Spec, infer Status> ? Cache<Spec, Status> : never
type WriterFor<O extends KubeObject> = O extends KubeObject<infer Spec, infer Status> ? ChildWriter<Spec, Status> : never

/** With the indexes of `leaseIndexes`. */
export type LeaseCache = CacheFor<AddressLease>
export type InterfaceCache = CacheFor<NetworkInterface>
export type LeaseWriter = WriterFor<AddressLease>

export type AllocatorParts = {
  readonly leases: LeaseCache
  readonly held: HeldAddresses
  readonly waiting: WaitingClaims
  readonly posting: Posting
  readonly client: Pick<Client, 'find'>
  /** Subnets of the other contexts of a context's network. */
  subnetsElsewhere(context: NetworkContext): readonly Subnet[]
  /** Deletes in the name of the claim controller: what it took and does not need. */
  readonly claimWriter: Pick<LeaseWriter, 'remove'>
  /** Deletes in the name of the interface controller: what an attachment no longer uses. */
  readonly interfaceWriter: Pick<LeaseWriter, 'remove'>
}
