/**
 * The built-in address allocator: AddressLease objects beside the claims, whose names are the locks. It keeps nothing that a
 * restart would miss, and a second allocator on the same cluster never hands out an address of the first.
 */
import { AddressLease, managers, type NetworkContext, type Subnet } from '@nso/api'
import { createWriter, keyFor, keyOf, type WriterEnvironment } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { allocate } from './allocate.ts'
import { releaseClaim, releaseInterface, releaseSurplus } from './give-back.ts'
import { createHeldAddresses } from './held.ts'
import { hasSurplus, holdsAll, strayUids } from './known.ts'
import type { AllocatorParts } from './parts.ts'
import type { AddressAllocator, AllocationNews } from './port.ts'
import { createPosting } from './posting.ts'
import { verify } from './verify.ts'
import { createWaitingClaims } from './waiting.ts'
import { leaseNews } from './wake.ts'

export type BuiltinAllocator = AddressAllocator & {
  /** Addresses chosen and not yet answered for: 0 when nothing is in flight. */
  readonly reserved: number
  /** Claims that wait for an address to come free. */
  readonly waiting: number
}

/**
 * `leases` carries the indexes of `leaseIndexes`. Both caches must be listed before the first allocation: their holders
 * would be passed over. Writes go out in the name of the controller that decides them: creates in the claim controller's.
 */
export function createBuiltinAllocator(
  environment: WriterEnvironment,
  caches: Pick<Caches, 'leases' | 'interfaces' | 'claims' | 'contexts' | 'subnets'>,
): BuiltinAllocator {
  const common = { ...environment, kind: AddressLease, cache: caches.leases }
  const claimWriter = createWriter({
    ...common,
    controller: 'networkinterfaceclaim',
    manager: managers.claim,
    writes: ['create', 'remove'],
  })
  const interfaceWriter = createWriter({
    ...common,
    controller: 'networkinterface',
    manager: managers.interface,
    writes: ['remove'],
  })
  const held = createHeldAddresses(caches)
  const waiting = createWaitingClaims()
  // Not every claim is released: others may take its finalizer away.
  caches.claims.subscribe(({ key, after }) => {
    if (!after) waiting.end(key)
  })
  const parts: AllocatorParts = {
    leases: caches.leases,
    client: environment.client,
    held,
    waiting,
    posting: createPosting(claimWriter),
    subnetsElsewhere: (context) => subnetsElsewhere(caches, context),
    claimWriter,
    interfaceWriter,
  }
  const requireListed = () => {
    for (const cache of [caches.leases, caches.interfaces]) {
      if (cache.state === 'synced' || cache.state === 'stale') continue
      throw new Error(
        `${cache.kind.plural} are not listed (${cache.state}): no address is handed out before all holders are known`,
      )
    }
  }
  return {
    async allocate(request, signal) {
      requireListed()
      return allocate(parts, request, signal)
    },
    async verify(request, signal) {
      requireListed()
      return verify(parts, request, signal)
    },
    releaseInterface: (nic, signal) => releaseInterface(parts, nic, signal),
    releaseClaim: (claim, signal) => releaseClaim(parts, claim, signal),
    releaseSurplus: (claim, nic, signal) => releaseSurplus(parts, claim, nic, signal),
    hasSurplus: (claim, nic) => hasSurplus(caches, claim, nic),
    strays: (claim, liveUid) => strayUids(caches, claim, liveUid),
    holds: (nic, addresses) => holdsAll(caches, nic, addresses),
    onChange: tellOf(caches, parts),
    get reserved() {
      return held.reserved
    },
    get waiting() {
      return waiting.size
    },
  }
}

/** Both sources are followed once for all listeners: who waits for an address is asked once when one comes free. */
function tellOf(
  caches: Pick<Caches, 'leases' | 'interfaces' | 'claims'>,
  { held, waiting }: AllocatorParts,
): AddressAllocator['onChange'] {
  const listeners = new Set<(news: AllocationNews) => void>()
  const tell = (news: AllocationNews) => {
    for (const listener of listeners) listener(news)
  }
  caches.leases.subscribe((change) => tell(leaseNews(caches, change)))
  held.onFreed((network, family) => tell({ claims: waiting.take(network, family), interfaces: [] }))
  return (listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
}

function subnetsElsewhere(
  { contexts, subnets }: Pick<Caches, 'contexts' | 'subnets'>,
  { spec, metadata }: NetworkContext,
): readonly Subnet[] {
  return contexts
    .by('network', keyFor(spec.network.name, metadata.namespace))
    .filter(({ metadata: { name } }) => name !== metadata.name)
    .flatMap((context) => subnets.by('context', keyOf(context)))
}
