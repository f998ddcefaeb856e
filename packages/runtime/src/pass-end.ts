/** How a pass ended: an outcome, or what was thrown, told apart once for all controllers. */
import { LeadershipLost } from './fenced-transport.ts'
import { again, type Outcome } from './outcome.ts'
import { KindUnserved, WriteGone, WriteHeldBack, WriteRaced } from './write-signals.ts'

export type PassEnd =
  | Outcome
  /** A lost write race: again, with backoff, no error. */
  | { kind: 'raced'; error: WriteRaced }
  /** Deleted during the pass: nothing is left to do. */
  | { kind: 'gone'; error: WriteGone }
  /** A kind is not served: its cache will wake the key. */
  | { kind: 'unserved'; error: KindUnserved }
  /** The process stops or does not lead: somebody else's work now, or later ours. */
  | { kind: 'stopped' }
  | { kind: 'fault'; error: unknown }

/** A pass was aborted because it took too long. `cause`: what it was waiting in. */
export class PassTooLong extends Error {
  override readonly name = 'PassTooLong'
  readonly code = 'PASS_TOO_LONG'
  constructor(limitMs: number, options?: ErrorOptions) {
    super(`the pass took longer than ${limitMs} ms`, options)
  }
}

export function passEndOf(error: unknown, isKilled: boolean): PassEnd {
  if (error instanceof WriteRaced) return { kind: 'raced', error }
  if (error instanceof WriteHeldBack) return again(error.afterMs, error.message)
  if (error instanceof WriteGone) return { kind: 'gone', error }
  if (error instanceof KindUnserved) return { kind: 'unserved', error }
  if (error instanceof LeadershipLost || isKilled) return { kind: 'stopped' }
  return { kind: 'fault', error }
}
