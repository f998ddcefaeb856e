/**
 * Kinds that are known by name only until they are installed: each is resolved by discovery, then followed by one shared
 * cache. A served kind is followed by its watch alone; one that is missing is asked for when its definition appears.
 * Where no definition can tell, it is asked for by time: see `pauseMs`.
 */
import {
  backoff,
  type CacheOptions,
  type Client,
  type Clock,
  type FollowedCache,
  type Jitter,
  type Key,
  type Kind,
  type KubeObject,
  type Logger,
  linkedSignal,
} from 'kube-control-loop'
import type { Definitions } from './definitions.ts'
import { type Discovered, discover } from './discovery.ts'
import { later, pause, untilAborted, untilUnserved, type Waker } from './kind-waits.ts'
import type { Schema } from './openapi.ts'
import { createReporters } from './reporters.ts'
import type { Schemas } from './schemas.ts'
import type { KindRef } from './types.ts'

export type FollowedKind = {
  readonly ref: KindRef
  /** `asking`: no answer yet. `unknown`: the server could not be asked, and has never answered. */
  readonly state: 'asking' | 'unknown' | Discovered['state']
  readonly kind: Kind | undefined
  /** There as soon as the kind was served once; its own state tells whether it is synced. */
  readonly cache: FollowedCache | undefined
  /** What the server publishes of it; undefined when that is not known. */
  readonly schema?: Schema | undefined
  /** The field manager that had set a condition of an object of the cache; undefined when that is not known. */
  reporterOf(object: KubeObject, condition: string): string | undefined
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
  readonly createCache: (kind: Kind, options: Pick<CacheOptions<unknown, unknown>, 'onManagedFields'>) => FollowedCache
  /** Run by whoever made it. */
  readonly definitions: Pick<Definitions, 'stateOf' | 'subscribe' | 'fits'>
  /** Run by whoever made it. Absent: nothing is known of schemas. */
  readonly schemas?: Schemas
  readonly clock: Clock
  readonly jitter: Jitter
  readonly log: Logger
}

/** First and longest delay in ms between two questions for a kind that may be served any moment. */
const askAgainMs = [500, 10_000] as const
/** Delay in ms where only an aggregated API server, which has no definition to watch, could begin to serve the kind. */
const aggregatedMs = 300_000

type Entry = Waker & {
  readonly ref: KindRef
  answered: FollowedKind['state']
  kind: Kind | undefined
  cache: FollowedCache | undefined
  reporterOf: FollowedKind['reporterOf']
  /** Ends the cache and all that listens to it. */
  stop: () => void
  /** Begins and ends to follow the server with the cache. */
  follow: () => void
  rest: () => Promise<void>
}

export function createDynamicKinds(parts: DynamicKindsParts): DynamicKinds {
  const entries = new Map<string, { entry: Entry; view: FollowedKind }>()
  const kindHandlers = new Set<(kind: FollowedKind) => void>()
  const objectHandlers = new Set<(kind: FollowedKind, key: Key) => void>()
  let start: ((entry: Entry, view: FollowedKind) => void) | undefined
  const viewNamed = (ref: KindRef) => entries.get(`${ref.apiVersion} ${ref.kind}`)
  parts.schemas?.onSchema((ref) => {
    const known = viewNamed(ref)
    if (known) told.kind(known.view)
  })

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
      const view = viewOf(entry, parts.schemas)
      entries.set(id, { entry, view })
      start?.(entry, view)
      return view
    },
    poke(ref) {
      const entry = viewNamed(ref)?.entry
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
  const entry: Entry = {
    ref: { apiVersion, kind },
    answered: 'asking',
    kind: undefined,
    cache: undefined,
    reporterOf: () => undefined,
    stop() {},
    follow() {},
    rest: async () => {},
    wake: () => later(entry)(),
    woken: false,
  }
  return entry
}

function viewOf(entry: Entry, schemas: Schemas | undefined): FollowedKind {
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
    get schema() {
      return schemas?.of(entry.ref)
    },
    reporterOf: (object, condition) => entry.reporterOf(object, condition),
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
  const unsubscribe = parts.definitions.subscribe(entry.ref, () => entry.wake())
  let asked = 0
  while (!signal.aborted) {
    const found = await answer(parts, entry, signal)
    // Known before anything is made, or a field that the server drops would be noticed too late.
    if (found?.state === 'served') await parts.schemas?.known(entry.ref, signal)
    if (signal.aborted) break
    const before = view.state
    if (found) entry.answered = found.state
    else if (entry.answered === 'asking') entry.answered = 'unknown'
    if (found?.state === 'served') {
      asked = 0
      startCache(parts, told, entry, view, found.kind, signal)
      if (before !== view.state) told.kind(view)
      await untilUnserved(entry, parts.definitions, signal)
      await entry.rest()
    } else if (before !== view.state) told.kind(view)
    asked += 1
    const ms = pauseMs(parts.definitions, entry.ref, found, () => delay(asked))
    if ((await pause(parts.clock, ms, entry, signal)) === 'woken') asked = 0
  }
  unsubscribe()
}

/**
 * How long until a kind is asked for again, in ms; undefined: until its definition changes. By time only where no definition
 * can tell: the server failed to answer, definitions cannot be read, an established one is not served yet (discovery
 * follows it by a moment), or the kind's group has none.
 */
function pauseMs(
  definitions: Pick<Definitions, 'stateOf'>,
  ref: KindRef,
  found: Discovered | undefined,
  soon: () => number,
): number | undefined {
  const state = definitions.stateOf(ref)
  if (!found || state === 'unknown') return soon()
  if (state === 'no-group') return aggregatedMs
  return state === 'established' && found.state !== 'not-namespaced' ? soon() : undefined
}

/** Undefined when the server could not be asked: what was known before still stands. */
async function answer(
  { client, definitions, log }: DynamicKindsParts,
  { ref }: Entry,
  signal: AbortSignal,
): Promise<Discovered | undefined> {
  try {
    const found = await discover(client, ref, signal)
    // Discovery trails the definitions: what it still tells of is gone.
    return found.state === 'served' && !definitions.fits(found.kind) ? { state: 'unserved' } : found
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
  if (entry.kind?.plural !== kind.plural || !entry.cache) {
    entry.stop()
    const reporters = createReporters()
    const cache = parts.createCache(kind, { onManagedFields: reporters.seen })
    const undo = [
      cache.subscribe(({ key, after }) => {
        // Gone, and no other object has the name by now.
        if (!after && !cache.get(key)) reporters.forget(key)
        told.object(view, key)
      }),
      cache.onState(() => told.kind(view)),
    ]
    entry.kind = kind
    entry.cache = cache
    entry.reporterOf = reporters.of
    entry.stop = () => {
      for (const each of undo) each()
    }
    Object.assign(entry, runnable(cache, parts.log, signal))
  }
  entry.follow()
}

/** A cache rests while its kind is missing: it would only ask, and asking is done here. */
function runnable(cache: FollowedCache, log: Logger, signal: AbortSignal): Pick<Entry, 'follow' | 'rest'> {
  let running: { end: () => void; ended: Promise<void> } | undefined
  return {
    follow() {
      if (running) return cache.poke()
      const own = linkedSignal(signal)
      const ended = cache
        .run(own.signal)
        .catch((error: unknown) => {
          if (!own.signal.aborted) log.error({ err: error, resource: cache.kind.plural }, 'a cache ended')
        })
        .finally(own.release)
      running = { end: () => own.abort(new Error('the kind is not served')), ended }
    },
    async rest() {
      const last = running
      running = undefined
      last?.end()
      await last?.ended
    },
  }
}
