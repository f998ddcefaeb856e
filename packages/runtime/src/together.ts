/** Writes side by side, all finished before the pass goes on: none is still in flight when the pass ends. */
import { LeadershipLost } from './fenced-transport.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced } from './write-signals.ts'

/** The signals that end a pass without being an error, weakest last. */
const quiet = [LeadershipLost, WriteRaced, WriteHeldBack, KindUnserved, WriteGone] as const

/** Below 0: a fault. */
function rankOf(error: unknown): number {
  return quiet.findIndex((signal) => error instanceof signal)
}

/**
 * Waits until every promise has ended. Then answers all values, or throws what weighs most: a fault before a lost race,
 * that before a write that was held back, that before "not served", that before "gone". Several faults come as one AggregateError.
 */
export async function together<T extends readonly unknown[]>(promises: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const ends = await Promise.allSettled(promises)
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
  if (errors.length === 0) return ends.map((end) => (end.status === 'fulfilled' ? end.value : undefined)) as unknown as T
  const [worst, second] = errors.toSorted((a, b) => rankOf(a) - rankOf(b))
  if (second !== undefined && rankOf(second) < 0) throw new AggregateError(errors.filter((each) => rankOf(each) < 0))
  throw worst
}
