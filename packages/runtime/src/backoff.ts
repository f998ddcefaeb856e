/** Delays that grow with the failures in a row. */

/** A number in [0, 1), like Math.random. */
export type Jitter = () => number

/**
 * Delay in ms after the n-th failure in a row (n from 1): doubles from `baseMs`, ends at `capMs`, and lies in the upper half
 * of its step, so that equal histories spread and the next delay is never below the last. Always finite, whatever comes in.
 */
export function backoff(baseMs: number, capMs: number, jitter: Jitter): (failures: number) => number {
  if (!(baseMs > 0 && capMs >= baseMs && Number.isFinite(capMs))) throw new RangeError(`no backoff from ${baseMs} to ${capMs} ms`)
  return (failures) => {
    const doublings = failures >= 1 ? failures - 1 : 0
    const step = Math.min(capMs, baseMs * 2 ** doublings)
    const chance = jitter()
    return step * (0.5 + 0.5 * (chance >= 0 && chance <= 1 ? chance : 1))
  }
}
