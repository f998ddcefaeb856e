/** Every version of every object of one kind, as the server's watch tells them, deletes with their versions too. */
import { type Client, type Kind, type KubeObject, keyOf } from 'kube-control-loop'

/** `object` absent: deleted. Versions of one store have one order, over all kinds. */
export type Seen = {
  readonly version: bigint
  readonly kind: Kind
  readonly key: string
  readonly object: KubeObject | undefined
}

export type Followed = {
  /** Resolves when everything that stood at this moment has been delivered. */
  readonly listed: Promise<void>
  /** Rejects when versions were missed: what was seen cannot be judged then. */
  readonly running: Promise<void>
}

export type FollowOptions = { client: Client; kind: Kind; see: (seen: Seen) => void; signal: AbortSignal }

export function follow({ client, kind, see, signal }: FollowOptions): Followed {
  const listed = Promise.withResolvers<void>()
  const tell = (object: KubeObject, isGone: boolean) =>
    see({
      ...{ kind, key: keyOf(object), version: BigInt(object.metadata.resourceVersion ?? 0) },
      object: isGone ? undefined : object,
    })
  const run = async () => {
    const { items, resourceVersion } = await client.list(kind, {}, signal)
    for (const item of items) tell(item, false)
    listed.resolve()
    let at = resourceVersion
    while (!signal.aborted) {
      for await (const event of await client.watch(kind, { resourceVersion: at }, signal)) {
        if (event.type === 'BOOKMARK') at = event.resourceVersion
        else {
          at = event.object.metadata.resourceVersion ?? at
          tell(event.object, event.type === 'DELETED')
        }
      }
    }
  }
  const running = run().catch((error: unknown) => {
    if (signal.aborted) return
    listed.reject(error)
    throw error
  })
  running.catch(() => {})
  return { listed: listed.promise, running }
}
