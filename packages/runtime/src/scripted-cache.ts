/** For tests: a cache over a scripted wire and a clock that stands still. */
import assert from 'node:assert/strict'
import type { CacheOptions, Change } from './cache.ts'
import { type CacheMetrics, createCache } from './cache-impl.ts'
import { createClient } from './http-client.ts'
import type { Kind, KubeObject } from './kind.ts'
import { silentLogger } from './log.ts'
import { createManualClock, turns } from './manual-clock.ts'
import { answers } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import { scriptWatch } from './scripted-watch.ts'

export type Spec = { color?: string; size?: number }
export const widgets: Kind<Spec> = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
export const path = '/apis/example.dev/v1/widgets'

export function widget(
  name: string,
  version: string,
  more: Partial<KubeObject<Spec>['metadata']> & { color?: string } = {},
): KubeObject<Spec> {
  const { color, ...metadata } = more
  return {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: version, ...metadata },
    spec: color === undefined ? {} : { color },
  }
}

export function list(version: string, ...items: KubeObject[]) {
  return answers.ok({ apiVersion: 'example.dev/v1', kind: 'WidgetList', metadata: { resourceVersion: version }, items })
}

/** A cache on a script; plain lists unless told otherwise, and a new watch for each that is asked for. */
export function scriptCache(options: CacheOptions<Spec, unknown> = {}, { streamingLists = false, idleMs = 150_000 } = {}) {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  const client = createClient(script, { clock, jitter: () => 0.5, retryForMs: 0 })
  const counts: Record<string, number> = {}
  const counted = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const metrics: CacheMetrics = {
    listed: (_, why) => counted(`listed ${why}`),
    streamEnded: (_, how) => counted(how),
    handlerFailed: () => counted('handler'),
  }
  const cache = createCache(client, widgets, options, {
    clock,
    jitter: () => 0.5,
    log: silentLogger,
    metrics,
    reflector: { streamingLists, idleMs },
  })
  const changes: Change<KubeObject<Spec>>[] = []
  cache.subscribe((change) => changes.push(change))
  const stop = new AbortController()
  const watches: ReturnType<typeof scriptWatch>[] = []
  const nextWatch = () => {
    const watch = scriptWatch()
    watches.push(watch)
    script.on({ path, query: { watch: 'true' } }).stream(watch.lines, 'ends')
    return watch
  }
  const nextList = (answer: ReturnType<typeof list>) => script.on({ path, where: ({ query }) => !query?.watch }).answer(answer)
  const sent = (isWatch: boolean) => script.sent({ path, where: ({ query }) => (query?.watch === 'true') === isWatch })
  return {
    cache,
    changes,
    clock,
    counts,
    script,
    nextWatch,
    nextList,
    /** Versions from which watches were asked for. */
    watchedFrom: () => sent(true).map(({ request }) => request.query?.resourceVersion),
    lists: () => sent(false).length,
    /** `+a@5 ~a@5→6 -a@6`, in order; empties the record. */
    heard: () =>
      changes
        .splice(0)
        .map(({ before, after }) => {
          const name = (after ?? before)?.metadata.name
          if (!before) return `+${name}@${after?.metadata.resourceVersion}`
          if (!after) return `-${name}@${before.metadata.resourceVersion}`
          return `~${name}@${before.metadata.resourceVersion}→${after.metadata.resourceVersion}`
        })
        .join(' '),
    async start() {
      void cache.run(stop.signal)
      await turns()
    },
    async end() {
      stop.abort(new Error('the test is over'))
      await turns()
    },
  }
}

export async function syncedCache(options: CacheOptions<Spec, unknown> = {}, ...items: KubeObject<Spec>[]) {
  const world = scriptCache(options)
  world.nextList(list('100', ...items))
  const watch = world.nextWatch()
  await world.start()
  assert.equal(world.cache.state, 'synced')
  return { ...world, watch }
}
