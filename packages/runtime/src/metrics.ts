/**
 * One registry per process, with controller-runtime's and client-go's names, so that existing dashboards and alerts work.
 * Labels never hold names, uids or addresses of objects: the number of series does not grow with the objects.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CacheMetrics } from './cache-impl.ts'
import type { EventMetrics } from './events.ts'
import type { ClientMetrics } from './http-client.ts'
import type { ElectionMetrics } from './leader-election.ts'
import type { LoopMetrics } from './loop.ts'
import type { WriteMetrics } from './write-metrics.ts'

export type Metrics = WriteMetrics &
  LoopMetrics & {
    readonly registry: Registry
    readonly cache: CacheMetrics
    readonly election: ElectionMetrics
    readonly events: EventMetrics
    readonly client: ClientMetrics
    /** The text of /metrics. */
    page(): Promise<string>
  }

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3,
  3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000]

function controllerMetrics(registry: Registry): LoopMetrics['controller'] {
  const registers = [registry]
  const controller = ['controller'] as const
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller',
    labelNames: ['controller', 'result'] as const,
    registers,
  })
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Total number of reconciliation errors per controller',
    labelNames: controller,
    registers,
  })
  const seconds = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Length of time per reconciliation per controller',
    labelNames: controller,
    buckets: reconcileBuckets,
    registers,
  })
  const limit = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciles per controller',
    labelNames: controller,
    registers,
  })
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Number of currently used workers per controller',
    labelNames: controller,
    registers,
  })
  return (name) => {
    const labels = { controller: name }
    for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ ...labels, result }, 0)
    errors.inc(labels, 0)
    active.set(labels, 0)
    return {
      passed(result, took) {
        total.inc({ ...labels, result })
        seconds.observe(labels, took)
      },
      failed: () => errors.inc(labels),
      active: (change) => active.inc(labels, change),
      workers: (count) => limit.set(labels, count),
    }
  }
}

function queueMetrics(registry: Registry): LoopMetrics['queue'] {
  const registers = [registry]
  const labelNames = ['name', 'controller'] as const
  const oldest = new Map<string, () => number[]>()
  const depth = new Gauge({ name: 'workqueue_depth', help: 'Current depth of workqueue', labelNames, registers })
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Total number of adds handled by workqueue',
    labelNames,
    registers,
  })
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Total number of retries handled by workqueue',
    labelNames,
    registers,
  })
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long in seconds an item stays in workqueue before being requested',
    labelNames,
    buckets: queueBuckets,
    registers,
  })
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long in seconds processing an item from workqueue takes',
    labelNames,
    buckets: queueBuckets,
    registers,
  })
  const atScrape = (name: string, help: string, of: (seconds: number[]) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [queue, seconds] of oldest) this.set({ name: queue, controller: queue }, of(seconds()))
      },
    })
  atScrape('workqueue_unfinished_work_seconds', 'Seconds of work in progress that work_duration has not observed yet', (all) =>
    all.reduce((sum, each) => sum + each, 0),
  )
  atScrape('workqueue_longest_running_processor_seconds', 'Seconds the longest running processor has been running', (all) =>
    Math.max(0, ...all),
  )
  return (name, workingSeconds) => {
    const labels = { name, controller: name }
    oldest.set(name, workingSeconds)
    depth.set(labels, 0)
    adds.inc(labels, 0)
    retries.inc(labels, 0)
    return {
      added: () => adds.inc(labels),
      depth: (keys) => depth.set(labels, keys),
      waited: (took) => waited.observe(labels, took),
      worked: (took) => worked.observe(labels, took),
      retried: () => retries.inc(labels),
    }
  }
}

