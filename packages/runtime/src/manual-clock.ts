/** A clock for tests: time stands still until it is told to go on. */
import type { Clock } from './clock.ts'

export type ManualClock = Clock & {
  /** Lets `ms` pass: timers go off in their order, and what they set in motion gets its turn before the next one. */
  advance(ms: number): Promise<void>
  /** Time goes by while nothing runs, as in a process that was frozen: timers that became due go off with the next `advance`. */
  freeze(ms: number): void
  /** Moves the wall clock alone, as a wrong or corrected system clock would. */
  shiftWall(ms: number): void
  /** Timers that are set. */
  readonly timers: number
}

/** Gives everything that is ready, and what follows from it, its turn. */
export async function turns(count = 4): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

type Timer = { due: number; call: () => void }

/** Of timers that are due together, the one that was set first. */
function earliest(timers: Iterable<Timer>): Timer | undefined {
  let first: Timer | undefined
  for (const timer of timers) if (!first || timer.due < first.due) first = timer
  return first
}

export function createManualClock(start: Date = new Date('2030-01-01T00:00:00Z')): ManualClock {
  const timers = new Set<Timer>()
  let monotonic = 0
  let wallShift = 0

  const after: Clock['after'] = (ms, call) => {
    if (Number.isNaN(ms)) throw new RangeError('a delay of NaN milliseconds')
    const timer = { due: monotonic + Math.max(0, ms), call }
    timers.add(timer)
    return () => timers.delete(timer)
  }

  return {
    now: () => new Date(start.getTime() + monotonic + wallShift),
    monotonic: () => monotonic,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const stop = () => {
          cancel()
          reject(signal.reason)
        }
        const cancel = after(ms, () => {
          signal.removeEventListener('abort', stop)
          resolve()
        })
        signal.addEventListener('abort', stop, { once: true })
      }),
    async advance(ms) {
      const end = monotonic + ms
      await turns()
      for (;;) {
        const next = earliest(timers)
        if (!next || next.due > end) break
        timers.delete(next)
        monotonic = Math.max(monotonic, next.due)
        next.call()
        await turns()
      }
      monotonic = end
      await turns()
    },
    freeze(ms) {
      monotonic += ms
    },
    shiftWall(ms) {
      wallShift += ms
    },
    get timers() {
      return timers.size
    },
  }
}
