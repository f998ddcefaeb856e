/**
 * Runs one controller: many keys at once, one pass per key, and every way a pass can end handled in one place.
 * A lost race, a deleted object and a kind that is not served end a pass; only surprises are errors.
 */
import { backoff, type Jitter } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Controller } from './controller.ts'
import { createDispatcher } from './dispatch.ts'
import { type Key, splitKey } from './kind.ts'
import { lazyChild } from './lazy-log.ts'
import { linkedSignal } from './linked-signal.ts'
import type { Logger } from './log.ts'
import { type PassEnd, PassTooLong, passEndOf } from './pass-end.ts'
import { type AddOptions, createQueue, noQueueMetrics, type Queue, type QueueMetrics } from './queue.ts'

export type PassResult = 'success' | 'error' | 'requeue' | 'requeue_after'

export type ControllerMetrics = {
  passed(result: PassResult, seconds: number): void
  failed(): void
  /** +1 when a worker takes a key, -1 when it is done. */
  active(change: 1 | -1): void
  /** Called once, before the first pass. */
  workers(count: number): void
}

export type LoopMetrics = {
  controller(name: string): ControllerMetrics
  queue(name: string, workingSeconds: () => number[]): QueueMetrics
}

export type LoopParts = {
  clock: Clock
  jitter: Jitter
  log: Logger
  metrics?: LoopMetrics
  /** Names one pass in logs. */
  newId?: () => string
  /** A pass that takes longer is aborted and counts as an error (default 60 s). */
  passLimitMs?: number
  /** First and longest delay after errors (default 20 ms, 30 s) and after lost races (20 ms, 5 s). */
  errorRetryMs?: readonly [base: number, cap: number]
  raceRetryMs?: readonly [base: number, cap: number]
}

export type Loop = {
  readonly controller: Controller
  readonly queue: Queue
  /**
   * Works until `stop` is aborted, then lets the passes in work end; `kill` aborts those too. Resolves when none is left.
   * May be called again: what was not done stays queued in between.
   */
  run(stop: AbortSignal, kill: AbortSignal): Promise<void>
  /** Ends the subscriptions and drops what is queued. */
  close(): void
}

export const noControllerMetrics: ControllerMetrics = { passed() {}, failed() {}, active() {}, workers() {} }

/** Until a stopped loop is told so, its keys would only meet the same end. */
const stoppedRetryMs = 1_000

type InWork = { key: Key; urgent: boolean; log: Logger }

/** Subscribes to the controller's watches at once, so that nothing is missed; passes begin with `run`. */
export function createLoop(controller: Controller, parts: LoopParts): Loop {
  const { clock, jitter, passLimitMs = 60_000, newId = () => crypto.randomUUID() } = parts
  const metrics = parts.metrics?.controller(controller.name) ?? noControllerMetrics
  const errorDelay = backoff(...(parts.errorRetryMs ?? [20, 30_000]), jitter)
  const raceDelay = backoff(...(parts.raceRetryMs ?? [20, 5_000]), jitter)
  const log = parts.log.child({ controller: controller.name })
  const primary = controller.primary ?? controller.needs[0]?.cache
  const workers = controller.workers ?? 32
  const queueMetrics = parts.metrics?.queue(controller.name, () => queue.workingSeconds()) ?? noQueueMetrics
  const queue: Queue = createQueue(clock, queueMetrics, () => dispatcher.wake())

  const forgetIfGone = (key: Key) => {
    if (primary && primary.get(key) === undefined && !queue.pending(key)) controller.forget?.(key)
  }

  /** Nothing more is to do until something wakes the key. */
  const rest = ({ key, log }: InWork, why: string, fields: object): PassResult => {
    queue.forget(key)
    log.debug(fields, why)
    return 'success'
  }

  const conclude = (item: InWork, end: PassEnd): PassResult => {
    const { key, urgent, log } = item
    switch (end.kind) {
      case 'settled':
        queue.forget(key)
        forgetIfGone(key)
        return 'success'
      case 'waiting':
        return rest(item, 'waiting', { on: end.on })
      case 'unserved':
        return rest(item, 'waiting: a kind is not served', { err: end.error })
      case 'gone':
        forgetIfGone(key)
        return rest(item, 'deleted during the pass', { err: end.error })
      case 'again':
        queue.add(key, { afterMs: end.afterMs })
        queue.forget(key)
        log.debug({ afterMs: end.afterMs, because: end.because }, 'again')
        return 'requeue_after'
      case 'raced':
        log.debug({ err: end.error, afterMs: queue.retry(key, raceDelay, { urgent }) }, 'lost a write race')
        return 'requeue'
      case 'stopped':
        queue.add(key, { urgent, afterMs: stoppedRetryMs })
        log.debug('the pass was stopped')
        return 'requeue'
      case 'fault':
        metrics.failed()
        log.error({ err: end.error, afterMs: queue.retry(key, errorDelay, { urgent }) }, 'the pass failed')
        return 'error'
    }
  }

  const pass = async ({ key, log }: InWork, kill: AbortSignal): Promise<PassEnd> => {
    const link = linkedSignal(kill)
    let isTooLong = false
    const cancel = clock.after(passLimitMs, () => {
      isTooLong = true
      link.abort(new PassTooLong(passLimitMs))
    })
    try {
      return await controller.reconcile({ key, signal: link.signal, log })
    } catch (error) {
      return passEndOf(isTooLong ? new PassTooLong(passLimitMs, { cause: error }) : error, kill.aborted)
    } finally {
      cancel()
      link.release()
    }
  }

  const work = async ({ key, urgent }: { key: Key; urgent: boolean }, kill: AbortSignal) => {
    const item = { key, urgent, log: lazyChild(log, () => ({ ...splitKey(key), reconcileID: newId() })) }
    const begun = clock.monotonic()
    metrics.active(1)
    const end = await pass(item, kill)
    let result: PassResult
    try {
      result = conclude(item, end)
    } catch (error) {
      // An outcome that makes no sense, or a `forget` that throws: a fault of the controller like any other.
      result = conclude(item, { kind: 'fault', error })
    }
    queue.done(key)
    metrics.active(-1)
    metrics.passed(result, (clock.monotonic() - begun) / 1000)
  }

  const enqueue = (key: Key, options: AddOptions = {}) => {
    try {
      queue.add(key, options)
    } catch (error) {
      // A delay that is no number would lose the wake-up.
      log.error({ err: error, key }, 'a watch asked for an impossible delay')
      queue.add(key)
    }
  }

  let kill: AbortSignal = AbortSignal.abort()
  const dispatcher = createDispatcher(workers, queue.take, (item) => work(item, kill))
  const unsubscribe = controller.watches.map((each) => each.subscribe(enqueue))
  metrics.workers(workers)

  return {
    controller,
    queue,
    async run(stop, killNow) {
      const filled = controller.needs.map(({ cache, optional }) => cache.ready(stop, optional ? { orUnserved: true } : {}))
      try {
        await Promise.all(filled)
      } catch (error) {
        if (stop.aborted) return
        throw error
      }
      kill = killNow
      await dispatcher.run(stop)
    },
    close() {
      for (const each of unsubscribe) each()
      queue.clear()
    },
  }
}

/** Runs a controller until the signal is aborted; passes in work are aborted with it. */
export async function runController(controller: Controller, parts: LoopParts, signal: AbortSignal): Promise<void> {
  const loop = createLoop(controller, parts)
  try {
    await loop.run(signal, signal)
  } finally {
    loop.close()
  }
}
