/**
 * Follows one kind on the server: a list, then a watch that is resumed after every end, whatever the end was.
 * Promises: never a tight loop; never an unowned rejection; a 410 leads to exactly one new list; silence is noticed.
 * Source: Kubernetes API concepts ("efficient detection of changes"), KEP-3157 (streaming lists), KEP-956 (bookmarks).
 */
import type { Jitter } from './backoff.ts'
import { backoff } from './backoff.ts'
import type { Client, WatchEvent } from './client.ts'
import type { Clock } from './clock.ts'
import { type Key, type Kind, type KubeObject, keyOf } from './kind.ts'
import { type LinkedSignal, linkedSignal, untilAborted } from './linked-signal.ts'
import type { Logger } from './log.ts'
import { Silence, type StreamEnd, streamEndOf, watchdog } from './stream-end.ts'

/** Where a reflector reports to. Calls are synchronous and in the order of the server. */
export type Feed<O> = {
  /** An object of a streaming list, before its end is told: answers what to keep of it until then. */
  arrived?(object: O): O
  /** All there is, as of `resourceVersion`. */
  replaced(items: readonly O[], resourceVersion: string): void
  changed(object: O): void
  deleted(object: O): void
  /** Everything up to this version was delivered. */
  reached(resourceVersion: string): void
  /** A watch is open. */
  following(): void
  /** A watch or list could not be opened. */
  failing(): void
  /** The server does not serve the kind. */
  unserved(): void
}

export type ReflectorMetrics = {
  /** Objects were listed; `why`: `start`, `expired`, `silent`. */
  listed(resource: string, why: string): void
  /** Following came to an end; `how` is a StreamEnd. */
  streamEnded(resource: string, how: string): void
}

export type ReflectorOptions = {
  /** A stream on which nothing came for so long is given up (bookmarks come each minute). */
  idleMs?: number
  /** First and longest delay after failures. */
  retryMs?: readonly [base: number, cap: number]
  /** First and longest delay while the kind is not served. */
  unservedMs?: readonly [base: number, cap: number]
  /** Lists by a watch where the server can (default true). */
  streamingLists?: boolean
}

export type ReflectorParts<S, T> = {
  client: Client
  kind: Kind<S, T>
  selection: { namespace?: string; labelSelector?: string; fieldSelector?: string }
  feed: Feed<KubeObject<S, T>>
  clock: Clock
  jitter: Jitter
  log: Logger
  metrics: ReflectorMetrics
}

export type Reflector = {
  /** Follows until aborted; resolves then. */
  run(signal: AbortSignal): Promise<void>
  /** Ends the present delay at once: there is reason to think that the server answers now. */
  poke(): void
}

/** A stream open for so long counts as healthy: what comes after it starts from the shortest delay. */
const steadyMs = 5_000
/** Bookmarks come each minute: a stream so old that carried nothing follows a version the server may never have had. */
const suspectMs = 90_000
const busyCapMs = 1_000

type Objects<S, T> = KubeObject<S, T>[]

/** The objects of a streaming list, until its end is told. */
function createFirstList<S, T>(
  arrived: (object: KubeObject<S, T>) => KubeObject<S, T>,
  whole: (items: Objects<S, T>, resourceVersion: string) => void,
) {
  const items = new Map<Key, KubeObject<S, T>>()
  /** Answers whether the list is complete now. */
  return (event: WatchEvent<KubeObject<S, T>>): boolean => {
    if (event.type === 'BOOKMARK') {
      if (event.initialEventsEnd) whole([...items.values()], event.resourceVersion)
      return event.initialEventsEnd
    }
    if (event.type === 'DELETED') items.delete(keyOf(event.object))
    else items.set(keyOf(event.object), arrived(event.object))
    return false
  }
}

