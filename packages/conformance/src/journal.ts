/** Every version of the objects of one kind in one namespace, as the API server told of it: who wrote what, and in which order. */
import {
  type Client,
  type Clock,
  createCache,
  type Kind,
  type KubeObject,
  keyFor,
  type ManagedFieldsEntry,
  silentLogger,
} from 'kube-control-loop'

export type Version = {
  readonly object: KubeObject
  readonly managedFields: readonly ManagedFieldsEntry[]
  /** When it was heard of, by the clock that only grows. */
  readonly at: number
}

export type Journal = {
  readonly kind: Kind
  get(name: string): KubeObject | undefined
  readonly present: readonly KubeObject[]
  /** In the order in which they were told, whatever became of the object. */
  readonly versions: readonly Version[]
  /** The versions of exactly one incarnation. */
  of(object: KubeObject): readonly Version[]
  onChange(handler: () => void): () => void
}

export type JournalParts = { client: Client; clock: Clock; namespace: string; signal: AbortSignal }

/** Follows until the signal is aborted; resolves when the objects that stand are known. */
export async function keepJournal(kind: Kind, { client, clock, namespace, signal }: JournalParts): Promise<Journal> {
  const versions: Version[] = []
  // The cache tells of managedFields first and drops them; of several objects at once after a list.
  const entries = new Map<string, readonly ManagedFieldsEntry[]>()
  const cache = createCache(
    client,
    kind,
    { namespace, onManagedFields: (object, found) => void entries.set(versionOf(object), found) },
    { clock, jitter: () => 0.5, log: silentLogger },
  )
  cache.subscribe(({ after }) => {
    if (!after) return
    versions.push({ object: after, managedFields: entries.get(versionOf(after)) ?? [], at: clock.monotonic() })
    entries.delete(versionOf(after))
  })
  cache.run(signal).catch(() => {})
  await cache.ready(signal)
  return {
    kind,
    get: (name) => cache.get(keyFor(name, namespace)),
    get present() {
      return [...cache.values()]
    },
    versions,
    of: ({ metadata: { uid } }) => versions.filter(({ object }) => object.metadata.uid === uid),
    onChange: (handler) => cache.subscribe(() => handler()),
  }
}

const versionOf = ({ metadata: { uid, resourceVersion } }: KubeObject): string => `${uid} ${resourceVersion}`
