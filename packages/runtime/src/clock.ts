/** Time as an argument. Nothing else in this package reads a clock or sets a timer. */

export type Clock = {
  /** Wall time: for what is written into objects. */
  now(): Date
  /** Milliseconds that only grow: for everything that measures or expires. */
  monotonic(): number
  /** Resolves after `ms` (any finite size: longer than a timer can hold is re-armed); rejects with the signal's reason when aborted. NaN is refused. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Calls back once after `ms`; the returned function cancels. NaN is refused. */
  after(ms: number, call: () => void): () => void
}

/** Longest delay a timer holds: beyond it setTimeout fires at once. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const aborted = () => {
        cancel()
        reject(signal.reason)
      }
      const cancel = systemClock.after(ms, () => {
        signal.removeEventListener('abort', aborted)
        resolve()
      })
      signal.addEventListener('abort', aborted, { once: true })
    })
  },
  after(ms, call) {
    if (Number.isNaN(ms)) throw new RangeError('a delay of NaN milliseconds')
    const due = performance.now() + Math.max(0, ms)
    let timer: ReturnType<typeof setTimeout>
    const arm = () => {
      const left = due - performance.now()
      timer = left > longestTimerMs ? setTimeout(arm, longestTimerMs) : setTimeout(call, Math.max(0, left))
    }
    arm()
    return () => clearTimeout(timer)
  },
}
