/**
 * Status fields that the server lets nobody change (a rule in the schema). A refused write of one means that another leader
 * was first: what it stored stands.
 */
import { ApiError } from './api-error.ts'
import type { Client } from './client.ts'
import { type Kind, type KubeObject, keyOf } from './kind.ts'
import type { WriteMetrics } from './write-metrics.ts'
import { WriteRaced, type WriteTarget } from './write-signals.ts'

type Cached<S, T> = { absorb(object: KubeObject<S, T>): void }

/**
 * Runs the write. When it is refused as invalid and the live object holds another value than `ours`, the live object goes into
 * the cache and the pass ends as a lost race: the next one uses that value. Any other refusal is thrown on.
 */
export async function writeOnce<S, T>(
  write: () => Promise<KubeObject<S, T>>,
  options: {
    client: Client
    kind: Kind<S, T>
    object: KubeObject<S, T>
    cache: Cached<S, T>
    /** Whether the live object's value is another than the one just refused. */
    isOthers: (live: KubeObject<S, T>) => boolean
    controller: string
    metrics: WriteMetrics
    signal: AbortSignal
  },
): Promise<KubeObject<S, T>> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error
    const { client, kind, object, cache, controller, signal } = options
    const live = await client.find(kind, { name: object.metadata.name, namespace: object.metadata.namespace }, signal)
    if (!live || live.metadata.uid !== object.metadata.uid || !options.isOthers(live)) throw error
    cache.absorb(live)
    const target: WriteTarget = { controller, resource: `${kind.plural}/status`, verb: 'apply', key: keyOf(object) }
    options.metrics.raceRequeue({ controller, resource: target.resource, verb: target.verb, cause: 'stale' })
    throw new WriteRaced(target, 'stale', { cause: error })
  }
}
