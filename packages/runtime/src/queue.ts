/**
 * Keys to work on. A key waits at most once, is handed to one worker at a time, and has at most one timer.
 * Promises: after each `add` a pass begins that sees what caused it, no later than its delay; nothing is lost.
 * A pass that begins makes an earlier-set timer pointless (it looks at everything), so it is dropped.
 */
import type { Clock } from './clock.ts'
import type { Key } from './kind.ts'

export type AddOptions = {
  /** Before everything that is not urgent. */
  urgent?: boolean
  /** Not before so many ms (finite), unless something else wakes the key. */
  afterMs?: number
}

export type QueueMetrics = {
  added(): void
  depth(keys: number): void
  /** Seconds between becoming due and being taken. */
  waited(seconds: number): void
  /** Seconds between being taken and done. */
  worked(seconds: number): void
  retried(): void
}

export type Queue = {
  add(key: Key, options?: AddOptions): void
  /** Counts a failure of the key and adds it after `delayOf(failures in a row)` ms, which is answered. */
  retry(key: Key, delayOf: (failures: number) => number, options?: { urgent?: boolean }): number
  /** The next key, now in work, or undefined when none is due. `done` must follow. */
  take(): { key: Key; urgent: boolean } | undefined
  done(key: Key): void
  /** The failures in a row end: the key did well. */
  forget(key: Key): void
  failures(key: Key): number
  /** Whether the key waits, has a timer or was added while in work. */
  pending(key: Key): boolean
  /** Cancels all timers and drops all waiting keys. */
  clear(): void
  readonly held: { waiting: number; working: number; timers: number; failing: number }
  /** Seconds each key in work has been so, for metrics that are read at scrape. */
  workingSeconds(): number[]
}

/** After so many urgent keys in a row one that is not urgent has its turn, so that resyncs never starve. */
const urgentInARow = 16

type Waiting = { key: Key; urgent: boolean; since: number }
type Working = { since: number; again?: { urgent: boolean } }
type Timer = { due: number; urgent: boolean; cancel(): void }

export const noQueueMetrics: QueueMetrics = { added() {}, depth() {}, waited() {}, worked() {}, retried() {} }

/** `onDue` is called, synchronously, whenever a key can be taken that could not before. */
export function createQueue(clock: Clock, metrics: QueueMetrics = noQueueMetrics, onDue: () => void = () => {}): Queue {
  const waiting = new Map<Key, Waiting>()
  const lanes = { urgent: new Set<Waiting>(), rest: new Set<Waiting>() }
  const working = new Map<Key, Working>()
  const timers = new Map<Key, Timer>()
  const failing = new Map<Key, number>()
  let inARow = 0

  const stopTimer = (key: Key) => {
    timers.get(key)?.cancel()
    timers.delete(key)
  }

  const enqueue = (key: Key, urgent: boolean) => {
    const inWork = working.get(key)
    if (inWork) {
      inWork.again = { urgent: urgent || inWork.again?.urgent === true }
      return
    }
    const standing = waiting.get(key)
    if (standing) {
      if (urgent && !standing.urgent) {
        standing.urgent = true
        lanes.rest.delete(standing)
        lanes.urgent.add(standing)
      }
      return
    }
    const entry = { key, urgent, since: clock.monotonic() }
    waiting.set(key, entry)
    lanes[urgent ? 'urgent' : 'rest'].add(entry)
    metrics.added()
    metrics.depth(waiting.size)
    onDue()
  }

  const addLater = (key: Key, afterMs: number, urgent: boolean) => {
    const due = clock.monotonic() + afterMs
    const standing = timers.get(key)
    const urgentThen = urgent || standing?.urgent === true
    if (standing && standing.due <= due) {
      standing.urgent = urgentThen
      return
    }
    standing?.cancel()
    const timer: Timer = { due, urgent: urgentThen, cancel: () => {} }
    timers.set(key, timer)
    timer.cancel = clock.after(afterMs, () => {
      timers.delete(key)
      enqueue(key, timer.urgent)
    })
  }

  const add: Queue['add'] = (key, { urgent = false, afterMs = 0 } = {}) => {
    if (!Number.isFinite(afterMs)) throw new RangeError(`a delay of ${afterMs} ms`)
    if (afterMs > 0) addLater(key, afterMs, urgent)
    else enqueue(key, urgent)
  }

  const pick = (): Waiting | undefined => {
    const [urgent] = lanes.urgent
    const [rest] = lanes.rest
    const restsTurn = urgent === undefined || (rest !== undefined && inARow >= urgentInARow)
    inARow = restsTurn ? 0 : inARow + 1
    return restsTurn ? rest : urgent
  }

  const take: Queue['take'] = () => {
    const entry = pick()
    if (!entry) return undefined
    const { key } = entry
    waiting.delete(key)
    lanes.urgent.delete(entry)
    lanes.rest.delete(entry)
    stopTimer(key)
    const now = clock.monotonic()
    working.set(key, { since: now })
    metrics.waited((now - entry.since) / 1000)
    metrics.depth(waiting.size)
    return { key, urgent: entry.urgent }
  }

  return {
    add,
    retry(key, delayOf, { urgent = false } = {}) {
      const failures = (failing.get(key) ?? 0) + 1
      failing.set(key, failures)
      metrics.retried()
      const afterMs = delayOf(failures)
      add(key, { afterMs, urgent })
      return afterMs
    },
    take,
    done(key) {
      const entry = working.get(key)
      if (!entry) return
      working.delete(key)
      metrics.worked((clock.monotonic() - entry.since) / 1000)
      if (entry.again) enqueue(key, entry.again.urgent)
    },
    forget: (key) => failing.delete(key),
    failures: (key) => failing.get(key) ?? 0,
    pending: (key) => waiting.has(key) || timers.has(key) || working.get(key)?.again !== undefined,
    clear() {
      for (const key of [...timers.keys()]) stopTimer(key)
      waiting.clear()
      lanes.urgent.clear()
      lanes.rest.clear()
      failing.clear()
      metrics.depth(0)
    },
    get held() {
      return { waiting: waiting.size, working: working.size, timers: timers.size, failing: failing.size }
    },
    workingSeconds() {
      const now = clock.monotonic()
      return [...working.values()].map(({ since }) => (now - since) / 1000)
    },
  }
}
