/**
 * Kinds that are known by name only until they are installed: each is resolved by discovery, then followed by one shared
 * cache. NSO may not read CRDs, so a missing kind is asked for with backoff; one that is served is followed by its watch alone.
 */
import {
  backoff,
  type Client,
  type Clock,
  type FollowedCache,
  type Jitter,
  type Key,
  type Kind,
  type Logger,
} from 'kube-control-loop'
import { type Discovered, discover } from './discovery.ts'
import type { KindRef } from './types.ts'

export type FollowedKind = {
  readonly ref: KindRef
  /** `asking`: no answer yet. `unknown`: the server could not be asked, and has never answered. */
  readonly state: 'asking' | 'unknown' | Discovered['state']
  readonly kind: Kind | undefined
  /** There as soon as the kind was served once; its own state tells whether it is synced. */
  readonly cache: FollowedCache | undefined
}

export type DynamicKinds = {
  /** The kind, followed from now on. The same object for the same name. */
  follow(ref: KindRef): FollowedKind
  /** Asks at once instead of after the present delay. */
  poke(ref: KindRef): void
  /** Calls back when a kind's state or cache state moves. */
  onKind(handler: (kind: FollowedKind) => void): () => void
  /** Calls back with the key of each object that changes. */
  onObject(handler: (kind: FollowedKind, key: Key) => void): () => void
  /** Follows until aborted; also kinds that are named later. */
  run(signal: AbortSignal): Promise<void>
}

export type DynamicKindsParts = {
  readonly client: Client
  readonly createCache: (kind: Kind) => FollowedCache
  readonly clock: Clock
  readonly jitter: Jitter
  readonly log: Logger
}

/** First and longest delay in ms between two questions for a kind that is not served. */
const askAgainMs = [500, 10_000] as const

type Entry = {
  readonly ref: KindRef
  answered: FollowedKind['state']
  kind: Kind | undefined
  cache: FollowedCache | undefined
  stop: () => void
  wake: () => void
}

export function createDynamicKinds(parts: DynamicKindsParts): DynamicKinds {
  const entries = new Map<string, { entry: Entry; view: FollowedKind }>()
  const kindHandlers = new Set<(kind: FollowedKind) => void>()
  const objectHandlers = new Set<(kind: FollowedKind, key: Key) => void>()
  let start: ((entry: Entry, view: FollowedKind) => void) | undefined

  const told: Told = {
    kind: (view) => {
      for (const handler of [...kindHandlers]) handler(view)
    },
    object: (view, key) => {
      for (const handler of [...objectHandlers]) handler(view, key)
    },
  }

  return {
    follow(ref) {
      const id = `${ref.apiVersion} ${ref.kind}`
      const known = entries.get(id)
      if (known) return known.view
      const entry = createEntry(ref)
      const view = viewOf(entry)
      entries.set(id, { entry, view })
      start?.(entry, view)
      return view
    },
    poke(ref) {
      const entry = entries.get(`${ref.apiVersion} ${ref.kind}`)?.entry
      entry?.wake()
      if (entry?.cache?.state !== 'synced') entry?.cache?.poke()
    },
    onKind: (handler) => subscribed(kindHandlers, handler),
    onObject: (handler) => subscribed(objectHandlers, handler),
    async run(signal) {
      const running = new Set<Promise<void>>()
      start = (entry, view) => {
        const task = followEntry(parts, told, entry, view, signal).finally(() => running.delete(task))
        running.add(task)
      }
      for (const { entry, view } of entries.values()) start(entry, view)
      await untilAborted(signal)
      start = undefined
      await Promise.all(running)
    },
  }
}

function createEntry({ apiVersion, kind }: KindRef): Entry {
  return { ref: { apiVersion, kind }, answered: 'asking', kind: undefined, cache: undefined, stop() {}, wake() {} }
}

function viewOf(entry: Entry): FollowedKind {
  return {
    ref: entry.ref,
    get state() {
      return entry.cache && entry.answered === 'served' && entry.cache.state === 'unserved' ? 'unserved' : entry.answered
    },
    get kind() {
      return entry.kind
    },
    get cache() {
      return entry.cache
    },
  }
}

function subscribed<H>(handlers: Set<H>, handler: H): () => void {
  handlers.add(handler)
  return () => handlers.delete(handler)
}

type Told = { kind(view: FollowedKind): void; object(view: FollowedKind, key: Key): void }

/** Asks until the kind is served, follows it until it is not, and so on. Never rejects. */
async function followEntry(
  parts: DynamicKindsParts,
  told: Told,
  entry: Entry,
  view: FollowedKind,
  signal: AbortSignal,
): Promise<void> {
  const delay = backoff(...askAgainMs, parts.jitter)
  let asked = 0
  while (!signal.aborted) {
    const found = await answer(parts, entry, signal)
    if (signal.aborted) return
    const before = view.state
    if (found) entry.answered = found.state
    else if (entry.answered === 'asking') entry.answered = 'unknown'
    if (found?.state === 'served') {
      asked = 0
      startCache(parts, told, entry, view, found.kind, signal)
      if (before !== view.state) told.kind(view)
      await untilUnserved(entry, signal)
    } else if (before !== view.state) told.kind(view)
    asked += 1
    await pause(parts.clock, delay(asked), entry, signal)
  }
}

/** Undefined when the server could not be asked: what was known before still stands. */
async function answer({ client, log }: DynamicKindsParts, { ref }: Entry, signal: AbortSignal): Promise<Discovered | undefined> {
  try {
    return await discover(client, ref, signal)
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, kind: ref.kind, apiVersion: ref.apiVersion }, 'a kind could not be asked for')
    return undefined
  }
}

/** One cache for the kind; a kind that came back under another plural gets a new one. */
function startCache(
  parts: DynamicKindsParts,
  told: Told,
  entry: Entry,
  view: FollowedKind,
  kind: Kind,
  signal: AbortSignal,
): void {
  if (entry.kind?.plural === kind.plural && entry.cache) {
    entry.cache.poke()
    return
  }
  entry.stop()
  const own = new AbortController()
  const stop = () => own.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const cache = parts.createCache(kind)
  const undo = [cache.subscribe(({ key }) => told.object(view, key)), cache.onState(() => told.kind(view))]
  entry.kind = kind
  entry.cache = cache
  entry.stop = () => {
    for (const each of undo) each()
    signal.removeEventListener('abort', stop)
    stop()
  }
  cache.run(own.signal).catch((error: unknown) => {
    if (!own.signal.aborted) parts.log.error({ err: error, resource: kind.plural }, 'a cache ended')
  })
}

function untilUnserved({ cache }: Entry, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!cache || signal.aborted) return resolve()
    // A kind that has just come back: its cache says so only later.
    let fresh = cache.state === 'unserved'
    const finish = () => {
      undo()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const undo = cache.onState((state) => {
      if (state === 'unserved' && !fresh) finish()
      fresh = false
    })
    signal.addEventListener('abort', finish, { once: true })
  })
}

/** Ends early when the entry is poked or the signal aborted. */
function pause(clock: Clock, ms: number, entry: Entry, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      cancel()
      entry.wake = () => {}
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const cancel = clock.after(ms, finish)
    entry.wake = finish
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
