/**
 * One leader among replicas, by a Lease. Whether another holder's term is over is judged from changes seen on the own
 * monotonic clock and from that holder's own term, never from the times in the record: clocks differ and jump.
 * Promises: `mayWrite` is false before another process may lead; the lease is given up only after the work has ended.
 * Crash: the record stays, and the others wait out its term. Source: client-go's leader election, KEP-589 (Lease).
 */
import type { Jitter } from './backoff.ts'
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { LeadershipLost } from './fenced-transport.ts'
import { createLeaseRecord, isLostRace } from './lease-record.ts'
import { linkedSignal } from './linked-signal.ts'
import type { Logger } from './log.ts'

export type ElectionMetrics = {
  leads(name: string, yes: boolean): void
  failed(name: string): void
}

export type ElectorOptions = {
  /** Must not be fenced by this elector: it writes the lease while nothing else may be written. */
  client: Client
  clock: Clock
  jitter: Jitter
  log: Logger
  metrics?: ElectionMetrics
  lease: { namespace: string; name: string }
  /** Different for each process, also for two lives of one pod. */
  identity: string
  fieldManager: string
  /** Term that the others must wait out (default 15 s); a multiple of 1 s. */
  termMs?: number
  /** Without a renewal for so long, nothing is written any more (default 10 s); below the term. */
  renewDeadlineMs?: number
  /** Between renewals, and between looks at another's lease (default 2 s). */
  retryMs?: number
}

export type Elector = {
  /** Whether a write may leave the process now: decided at the call, by the monotonic clock. */
  mayWrite(): boolean
  /** Aborted when the present term ends; undefined while there is none. */
  term(): AbortSignal | undefined
  /** Undefined while all is well, else what is wrong: the lease could not be read or written for longer than a term. */
  problem(): string | undefined
  /** Identity in the lease, as last seen. */
  readonly holder: string | undefined
  /**
   * Campaigns until `signal` is aborted. As leader calls `lead` with a signal that is aborted when the lease is lost; the
   * lease is renewed until `lead` has ended, then given up. A loser campaigns again.
   */
  run(signal: AbortSignal, lead: (lost: AbortSignal) => Promise<void>): Promise<void>
}

const noElectionMetrics: ElectionMetrics = { leads() {}, failed() {} }

/** Gives a step so many ms: an answer that never comes is a failed step. */
async function within<T>(clock: Clock, ms: number, signal: AbortSignal, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const link = linkedSignal(signal)
  const cancel = clock.after(ms, () => link.abort(new Error(`no answer within ${Math.round(ms)} ms`)))
  try {
    return await step(link.signal)
  } finally {
    cancel()
    link.release()
  }
}

/** How long this process may write and how long it has been without a good step. All on the monotonic clock. */
function createTerm(clock: Clock, renewDeadlineMs: number) {
  let writableUntil = Number.NEGATIVE_INFINITY
  let lastGood = clock.monotonic()
  return {
    leftMs: () => writableUntil - clock.monotonic(),
    troubleMs: () => clock.monotonic() - lastGood,
    good() {
      lastGood = clock.monotonic()
    },
    /** A claim that was sent then has been accepted: others count their wait from a later moment. */
    extend(sentAt: number) {
      writableUntil = sentAt + renewDeadlineMs
      lastGood = clock.monotonic()
    },
    end() {
      writableUntil = Number.NEGATIVE_INFINITY
    },
  }
}

export function createElector(options: ElectorOptions): Elector {
  const { clock, jitter, lease: at, identity } = options
  const { termMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000, metrics = noElectionMetrics } = options
  if (!(retryMs < renewDeadlineMs && renewDeadlineMs < termMs)) throw new RangeError('retry < renew deadline < term must hold')
  const log = options.log.child({ lease: `${at.namespace}/${at.name}`, identity })
  const record = createLeaseRecord({ ...options, termMs })
  const term = createTerm(clock, renewDeadlineMs)
  /** Aborted when the present time as leader ends. */
  let leading: AbortController | undefined
  let lastProblem: unknown

  const failed = (error: unknown, what: string) => {
    lastProblem = error
    metrics.failed(at.name)
    log.warn({ err: error }, what)
  }

  const claim = async (signal: AbortSignal) => {
    const sentAt = clock.monotonic()
    await record.claim(signal)
    term.extend(sentAt)
  }

  /** One look at the lease, and the attempt to take it where that is allowed. */
  const campaign = async (signal: AbortSignal): Promise<boolean> => {
    await record.read(signal)
    if (!record.isFree()) {
      term.good()
      return false
    }
    try {
      await claim(signal)
      return true
    } catch (error) {
      if (!isLostRace(error)) throw error
      log.debug({ err: error }, 'another process was first')
      return false
    }
  }

  /** A renewal whose test failed is looked into: our own lost answer, or another holder. */
  const renew = async (signal: AbortSignal): Promise<'renewed' | 'taken'> => {
    try {
      await claim(signal)
    } catch (error) {
      if (!isLostRace(error)) throw error
      await record.read(signal)
      if (record.holder !== undefined && record.holder !== identity) return 'taken'
      await claim(signal)
    }
    return 'renewed'
  }

  /** Renews until told to stop; answers why it ended otherwise. */
  const keep = async (stop: AbortSignal): Promise<'stopped' | 'taken' | 'expired'> => {
    while (!stop.aborted) {
      try {
        await clock.sleep(Math.min(retryMs, Math.max(0, term.leftMs())), stop)
        if (term.leftMs() <= 0) return 'expired'
        if ((await within(clock, term.leftMs(), stop, renew)) === 'taken') return 'taken'
      } catch (error) {
        if (stop.aborted) return 'stopped'
        failed(error, 'the lease could not be renewed')
      }
    }
    return 'stopped'
  }

  const release = async () => {
    try {
      await within(clock, renewDeadlineMs, new AbortController().signal, record.giveUp)
      log.info('the lease was released')
    } catch (error) {
      failed(error, 'the lease could not be released: others wait out its term')
    }
  }

  /** Leads until `lead` ends; resolves once it has and the lease is given up. */
  const reign = async (lead: (lost: AbortSignal) => Promise<void>) => {
    const present = new AbortController()
    leading = present
    metrics.leads(at.name, true)
    log.info('leading')
    const over = new AbortController()
    const keeping = keep(over.signal).then((why) => {
      if (why === 'stopped') return
      term.end()
      log.warn({ why }, 'the lease was lost')
      present.abort(new LeadershipLost())
    })
    try {
      await lead(present.signal)
    } finally {
      over.abort(new Error('the work has ended'))
      await keeping
      leading = undefined
      metrics.leads(at.name, false)
      const isLost = present.signal.aborted
      present.abort(new LeadershipLost())
      if (!isLost) await release()
    }
  }

  return {
    mayWrite: () => leading !== undefined && term.leftMs() > 0,
    term: () => leading?.signal,
    problem() {
      if (term.troubleMs() < termMs + renewDeadlineMs) return undefined
      const cause = lastProblem instanceof Error ? `: ${lastProblem.message}` : ''
      return `the lease could not be read or written for ${Math.round(term.troubleMs() / 1000)} s${cause}`
    },
    get holder() {
      return record.holder
    },
    async run(signal, lead) {
      metrics.leads(at.name, false)
      while (!signal.aborted) {
        try {
          if (await within(clock, renewDeadlineMs, signal, campaign)) await reign(lead)
        } catch (error) {
          if (!signal.aborted) failed(error, 'the campaign failed')
        }
        await clock.sleep(retryMs * (1 + 0.2 * jitter()), signal).catch(() => {})
      }
    },
  }
}
