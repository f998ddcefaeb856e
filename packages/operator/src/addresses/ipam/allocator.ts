/**
 * Addresses of an address service, `ipam.miloapis.com`: one IPClaim per address, whose names follow from the claim. It keeps
 * nothing that a restart would miss. What stands depends on the service; nothing of our own cluster does: while the service is
 * away what is bound stays as it is, and what needs it says so and goes on by itself.
 */
import type { Client, Clock, Jitter } from 'kube-control-loop'
import type { Caches } from '../../caches.ts'
import type { AddressAllocator } from '../port.ts'
import { allocate } from './allocate.ts'
import type { IpamConnection } from './connection.ts'
import { releaseClaim, releaseInterface, releaseSurplus } from './give-back.ts'
import { createInterests } from './interests.ts'
import { holdsAll, strayUids, surplusOf } from './known.ts'
import type { Losses } from './losses.ts'
import { createNews } from './news.ts'
import type { IpamParts } from './parts.ts'
import { verify } from './verify.ts'

export type IpamAllocatorOptions = {
  service: IpamConnection
  caches: Pick<Caches, 'claims' | 'interfaces'>
  /** Of NSO's own cluster. */
  cluster: Pick<Client, 'find'>
  /** This location, where it is known: the service may serve others too. */
  location: () => string | undefined
  clock: Clock
  jitter: Jitter
  losses: Losses
}

export function createIpamAllocator(options: IpamAllocatorOptions): AddressAllocator {
  const { service, caches, cluster, clock, location, losses } = options
  const interests = createInterests()
  const news = createNews({ service, caches, interests, clock, jitter: options.jitter })
  const { freed, whenBack, inAWhile } = news
  const parts: IpamParts = {
    ...{ service, caches, cluster, clock, interests, losses, freed, whenBack, inAWhile, location },
    families: new Map(),
  }
  caches.interfaces.subscribe(({ key, after }) => after ?? losses.forget(key))

  return {
    allocate: (request, signal) => allocate(parts, request, signal),
    verify: (request, signal) => verify(parts, request, signal),
    releaseInterface: (nic, signal) => releaseInterface(parts, nic, signal),
    releaseClaim: (claim, signal) => releaseClaim(parts, claim, signal),
    releaseSurplus: (claim, nic, signal) => releaseSurplus(parts, surplusOf(parts, claim, nic), claim, signal),
    hasSurplus: (claim, nic) => surplusOf(parts, claim, nic).length > 0,
    strays: (claim, liveUid) => strayUids(parts, claim, liveUid),
    holds: (nic, addresses) => holdsAll(parts, nic, addresses),
    onChange: news.onChange,
  }
}