export function createReflector<S, T>(parts: ReflectorParts<S, T>, options: ReflectorOptions = {}): Reflector {
  const { client, kind, selection, feed, clock, log, metrics } = parts
  const idleMs = options.idleMs ?? 150_000
  const retryDelay = backoff(...(options.retryMs ?? [100, 10_000]), parts.jitter)
  const unservedDelay = backoff(...(options.unservedMs ?? [500, 10_000]), parts.jitter)

  let streaming = options.streamingLists ?? true
  /** To resume from; undefined: list. */
  let version: string | undefined
  let whyList = 'start'
  let failures = 0
  let absences = 0
  /** Of the present attempt: when its stream was open, and whether that carried anything, even a bookmark. */
  let openedAt: number | undefined
  let heard = false
  let wake: LinkedSignal | undefined

  const listed = (items: Objects<S, T>, resourceVersion: string) => {
    version = resourceVersion
    metrics.listed(kind.plural, whyList)
    whyList = 'start'
    absences = 0
    feed.replaced(items, resourceVersion)
  }

  const take = (event: WatchEvent<KubeObject<S, T>>) => {
    if (event.type === 'BOOKMARK') {
      version = event.resourceVersion
      feed.reached(version)
      return
    }
    version = event.object.metadata.resourceVersion ?? version
    if (event.type === 'DELETED') feed.deleted(event.object)
    else feed.changed(event.object)
  }

  /** Reads one stream to its end; its watchdog cuts it when nothing comes. */
  const read = async (from: { resourceVersion: string; sendInitialEvents?: boolean }, signal: AbortSignal) => {
    const stream = linkedSignal(signal)
    const dog = watchdog(clock, idleMs, () => stream.abort(new Silence(idleMs)))
    let firstList = from.sendInitialEvents ? createFirstList<S, T>(feed.arrived ?? ((object) => object), listed) : undefined
    try {
      const events = await client.watch(kind, { ...selection, ...from }, stream.signal)
      openedAt = clock.monotonic()
      if (!firstList) feed.following()
      for await (const event of untilAborted(events, stream.signal)) {
        dog.heard()
        heard = true
        if (!firstList) take(event)
        else if (firstList(event)) firstList = undefined
      }
    } finally {
      dog.stop()
      stream.release()
    }
  }

  const attempt = async (signal: AbortSignal) => {
    openedAt = undefined
    heard = false
    if (version === undefined && streaming) return read({ resourceVersion: '', sendInitialEvents: true }, signal)
    if (version === undefined) {
      const { items, resourceVersion } = await client.list(kind, selection, signal)
      listed(items, resourceVersion)
    }
    return read({ resourceVersion: version ?? '' }, signal)
  }

  /** What an end means for the version to go on from. */
  const forgetVersion = (how: StreamEnd, openMs: number) => {
    const suspect = !heard && how !== 'ended' && openMs >= suspectMs
    if (how !== 'expired' && how !== 'unserved' && !suspect) return
    version = undefined
    whyList = how === 'unserved' ? 'start' : suspect ? 'silent' : 'expired'
  }

  const report = (how: StreamEnd, error: unknown) => {
    metrics.streamEnded(kind.plural, how)
    const fields = { how, err: error }
    if (how === 'busy') log.debug(fields, 'the server is not ready for this kind')
    else if (how === 'failed' || how === 'expired' || how === 'silent') log.warn(fields, 'the watch was lost')
    else if (how === 'unserved' && absences === 1) log.info(fields, 'the kind is not served')
  }

  /** Draws the conclusions of an end; answers the delay before the next attempt in ms. */
  const conclude = (how: StreamEnd, error: unknown): number => {
    const openMs = openedAt === undefined ? 0 : clock.monotonic() - openedAt
    failures = openMs >= steadyMs ? 0 : failures + 1
    absences = how === 'unserved' ? absences + 1 : 0
    report(how, error)
    forgetVersion(how, openMs)
    switch (how) {
      case 'no-streaming':
        streaming = false
        return 0
      case 'unserved':
        feed.unserved()
        return unservedDelay(absences)
      case 'ended':
        return failures === 0 ? 0 : retryDelay(failures)
      default: {
        if (openedAt === undefined) feed.failing()
        const delay = retryDelay(Math.max(1, failures))
        return how === 'busy' ? Math.min(busyCapMs, delay) : delay
      }
    }
  }

  const pause = async (ms: number, signal: AbortSignal) => {
    if (ms === 0) return
    wake = linkedSignal(signal)
    // A rejection means poked, or told to stop: the loop looks at the signal itself.
    await clock.sleep(ms, wake.signal).catch(() => {})
    wake.release()
    wake = undefined
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const wasStreamingList = version === undefined && streaming
        let how: StreamEnd = 'ended'
        let fault: unknown
        try {
          await attempt(signal)
        } catch (error) {
          fault = error
          if (!signal.aborted) how = await streamEndOf(error, { client, kind, wasStreamingList, signal })
        }
        if (!signal.aborted) await pause(conclude(how, fault), signal)
      }
    },
    poke() {
      failures = 0
      wake?.abort(new Error('poked'))
    },
  }
}
