/** Somebody who uses the API: a client and the caches of what is waited for. The same on both sides of a comparison. */
import {
  type Client,
  createAccessSource,
  createCache,
  createClient,
  createHttpTransport,
  type FollowedCache,
  type Kind,
  silentLogger,
  systemClock,
} from 'kube-control-loop'

export type User<Name extends string> = {
  readonly client: Client
  readonly caches: Readonly<Record<Name, FollowedCache>>
  stop(): Promise<void>
}

/** Resolves when all kinds are listed in the namespace. */
export async function startUser<Name extends string>(
  kubeconfig: string,
  kinds: Readonly<Record<Name, Kind>>,
  namespace: string,
  signal: AbortSignal,
): Promise<User<Name>> {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'bench/0.1.0' })
  const tools = { clock: systemClock, jitter: Math.random }
  const client = createClient(transport, tools)
  const entries = Object.entries<Kind>(kinds).map(
    ([name, kind]) => [name, createCache(client, kind, { namespace }, { ...tools, log: silentLogger })] as const,
  )
  const ending = new AbortController()
  const running = entries.map(([, cache]) => cache.run(ending.signal))
  await Promise.all(entries.map(([, cache]) => cache.ready(signal)))
  return {
    client,
    caches: Object.fromEntries(entries) as Record<Name, FollowedCache>,
    async stop() {
      ending.abort(new Error('done'))
      await Promise.allSettled(running)
      await transport.close()
    },
  }
}
