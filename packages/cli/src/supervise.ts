/** Keeps a part of the system running: until told otherwise its end is the end of the system, afterwards it is started again. */
import type { Clock } from 'kube-control-loop'

export type Running = {
  /** Resolves when it has ended, with a sentence about how. Never rejects. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

export type Supervised<T extends Running> = {
  /** What runs now, or what ran last. */
  readonly current: T
  /** Resolves with a sentence when the part ends, nobody stopped it, and it is not to be started again. */
  readonly failed: Promise<string>
  /** From now on an end is healed: said, waited for with growing delays, started again. */
  healFromNowOn(): void
  stop(): Promise<void>
}

export type SuperviseOptions<T extends Running> = {
  name: string
  /** Resolves when the part is ready. */
  start: (signal: AbortSignal) => Promise<T>
  /** Ends the first start. */
  signal: AbortSignal
  clock: Clock
  log: (line: string) => void
}

const firstDelayMs = 1000
const longestDelayMs = 60_000
/** A part that ran this long has earned a first delay again. */
const healthyMs = 60_000

/** Starts the part and watches over it; rejects when the first start fails. */
export async function supervise<T extends Running>(options: SuperviseOptions<T>): Promise<Supervised<T>> {
  const { name, start, clock, log } = options
  const ending = new AbortController()
  const failure = Promise.withResolvers<string>()
  let current = await start(options.signal)
  let heals = false
  let delayMs = firstDelayMs

  async function again(): Promise<T> {
    for (;;) {
      log(`starting ${name} again in ${delayMs / 1000} s`)
      await clock.sleep(delayMs, ending.signal)
      delayMs = Math.min(2 * delayMs, longestDelayMs)
      try {
        const next = await start(ending.signal)
        if (!ending.signal.aborted) return next
        // Ready in the instant in which it was no longer wanted: the stop has seen only the one before.
        await next.stop()
        throw ending.signal.reason
      } catch (error) {
        if (ending.signal.aborted) throw error
        log(error instanceof Error ? error.message : String(error))
      }
    }
  }

  async function watch(): Promise<void> {
    for (;;) {
      const since = clock.monotonic()
      const sentence = await current.ended
      if (ending.signal.aborted) return
      if (!heals) return failure.resolve(sentence)
      log(sentence)
      if (clock.monotonic() - since >= healthyMs) delayMs = firstDelayMs
      current = await again()
      log(`${name} runs again`)
    }
  }

  const watching = watch().catch((error: unknown) => {
    if (!ending.signal.aborted) failure.resolve(`${name} could not be kept running: ${String(error)}`)
  })
  return {
    get current() {
      return current
    },
    failed: failure.promise,
    healFromNowOn() {
      heals = true
    },
    async stop() {
      ending.abort(new Error(`${name} is being stopped`))
      await current.stop()
      await watching
    },
  }
}
