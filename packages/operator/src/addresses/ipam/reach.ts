/**
 * Whether the address service can be reached. While it cannot, calls fail at once instead of each waiting for itself: passes
 * over claims that need nothing of the service must find a free worker. One small request now and then asks whether it is back.
 */
import {
  type ApiRequest,
  type ApiResponse,
  aborted,
  apiVersionOf,
  backoff,
  type Clock,
  ConnectionBroken,
  type Jitter,
  linkedSignal,
  type Transport,
} from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'

export type Reach = {
  /** Over the given transport; closing it closes that. */
  readonly transport: Transport
  /** Calls fail at once. */
  readonly isAway: boolean
  /** Calls back each time the service answers again. */
  onBack(listener: () => void): () => void
  /** Asks while the service is away, until aborted. */
  run(signal: AbortSignal): Promise<void>
}

/** So many calls in a row without an answer: one may be an idle connection that the other end had closed. */
const tolerated = 2
/** A call that brings no answer for so long counts as none. Longer than a busy service takes for what a process asks at once. */
const patienceMs = 15_000
const probe: ApiRequest = { method: 'GET', path: `/apis/${apiVersionOf(IPClaim)}` }

const isAnswer = ({ status }: ApiResponse): boolean => status !== 502 && status !== 503 && status !== 504

export function createReach(inner: Transport, { clock, jitter }: { clock: Clock; jitter: Jitter }): Reach {
  const delay = backoff(200, 3_000, jitter)
  const listeners = new Set<() => void>()
  let failures = 0
  let isAway = false
  let asked: (() => void) | undefined

  const failed = () => {
    failures += 1
    if (isAway || failures < tolerated) return
    isAway = true
    asked?.()
  }
  const answered = () => {
    failures = 0
    if (!isAway) return
    isAway = false
    for (const listener of listeners) listener()
  }

  async function call(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    const link = linkedSignal(signal)
    const silent = new ConnectionBroken(request, new Error(`no answer within ${patienceMs / 1000} s`))
    const cancel = clock.after(patienceMs, () => link.abort(silent))
    try {
      const response = await inner.send(request, link.signal)
      if (isAnswer(response)) answered()
      else failed()
      return response
    } catch (error) {
      signal.throwIfAborted()
      failed()
      // Also where the credentials cannot be had: nothing was asked, and it is worth asking again.
      throw error instanceof ConnectionBroken ? error : new ConnectionBroken(request, error)
    } finally {
      cancel()
      link.release()
    }
  }

  async function untilBack(signal: AbortSignal): Promise<void> {
    for (let tries = 1; isAway; tries += 1) {
      await clock.sleep(delay(tries), signal)
      await call(probe, signal).catch(() => undefined)
      signal.throwIfAborted()
    }
  }

  return {
    transport: {
      send: (request, signal) =>
        isAway ? Promise.reject(new ConnectionBroken(request, new Error('the service is away'))) : call(request, signal),
      stream: (request, signal) => inner.stream(request, signal),
      close: () => inner.close(),
    },
    get isAway() {
      return isAway
    },
    onBack(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async run(signal) {
      const ended = aborted(signal)
      while (!signal.aborted) {
        if (isAway) await untilBack(signal).catch(() => undefined)
        else await Promise.race([ended, new Promise<void>((resolve) => (asked = resolve))])
      }
    },
  }
}
