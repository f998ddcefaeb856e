/**
 * Leadership as a wall on the wire: past the end of a term not one request that writes leaves the process, whoever sends it.
 * Relies on: `mayWrite` being decided on a monotonic clock, well before another process may lead.
 */
import { linkedSignal } from './linked-signal.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** A write was refused here, before it left: this process does not lead (any more). Quiet end of a pass. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost'
  readonly code = 'LEADERSHIP_LOST'
  constructor() {
    super('this process does not lead: nothing is written')
  }
}

/** Whether a request may change something stored. Dry runs and access reviews store nothing. */
export function isWrite(request: ApiRequest): boolean {
  if (request.method === 'GET') return false
  return request.query?.dryRun === undefined && !request.path.startsWith('/apis/authorization.k8s.io/')
}

/**
 * Wraps a transport. `term` is aborted when the term ends: it also takes back writes that wait for a connection.
 */
export function fenceWrites(inner: Transport, fence: { mayWrite(): boolean; term?: () => AbortSignal | undefined }): Transport {
  return {
    async send(request, signal) {
      if (!isWrite(request)) return inner.send(request, signal)
      if (!fence.mayWrite()) throw new LeadershipLost()
      const term = fence.term?.()
      if (!term) return inner.send(request, signal)
      const link = linkedSignal(signal, term)
      try {
        return await inner.send(request, link.signal)
      } catch (error) {
        if (term.aborted && !signal.aborted) throw new LeadershipLost()
        throw error
      } finally {
        link.release()
      }
    },
    stream: (request, signal) => inner.stream(request, signal),
    close: () => inner.close(),
  }
}
