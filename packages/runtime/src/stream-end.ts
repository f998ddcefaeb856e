/** How following a kind came to an end, read off what was thrown. */
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { apiVersionOf, type Kind } from './kind.ts'

export type StreamEnd =
  /** By the server, in order. */
  | 'ended'
  /** 410: the version is too old. */
  | 'expired'
  /** Nothing came for the idle limit. */
  | 'silent'
  /** 429. */
  | 'busy'
  /** The kind is not served. */
  | 'unserved'
  /** The server knows no streaming lists. */
  | 'no-streaming'
  | 'failed'

/** Nothing came for the idle limit. */
export class Silence extends Error {
  override readonly name = 'Silence'
  constructor(idleMs: number) {
    super(`nothing came for ${idleMs} ms`)
  }
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined
  return typeof error.status === 'number' ? error.status : undefined
}

function names(answer: unknown, plural: string): boolean {
  if (typeof answer !== 'object' || answer === null || !('resources' in answer) || !Array.isArray(answer.resources)) return false
  return answer.resources.some(
    (each: unknown) => typeof each === 'object' && each !== null && 'name' in each && each.name === plural,
  )
}

/** Whether discovery lacks the kind. Unknown counts as no. */
async function isMissing(client: Client, kind: Kind, signal: AbortSignal): Promise<boolean> {
  const path = kind.group ? `/apis/${apiVersionOf(kind)}` : `/api/${kind.version}`
  try {
    return !names(await client.raw({ method: 'GET', path }, signal), kind.plural)
  } catch (error) {
    return statusOf(error) === 404
  }
}

/**
 * `wasStreamingList`: the attempt asked for initial events. A 404 on a collection says "not served", and discovery has to
 * agree, since an emptied cache means deletions to whoever reads it. Never rejects.
 */
export async function streamEndOf(
  error: unknown,
  asked: { client: Client; kind: Kind; wasStreamingList: boolean; signal: AbortSignal },
): Promise<StreamEnd> {
  if (error instanceof Silence) return 'silent'
  switch (statusOf(error)) {
    case 410:
      return 'expired'
    case 429:
      return 'busy'
    case 404:
      return (await isMissing(asked.client, asked.kind, asked.signal)) ? 'unserved' : 'failed'
    case 400:
    case 422:
      return asked.wasStreamingList ? 'no-streaming' : 'failed'
    default:
      return 'failed'
  }
}

/** Calls `bark` once nothing was heard for so long. One timer serves many resets: a busy stream does not re-arm it each time. */
export function watchdog(clock: Clock, ms: number, bark: () => void): { heard(): void; stop(): void } {
  let last = clock.monotonic()
  let cancel = () => {}
  const arm = (leftMs: number) => {
    cancel = clock.after(leftMs, () => {
      const quietMs = clock.monotonic() - last
      if (quietMs >= ms) bark()
      // Whole milliseconds: the rest of a subtraction may be too small to move a clock, and the timer would go off for ever.
      else arm(Math.ceil(ms - quietMs))
    })
  }
  arm(ms)
  return {
    heard() {
      last = clock.monotonic()
    },
    stop: () => cancel(),
  }
}