function writeMetrics(registry: Registry, prefix: string): WriteMetrics {
  const registers = [registry]
  const labelNames = ['controller', 'resource', 'verb', 'cause'] as const
  const races = new Counter({
    name: `${prefix}write_race_requeues_total`,
    help: 'Writes that lost a race; their key was taken again with backoff',
    labelNames,
    registers,
  })
  const gone = new Counter({
    name: `${prefix}write_gone_total`,
    help: 'Writes to an object that was deleted during the pass; a no-op',
    labelNames,
    registers,
  })
  const conflicts = new Counter({
    name: `${prefix}status_ownership_conflicts_total`,
    help: 'Documented status fields that another manager wrote',
    labelNames: ['resource', 'field', 'manager'] as const,
    registers,
  })
  const rounds = new Counter({
    name: `${prefix}status_ownership_rounds_total`,
    help: 'Times a documented writer took its status fields back from another manager; keeps rising while they fight',
    labelNames: ['resource'] as const,
    registers,
  })
  const managerLabel = fewLabels(mostManagers)
  return {
    raceRequeue: (labels) => races.inc(labels),
    gone: (labels) => gone.inc(labels),
    ownershipConflict: ({ manager, ...labels }) => conflicts.inc({ ...labels, manager: managerLabel(manager) }),
    ownershipRound: (labels) => rounds.inc(labels),
  }
}

/** Anyone may call itself anything. */
const mostManagers = 50

/** The first `most` different values as they are; all that come later are `other`. */
function fewLabels(most: number): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.size < most) known.add(value)
    return known.has(value) ? value : 'other'
  }
}

function cacheMetrics(registry: Registry, prefix: string): CacheMetrics {
  const registers = [registry]
  const lists = new Counter({
    name: `${prefix}cache_lists_total`,
    help: 'Times a kind was listed, by why',
    labelNames: ['resource', 'why'] as const,
    registers,
  })
  const ends = new Counter({
    name: `${prefix}cache_stream_ends_total`,
    help: 'Ends of watches, by how',
    labelNames: ['resource', 'how'] as const,
    registers,
  })
  const handlers = new Counter({
    name: `${prefix}cache_callback_errors_total`,
    help: 'Callbacks of cache subscribers that threw',
    labelNames: ['resource'] as const,
    registers,
  })
  return {
    listed: (resource, why) => lists.inc({ resource, why }),
    streamEnded: (resource, how) => ends.inc({ resource, how }),
    handlerFailed: (resource) => handlers.inc({ resource }),
  }
}

function electionMetrics(registry: Registry, prefix: string): ElectionMetrics {
  const registers = [registry]
  const status = new Gauge({
    name: 'leader_election_master_status',
    help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master',
    labelNames: ['name'] as const,
    registers,
  })
  const errors = new Counter({
    name: `${prefix}leader_election_errors_total`,
    help: 'Reads and writes of the lease that failed',
    labelNames: ['name'] as const,
    registers,
  })
  return {
    leads: (name, yes) => status.set({ name }, yes ? 1 : 0),
    failed: (name) => errors.inc({ name }),
  }
}

function eventMetrics(registry: Registry, prefix: string): EventMetrics {
  const registers = [registry]
  const labelNames = ['what'] as const
  const events = new Counter({
    name: `${prefix}events_total`,
    help: 'Events by what became of them: created, repeated, dropped, failed',
    labelNames,
    registers,
  })
  return { counted: (what) => events.inc({ what }) }
}

/** `prefix` (e.g. `sample_`) goes before every name that is not controller-runtime's. `process: false` leaves out process metrics. */
export function createMetrics(options: { prefix: string; process?: boolean }): Metrics {
  const registry = new Registry()
  if (options.process !== false) collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host',
    labelNames: ['code', 'method', 'host'] as const,
    registers: [registry],
  })
  return {
    registry,
    ...writeMetrics(registry, options.prefix),
    controller: controllerMetrics(registry),
    queue: queueMetrics(registry),
    cache: cacheMetrics(registry, options.prefix),
    election: electionMetrics(registry, options.prefix),
    events: eventMetrics(registry, options.prefix),
    client: { request: (labels) => requests.inc(labels) },
    page: () => registry.metrics(),
  }
}
