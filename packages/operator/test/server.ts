/** A client, caches and writers on the real control plane, for one namespace. */
import {
  type Client,
  createAccessSource,
  createCache,
  createClient,
  createHttpTransport,
  createWriteRegistry,
  noWriteMetrics,
  silentLogger,
  systemClock,
  type Transport,
  type WriteMetrics,
  type WriterEnvironment,
} from 'kube-control-loop'
import { type Caches, createCaches } from '../src/caches.ts'

export type View = {
  readonly client: Client
  readonly environment: WriterEnvironment
  readonly caches: Caches
}

export function transportTo(kubeconfig: string): Transport {
  return createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig }),
    clock: systemClock,
    userAgent: 'nso-test',
  })
}

/** Caches of one namespace, listed and followed until the signal. Cluster-wide kinds are seen whole. */
export async function viewOf(
  transport: Transport,
  given: { namespace: string; signal: AbortSignal; names: readonly (keyof Caches)[]; metrics?: WriteMetrics },
): Promise<View> {
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const caches = createCaches((kind, options) => {
    const scoped = kind.scope === 'Namespaced' ? { ...options, namespace: given.namespace } : options
    return createCache(client, kind, scoped, parts)
  })
  for (const name of given.names) caches[name].run(given.signal).catch(() => {})
  await Promise.all(given.names.map((name) => caches[name].ready(given.signal)))
  const environment = { client, metrics: given.metrics ?? noWriteMetrics, registry: createWriteRegistry() }
  return { client, environment, caches }
}
