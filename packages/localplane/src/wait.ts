/** Waiting for a condition. The only module of this package that sets a timer. */
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { LocalplaneError } from './errors.ts'

/** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal ? { signal } : {})
  } catch (cause) {
    throw signal?.aborted ? signal.reason : cause
  }
}

/** What a probe may answer to say "not yet". */
export type NotYet = undefined | null | false

export type EventuallyOptions = { timeoutMs?: number; everyMs?: number; signal?: AbortSignal }

/**
 * Asks `probe` until it answers something else than undefined, null or false, and resolves with that answer.
 * A probe that throws (an assertion, say) has not succeeded yet. When the time is over it rejects with `TIMED_OUT`, whose
 * message has the last answer and whose cause is what the probe threw last.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | NotYet> | T | NotYet,
  { timeoutMs = 30_000, everyMs = 20, signal }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    let last: { answer: unknown } | { thrown: unknown }
    try {
      const answer = await probe()
      if (answer !== undefined && answer !== null && answer !== false) return answer
      last = { answer }
    } catch (thrown) {
      last = { thrown }
    }
    if (performance.now() >= deadline) throw overdue(what, timeoutMs, last)
    await sleep(everyMs, signal)
  }
}

function overdue(what: string, timeoutMs: number, last: { answer: unknown } | { thrown: unknown }): LocalplaneError {
  const waited = `${what}: not within ${(timeoutMs / 1000).toFixed(1)} s`
  if ('answer' in last) return new LocalplaneError('TIMED_OUT', `${waited}; the last answer was ${inspect(last.answer)}`)
  const text = last.thrown instanceof Error ? last.thrown.message : inspect(last.thrown)
  return new LocalplaneError('TIMED_OUT', `${waited}; the last attempt said: ${text}`, { cause: last.thrown })
}
