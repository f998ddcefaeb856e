/** The connection to one address service: its client, what is known of its claims, and whether it can be reached. */
import {
  type Cache,
  type Clock,
  createCache,
  createClient,
  type FollowedCache,
  type Jitter,
  type Logger,
  linkedSignal,
  type Metrics,
  noWriteMetrics,
  type SpecOf,
  type StatusOf,
  type Transport,
} from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { checkedClient } from './checked-client.ts'
import { ipClaimIndexes, pruned } from './ip-claim.ts'
import { createReach, type Reach } from './reach.ts'
import type { AddressService } from './service.ts'

/**
 * `followed`: the cache tells what stands, and of what it lacks only a live read is surer. `pending`: the process has just
 * started, and will know soon. `unfollowed`: the service is away or lets nobody watch, so only live reads tell.
 */
export type Knowledge = 'followed' | 'pending' | 'unfollowed'

export type IpamConnection = AddressService &
  Pick<Reach, 'onBack'> & {
    readonly isAway: boolean
    knowledge(): Knowledge
    /** Calls back when it moves. */
    onKnowledge(listener: () => void): () => void
    /** Follows until aborted. Nothing waits for the service. */
    run(signal: AbortSignal): Promise<void>
    close(): Promise<void>
  }

export type ConnectionOptions = {
  /** Of the service's API server; closed by `close`. */
  transport: Transport
  /** Refuses writes while this process does not lead. */
  fence: (transport: Transport) => Transport
  /** Of NSO's own cluster. */
  namespaces: Cache
  clock: Clock
  jitter: Jitter
  log: Logger
  metrics?: Pick<Metrics, 'client' | 'cache' | 'raceRequeue'>
}

/** A first list that takes longer than this is not waited for. */
const patienceMs = 3_000
/** A pass waits for a busy service no longer: workers are few, and who is waited for may be gone. */
const retryForMs = 1_500

type IPClaims = FollowedCache<SpecOf<typeof IPClaim>, StatusOf<typeof IPClaim>>

export function connectIpam(options: ConnectionOptions): IpamConnection {
  const { clock, jitter, log, metrics } = options
  const reach = createReach(options.transport, { clock, jitter })
  const client = checkedClient(
    createClient(options.fence(reach.transport), {
      clock,
      jitter,
      retryForMs,
      host: 'ipam',
      ...(metrics ? { metrics: metrics.client } : {}),
    }),
  )
  const claims: IPClaims = createCache(
    client,
    IPClaim,
    { indexes: ipClaimIndexes, prune: pruned },
    { clock, jitter, log, ...(metrics ? { metrics: metrics.cache } : {}) },
  )
  reach.onBack(claims.poke)
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  claims.onState(tell)
  let isPatient = true

  return {
    client,
    claims,
    namespaces: options.namespaces,
    counts: metrics ?? noWriteMetrics,
    onBack: reach.onBack,
    get isAway() {
      return reach.isAway
    },
    knowledge() {
      if (claims.state === 'synced' || claims.state === 'stale') return 'followed'
      return claims.state === 'starting' && isPatient && !reach.isAway ? 'pending' : 'unfollowed'
    },
    onKnowledge(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async run(signal) {
      const running = linkedSignal(signal)
      const cancel = clock.after(patienceMs, () => {
        isPatient = false
        tell()
      })
      try {
        await Promise.all([claims.run(running.signal), reach.run(running.signal)])
      } finally {
        cancel()
        running.release()
      }
    },
    close: () => reach.transport.close(),
  }
}
