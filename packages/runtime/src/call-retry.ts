/**
 * Retries inside one call: a server that starts, stops or is busy, and connections that break. Bounded in time; what is
 * left after that is the caller's to surface.
 */
import { ApiError, ConnectionBroken } from './api-error.ts'
import { backoff, type Jitter } from './backoff.ts'
import type { Clock } from './clock.ts'
import { type Addressed, classify, type RequestVerb } from './races.ts'
import type { ApiRequest, Transport } from './transport.ts'

export type RetryOptions = {
  clock: Clock
  jitter: Jitter
  /** How long one call keeps trying (default 10 s: an API server is back in 6, and takes creates 4 s later). */
  retryForMs?: number
}

export type Call = { request: ApiRequest; verb: RequestVerb; at: Addressed }

/** After a sign of a server that starts or stops, a 403 may come from one that has not read its roles yet, for this long. */
const doubtMs = 10_000
/** A kind that was just established answers a create by 404 for about two seconds. */
const establishMs = 4_000

/** Milliseconds to wait before the next attempt, or undefined: the error surfaces. */
type Wait = number | undefined

/** How far one call has come. */
type Progress = { tries: number; spentMs: number; areRolesRead: boolean }

/** An answer that a server may also give before it has read its roles: a refusal by RBAC has no causes. */
function mayLackRoles(error: ApiError): boolean {
  return error.status === 403 && error.causes.length === 0
}

/** One per client: remembers signs of a server in transition across calls. */
export function createRetrier(transport: Transport, options: RetryOptions) {
  const { clock, jitter, retryForMs = 10_000 } = options
  const delay = backoff(50, 1_000, jitter)
  let doubtUntil = clock.monotonic() + doubtMs

  const doubt = () => {
    doubtUntil = clock.monotonic() + doubtMs
  }

  async function statusOf(request: ApiRequest, signal: AbortSignal): Promise<number> {
    const response = await transport.send(request, signal).catch(() => undefined)
    signal.throwIfAborted()
    return response?.status ?? 0
  }

  /** Of a plain 404 on a create: whether the kind is served, so that only the create is not ready yet. */
  async function isComing(call: Call, signal: AbortSignal): Promise<boolean> {
    return (await statusOf({ method: 'GET', path: call.request.path, query: { limit: '1' } }, signal)) !== 404
  }

  /** Waits for readyz: from then on a 403 is meant. */
  async function untilRolesAreRead(forMs: number, signal: AbortSignal): Promise<void> {
    const end = clock.monotonic() + forMs
    for (let tries = 1; (await statusOf({ method: 'GET', path: '/readyz' }, signal)) !== 200; tries++) {
      if (clock.monotonic() >= end) return
      await clock.sleep(delay(tries), signal)
    }
  }

  async function afterRefusal(error: ApiError, call: Call, progress: Progress, signal: AbortSignal): Promise<Wait> {
    const verdict = classify(error, call.verb, call.at)
    if (verdict.is === 'busy') {
      if (verdict.starting) doubt()
      return Math.max(delay(progress.tries), verdict.afterMs ?? 0)
    }
    if (verdict.is === 'not-served' && verdict.pending && progress.spentMs < establishMs && (await isComing(call, signal))) {
      return delay(progress.tries)
    }
    if (verdict.is === 'fault' && mayLackRoles(error) && !progress.areRolesRead && clock.monotonic() < doubtUntil) {
      await untilRolesAreRead(retryForMs - progress.spentMs, signal)
      progress.areRolesRead = true
      return 0
    }
    return undefined
  }

  async function waitAfter(error: unknown, call: Call, progress: Progress, signal: AbortSignal): Promise<Wait> {
    if (!(error instanceof ConnectionBroken)) {
      return error instanceof ApiError ? afterRefusal(error, call, progress, signal) : undefined
    }
    if (error.refused) doubt()
    // A connection that broke in use may be an idle one that the server had closed: a fresh one is tried at once.
    return progress.tries === 1 && !error.refused ? 0 : delay(progress.tries)
  }

  /** Runs one call to its end. Rejects with the last ApiError or ConnectionBroken, or the signal's reason. */
  return async function run<T>(call: Call, attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const startedAt = clock.monotonic()
    const progress: Progress = { tries: 0, spentMs: 0, areRolesRead: false }
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        signal.throwIfAborted()
        progress.tries += 1
        progress.spentMs = clock.monotonic() - startedAt
        const waitMs = await waitAfter(error, call, progress, signal)
        if (waitMs === undefined || progress.spentMs + waitMs > retryForMs) throw error
        if (waitMs > 0) await clock.sleep(waitMs, signal)
      }
    }
  }
}
