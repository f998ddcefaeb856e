/** What a process under test counted and said about one write: read from its metrics page and its log. */
import assert from 'node:assert/strict'
import { type RaceBed, type RaceRow, resourceOf } from './race-table.ts'
import { KindUnserved, WriteGone, WriteRaced } from './write-signals.ts'

export type Counts = { raced: number; gone: number; errors: number; causes: string[] }

type Series = readonly { labels: Partial<Record<string, string | number>>; value: number }[]

async function series({ registry }: RaceBed, name: RegExp): Promise<Series> {
  const metric = (await registry.getMetricsAsJSON()).find((each) => name.test(each.name))
  if (!metric) throw new Error(`no metric is called ${name}`)
  return metric.values
}

const total = (values: Series) => values.reduce((sum, { value }) => sum + value, 0)

/** Races and deletions of this write; errors of every controller of the process. */
export async function counted(bed: RaceBed, row: RaceRow<never>): Promise<Counts> {
  const own = (values: Series) =>
    values.filter(
      ({ labels }) => labels.controller === row.controller && labels.resource === resourceOf(row) && labels.verb === row.verb,
    )
  const raced = own(await series(bed, /write_race_requeues_total$/))
  const gone = own(await series(bed, /write_gone_total$/))
  return {
    raced: total(raced),
    gone: total(gone),
    errors: total(await series(bed, /^controller_runtime_reconcile_errors_total$/)),
    causes: [...raced, ...gone].map(({ labels }) => String(labels.cause)),
  }
}

/** Ends of passes that this write caused, as logged: the level, and the delay until the next pass. */
export function ends(
  { lines }: RaceBed,
  row: RaceRow<never>,
  Signal: typeof WriteRaced | typeof WriteGone | typeof KindUnserved,
) {
  return lines.flatMap(({ level, fields: { err, afterMs } }) => {
    if (!(err instanceof Signal)) return []
    const { controller, resource, verb } = err.target
    const isOwn = controller === row.controller && resource === resourceOf(row) && verb === row.verb
    return isOwn ? [{ level, afterMs: Number(afterMs) }] : []
  })
}

const signals = [WriteRaced, WriteGone, KindUnserved]

/** Nothing is logged as an error, and no lost race, deletion or missing kind above debug. */
export function assertQuiet({ lines }: RaceBed): void {
  const isSignal = (error: unknown) => signals.some((signal) => error instanceof signal)
  const loud = lines.filter(({ level, fields }) => level === 'error' || (level !== 'debug' && isSignal(fields.err)))
  assert.deepEqual(
    loud.map(({ level, message, fields }) => `${level} ${message}: ${String(fields.err)}`),
    [],
    'races and deletions are said at debug only',
  )
}

/** Delays in ms, at least so many: each is longer than the last, and none longer than the cap of lost races. */
export function assertGrowing(delays: readonly number[], atLeast: number): void {
  assert.ok(delays.length >= atLeast, `${delays.length} delays are logged`)
  for (const [at, delay] of delays.entries()) {
    assert.ok(delay > (delays[at - 1] ?? 0), `delays grow: ${delays.join(', ')}`)
    assert.ok(delay <= 5_000, `delays stay short: ${delays.join(', ')}`)
  }
}
