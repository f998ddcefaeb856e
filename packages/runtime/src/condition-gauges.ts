/**
 * How many objects of a cache say yes, no or nothing in one condition, by reason, and for how long the oldest of those that do
 * not say yes has been waiting. No label holds the name of an object, and reasons that are not declared share one label.
 */
import type { Registry } from 'prom-client'
import type { Cache } from './cache.ts'
import type { Clock } from './clock.ts'
import type { ConditionDefinition, ConditionStatus } from './condition.ts'
import type { KubeObject } from './kind.ts'
import { registerScrapedGauges, type Series } from './scraped-gauges.ts'

export type ConditionGauges<S, T> = {
  registry: Registry
  clock: Pick<Clock, 'now'>
  cache: Pick<Cache<S, T>, 'state' | 'values'>
  condition: Pick<ConditionDefinition, 'type' | 'reasons'>
  /** Metric names. `oldest` is in seconds. */
  names: { count: string; oldest: string }
  /** For help texts, in the plural. */
  what: string
}

/** For objects that are being deleted: their conditions are no news, how long it takes is. */
const deleting = 'Deleting'
/** For reasons that somebody made up. */
const other = 'Other'

type Said = { status: ConditionStatus | typeof deleting; reason: string; since: string | undefined }

/** While the cache has not listed, or its kind is not served, there are no series: that is not the same as none. */
export function registerConditionGauges<S, T>(options: ConditionGauges<S, T>): void {
  const { condition, names, what, cache } = options
  const label = condition.type.toLowerCase()
  registerScrapedGauges(
    options.registry,
    {
      [names.count]: {
        help: `Number of ${what} by what their condition ${condition.type} says: True, False or Unknown; ${deleting}: on their way out`,
        labelNames: [label, 'reason'],
      },
      [names.oldest]: {
        help: `Seconds that the oldest of the ${what} that are not ${condition.type} has been so, by reason; ${deleting}: since its deletion`,
        labelNames: ['reason'],
      },
    },
    () => (cache.state === 'synced' || cache.state === 'stale' ? look(options, label) : undefined),
  )
}

function look<S, T>({ cache, condition, names, clock }: ConditionGauges<S, T>, label: string): Series<string>[] {
  const now = clock.now().getTime()
  const counts = new Map<string, { status: Said['status']; reason: string; count: number }>()
  const oldest = new Map<string, number>()
  // One series is always there, which tells "none" from "not known".
  for (const reason of condition.reasons.True.slice(0, 1)) counts.set(`True ${reason}`, { status: 'True', reason, count: 0 })
  for (const object of cache.values()) {
    const { status, reason, since } = said(object, condition)
    const id = `${status} ${reason}`
    const entry = counts.get(id) ?? { status, reason, count: 0 }
    entry.count++
    counts.set(id, entry)
    if (status !== 'True') oldest.set(reason, Math.max(oldest.get(reason) ?? 0, age(since, now)))
  }
  return [
    ...[...counts.values()].map(({ status, reason, count }) => ({
      gauge: names.count,
      labels: { [label]: status, reason },
      value: count,
    })),
    ...[...oldest].map(([reason, value]) => ({ gauge: names.oldest, labels: { reason }, value })),
  ]
}

/** Clocks differ: what began in the future has just begun. */
const age = (since: string | undefined, now: number): number => {
  const began = Date.parse(since ?? '')
  return Number.isNaN(began) ? 0 : Math.max(0, (now - began) / 1000)
}

const statuses: readonly string[] = ['True', 'False', 'Unknown']

/** Without a condition, or with one that only its schema's default put there (time zero), the object waits since its creation. */
function said<S, T>({ metadata, status }: KubeObject<S, T>, { type, reasons }: ConditionGauges<S, T>['condition']): Said {
  if (metadata.deletionTimestamp) return { status: deleting, reason: deleting, since: metadata.deletionTimestamp }
  const found = conditionsIn(status).find((each) => each.type === type)
  const is = (found && statuses.includes(String(found.status)) ? found.status : 'Unknown') as ConditionStatus
  const reason = typeof found?.reason === 'string' && reasons[is].includes(found.reason) ? found.reason : other
  const moved = typeof found?.lastTransitionTime === 'string' ? found.lastTransitionTime : undefined
  const isSeed = moved === undefined || Date.parse(moved) === 0
  return { status: is, reason: found ? reason : notSaid, since: isSeed ? metadata.creationTimestamp : moved }
}

/** The object has no such condition at all. */
const notSaid = 'NotReported'

type Fields = Readonly<Record<string, unknown>>

/** Whatever stands there: the status of a kind without a schema may hold anything. */
function conditionsIn(status: unknown): readonly Fields[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown }
  return Array.isArray(conditions) ? conditions.filter((each): each is Fields => typeof each === 'object' && each !== null) : []
}
