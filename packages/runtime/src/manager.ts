/**
 * One process: its client, caches, controllers, lease, events, metrics and health pages, started in order and stopped in
 * order: no new work, work in hand ends or is cut off, events are sent, the lease is given up, connections close.
 */
import type { Jitter } from './backoff.ts'
import type { Cache, CacheOptions } from './cache.ts'
import { createCache, type FollowedCache } from './cache-impl.ts'
import type { Client } from './client.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Controller } from './controller.ts'
import { createCrew } from './crew.ts'
import { createEventRecorder, type EventRecorder } from './events.ts'
import { fenceWrites } from './fenced-transport.ts'
import { createFollowedCaches } from './followed-caches.ts'
import { createClient } from './http-client.ts'
import type { Kind } from './kind.ts'
import { createElector } from './leader-election.ts'
import { createLogger, type Logger } from './log.ts'
import type { LoopParts } from './loop.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { Classify } from './races.ts'
import type { ReflectorOptions } from './reflector.ts'
import { type Check, createOpsServer, type OpsServer, type OpsServerOptions } from './server.ts'
import type { Transport } from './transport.ts'
import { createWriteRegistry, type WriteRegistry } from './write-registry.ts'

export type ManagerOptions = {
  /** Name of the process: field manager of lease and events, `app` of log lines, `host` label of requests. */
  name: string
  /** Closed when the process has stopped. */
  transport: Transport
  /** Goes before the process's own metric names, e.g. `sample_`. */
  metricPrefix: string
  /** Reports events, as `domain/name`. */
  eventController: string
  /** Different for each process, also for two lives of one pod. */
  identity: string
  /** Absent: this process acts without asking. */
  lease?: { namespace: string; name: string; termMs?: number; renewDeadlineMs?: number; retryMs?: number }
  /** Absent: no pages are served. */
  server?: Pick<OpsServerOptions, 'host' | 'port' | 'probes'>
  clock?: Clock
  jitter?: Jitter
  log?: Logger
  metrics?: Metrics
  /** Passes in work may take so long when the process stops (default 10 s). */
  drainMs?: number
  loop?: Pick<LoopParts, 'passLimitMs' | 'errorRetryMs' | 'raceRetryMs'>
  reflector?: ReflectorOptions
  /** For all writers of the process; see `WriterEnvironment`. */
  classify?: Classify
}

export type Manager = {
  /** Its writes are refused here, with LeadershipLost, unless this process leads. */
  readonly client: Client
  readonly metrics: Metrics
  readonly events: EventRecorder
  readonly log: Logger
  readonly clock: Clock
  readonly registry: WriteRegistry
  /** What all writers of the process have in common. */
  readonly writers: {
    client: Client
    metrics: Metrics
    registry: WriteRegistry
    log: Logger
    clock: Clock
    recordEvent: EventRecorder['record']
    classify?: Classify
  }
  /** Of the connection to another server: lets no write out either unless this process leads. */
  fence(transport: Transport): Transport
  /** Makes a cache and follows it while the process runs, from now on if it does already. */
  cache<S, T>(kind: Kind<S, T>, options?: CacheOptions<S, T>): FollowedCache<S, T>
  /** Ends one cache that `cache` made. */
  dropCache(cache: Cache): void
  /** Runs a controller while this process leads. May be called while it does. The returned function ends it. */
  add(controller: Controller): () => Promise<void>
  health(name: string, check: Check): void
  ready(name: string, check: Check): void
  readonly leads: boolean
  /** Where the pages are served, once `run` has started. */
  readonly address: Awaited<ReturnType<OpsServer['start']>> | undefined
  /** Runs until the signal is aborted and everything is put away. Rejects when the pages cannot be served. Once only. */
  run(signal: AbortSignal): Promise<void>
}

/** A cache that cannot follow for so long makes the process not ready. */
const staleLimitMs = 60_000
const flushMs = 2_000

