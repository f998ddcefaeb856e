/** Waiting for what a watch tells, with an end. */
import { type Clock, linkedSignal } from 'kube-control-loop'
import { CaseFailed, type Evidence } from './verdict.ts'

export type Waiting = {
  clock: Clock
  /** Longest time in ms. */
  limitMs: number
  signal: AbortSignal
  /** Calls back when it is worth looking again. */
  onChange(handler: () => void): () => void
  /** What to show when the time is over. */
  evidence?: () => Evidence
}

/**
 * Resolves with the first answer that is not undefined; looks now and after each change. Rejects with `CaseFailed` when the
 * time is over, and with the signal's reason when it is aborted. A look that throws ends the wait with what it threw.
 */
export async function until<T>(what: string, look: () => T | undefined, waiting: Waiting): Promise<T> {
  const { clock, limitMs, signal } = waiting
  const ended = Promise.withResolvers<T>()
  const check = () => {
    try {
      const answer = look()
      if (answer !== undefined) ended.resolve(answer)
    } catch (error) {
      ended.reject(error)
    }
  }
  const stop = () => ended.reject(signal.reason)
  const late = () => ended.reject(new CaseFailed(`${what}: not within ${limitMs / 1000} s`, waiting.evidence?.()))
  if (signal.aborted) throw signal.reason
  const undo = [waiting.onChange(check), clock.after(limitMs, late)]
  signal.addEventListener('abort', stop, { once: true })
  check()
  try {
    return await ended.promise
  } finally {
    for (const each of undo) each()
    signal.removeEventListener('abort', stop)
  }
}

/** Resolves when nothing has changed for `quietMs`, or after `limitMs` with false. */
export async function quiet(quietMs: number, { clock, limitMs, signal, onChange }: Waiting): Promise<boolean> {
  const over = linkedSignal(signal)
  const done = Promise.withResolvers<boolean>()
  let cancel = clock.after(quietMs, () => done.resolve(true))
  const undo = onChange(() => {
    cancel()
    cancel = clock.after(quietMs, () => done.resolve(true))
  })
  const giveUp = clock.after(limitMs, () => done.resolve(false))
  const stop = () => done.reject(signal.reason)
  over.signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await done.promise
  } finally {
    for (const each of [undo, giveUp, () => cancel(), () => over.release()]) each()
  }
}
