/**
 * Tells people what happened to an object, as Kubernetes Events. An aid, never a dependency: recording cannot block or fail
 * a pass, and what is too much is dropped and counted. Callers record transitions, with texts that do not vary.
 * Source: events.k8s.io/v1, KEP-383 (series).
 */
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import { createEventBodies, type EventBody, type EventNote, eventKind } from './event-body.ts'
import type { KubeObject } from './kind.ts'
import { linkedSignal } from './linked-signal.ts'
import type { Logger } from './log.ts'
import { microTime } from './micro-time.ts'

export type EventMetrics = { counted(what: 'created' | 'repeated' | 'dropped' | 'failed'): void }

export type EventRecorder = {
  /** Returns at once; the event is sent in the background, or not at all. */
  record(regarding: KubeObject, event: EventNote): void
  /** Sends until aborted. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when all that was recorded is sent, or after so many ms. */
  flush(ms: number): Promise<void>
  readonly held: { waiting: number; remembered: number }
}

export type EventRecorderOptions = {
  client: Client
  clock: Clock
  log: Logger
  metrics?: EventMetrics
  /** Who reports, e.g. `example.dev/widget-controller`. */
  controller: string
  /** Which process. */
  instance: string
  fieldManager: string
  /** Events sent per second on average, and at once (default 5 and 50). */
  perSecond?: number
  burst?: number
}

const longestQueue = 1_000
const mostRemembered = 4_096
/** Equal events within this time are one series. */
const seriesMs = 10 * 60_000
/** A series is written again at most this often. */
const seriesWriteMs = 5 * 60_000

type Series = {
  key: string
  body: EventBody
  count: number
  lastSeen: number
  lastWrite: number
  stored: boolean
  queued: boolean
}

/** Tokens that refill with time: a hard cap on what reaches the server. */
function tokenBucket(clock: Clock, perSecond: number, burst: number): () => boolean {
  let tokens = burst
  let at = clock.monotonic()
  return () => {
    const now = clock.monotonic()
    tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond)
    at = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, log } = options
  const count = options.metrics?.counted ?? (() => {})
  const mayPass = tokenBucket(clock, options.perSecond ?? 5, options.burst ?? 50)
  const by = { fieldManager: options.fieldManager }
  const remembered = new Map<string, Series>()
  const waiting: Series[] = []
  const idle = new Set<() => void>()
  let sending = false
  let arrived = () => {}
  const bodyOf = createEventBodies(options)

  const enqueue = (series: Series) => {
    if (series.queued) return
    if (waiting.length >= longestQueue || !mayPass()) {
      count('dropped')
      return
    }
    series.queued = true
    waiting.push(series)
    arrived()
  }

  /** Oldest first out, and everything that is no series any more. */
  const prune = () => {
    const now = clock.monotonic()
    for (const [key, series] of remembered) {
      if (remembered.size <= mostRemembered && now - series.lastSeen < seriesMs) return
      if (!series.queued) remembered.delete(key)
    }
  }

  const send = async (series: Series, signal: AbortSignal) => {
    series.queued = false
    series.lastWrite = clock.monotonic()
    const { name, namespace } = series.body.metadata
    try {
      if (!series.stored) {
        await client.create(eventKind, series.body, by, signal)
        series.stored = true
        count('created')
        return
      }
      const value = { count: series.count, lastObservedTime: microTime(clock.now()) }
      const at = namespace === undefined ? { name } : { name, namespace }
      await client.jsonPatch(eventKind, at, [{ op: 'add', path: '/series', value }], by, signal)
      count('repeated')
    } catch (error) {
      // A terminating namespace, an expired event, a server that is away: nothing that a pass should hear of.
      remembered.delete(series.key)
      count('failed')
      log.debug({ err: error, reason: series.body.reason }, 'an event could not be recorded')
    }
  }

  const nextArrival = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const link = linkedSignal(signal)
      arrived = () => {
        arrived = () => {}
        link.release()
        resolve()
      }
      link.signal.addEventListener('abort', () => arrived(), { once: true })
    })

  return {
    record(regarding, event) {
      const { uid, name, namespace } = regarding.metadata
      const key = JSON.stringify([
        regarding.kind,
        uid ?? [namespace, name],
        event.type,
        event.reason,
        event.action,
        event.noteVaries ? undefined : event.note,
        event.related?.metadata.uid,
      ])
      prune()
      const now = clock.monotonic()
      const standing = remembered.get(key)
      if (standing && now - standing.lastSeen < seriesMs) {
        standing.count += 1
        standing.lastSeen = now
        // Moved to the end: the order is that of the last sight.
        remembered.delete(key)
        remembered.set(key, standing)
        if (now - standing.lastWrite >= seriesWriteMs || (standing.count === 2 && standing.stored)) enqueue(standing)
        return
      }
      const series: Series = {
        key,
        body: bodyOf(regarding, event),
        count: 1,
        lastSeen: now,
        lastWrite: now,
        stored: false,
        queued: false,
      }
      remembered.delete(key)
      remembered.set(key, series)
      enqueue(series)
    },
    async run(signal) {
      while (!signal.aborted) {
        const next = waiting.shift()
        if (next) {
          sending = true
          await send(next, signal)
          sending = false
          continue
        }
        for (const each of idle) each()
        await nextArrival(signal)
      }
    },
    flush(ms) {
      if (waiting.length === 0 && !sending) return Promise.resolve()
      return new Promise((resolve) => {
        const finish = () => {
          cancel()
          idle.delete(finish)
          resolve()
        }
        const cancel = clock.after(ms, finish)
        idle.add(finish)
      })
    },
    get held() {
      return { waiting: waiting.length, remembered: remembered.size }
    },
  }
}