/** A controller's cache that is not filled, and may not be absent either. */
function unfilled(controllers: Iterable<Controller>): Cache | undefined {
  for (const { needs } of controllers) {
    for (const { cache, optional } of needs) {
      if (cache.state === 'starting' || (cache.state === 'unserved' && !optional)) return cache
    }
  }
  return undefined
}

type Tools = { clock: Clock; jitter: Jitter; log: Logger; metrics: Metrics }

/** The client of everything that acts, behind the fence of the lease, and the elector beside it. */
function connect(options: ManagerOptions, { clock, jitter, log, metrics }: Tools) {
  const { transport, identity, name } = options
  const common = { clock, jitter, metrics: metrics.client, host: name }
  if (!options.lease) {
    return { client: createClient(transport, common), elector: undefined, fence: (other: Transport) => other }
  }
  const { namespace, name: leaseName, ...terms } = options.lease
  const elector = createElector({
    ...{ ...terms, clock, jitter, log, identity },
    client: createClient(transport, common),
    metrics: metrics.election,
    lease: { namespace, name: leaseName },
    fieldManager: name,
  })
  const fence = (other: Transport) => fenceWrites(other, { mayWrite: elector.mayWrite, term: elector.term })
  return { client: createClient(fence(transport), common), elector, fence }
}

/** Puts a process together; nothing happens before `run`. */
export function createManager(options: ManagerOptions): Manager {
  const { clock = systemClock, jitter = Math.random, log = createLogger({ name: options.name }) } = options
  const metrics = options.metrics ?? createMetrics({ prefix: options.metricPrefix })
  const tools: Tools = { clock, jitter, log, metrics }
  const { client, elector, fence } = connect(options, tools)
  const registry = createWriteRegistry()
  const events = createEventRecorder({
    ...{ client, clock, log, metrics: metrics.events, fieldManager: options.name },
    controller: options.eventController,
    instance: options.identity,
  })
  const caches = createFollowedCaches(clock, log)
  const crew = createCrew({ ...tools, ...options.loop, drainMs: options.drainMs ?? 10_000 })
  const server = options.server ? createOpsServer({ ...options.server, log, metricsPage: metrics.page }) : undefined
  let address: Manager['address']
  let started = false

  if (elector) server?.health('leader-election', elector.problem)
  server?.ready('caches', () => {
    const missing = unfilled(crew.controllers)
    if (missing) return `${missing.kind.plural} is ${missing.state}`
    const stale = caches.staleFor(staleLimitMs)
    return stale && `${stale.kind.plural} cannot be followed`
  })

  const lead = async (stopping: AbortSignal, lost: AbortSignal) => {
    registry.newTerm()
    await crew.lead(stopping, lost)
    if (!lost.aborted) await events.flush(flushMs)
  }

  return {
    ...{ client, metrics, events, log, clock, registry, fence },
    writers: {
      client,
      metrics,
      registry,
      log,
      clock,
      recordEvent: events.record,
      ...(options.classify ? { classify: options.classify } : {}),
    },
    cache(kind, cacheOptions = {}) {
      const parts = { clock, jitter, log, metrics: metrics.cache }
      const cache = createCache(
        client,
        kind,
        cacheOptions,
        options.reflector ? { ...parts, reflector: options.reflector } : parts,
      )
      caches.add(cache)
      return cache
    },
    dropCache: caches.drop,
    add: crew.add,
    health: (name, check) => server?.health(name, check),
    ready: (name, check) => server?.ready(name, check),
    get leads() {
      return crew.leads
    },
    get address() {
      return address
    },
    async run(signal) {
      if (started) throw new Error('a manager runs once')
      started = true
      const background = new AbortController()
      let sending = Promise.resolve()
      try {
        address = await server?.start()
        caches.follow(background.signal)
        sending = events.run(background.signal)
        if (elector) await elector.run(signal, (lost) => lead(signal, lost))
        else await lead(signal, background.signal)
      } finally {
        background.abort(new Error('the process stops'))
        crew.close()
        await sending
        if (address) await server?.stop()
        await options.transport.close()
      }
    },
  }
}
