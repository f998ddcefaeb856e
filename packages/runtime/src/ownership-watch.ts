/**
 * Who else owns a writer's documented status paths on what a cache holds, from the managedFields of each version before the
 * cache drops them. Only objects with such owners are kept, so that it is empty where everybody keeps to the table.
 */
import type { Cache } from './cache.ts'
import { type Key, type KubeObject, keyOf, type ManagedFieldsEntry } from './kind.ts'
import { foreignOwners } from './managed-fields.ts'
import type { StatusOwner } from './ownership.ts'
import { orderOfVersions } from './resource-version.ts'

export type Owners = ReadonlyMap<string, readonly string[]>

export type OwnershipWatch = {
  /** Takes in one version. */
  see(object: KubeObject, entries: readonly ManagedFieldsEntry[]): void
  /** Documented path → managers beside the documented one, as last seen of this object; nothing when it has moved on since. */
  foreignOwners(object: KubeObject): Owners
  /** Whether `Update` entries of earlier software's managers stand on it that are moved to the documented writers, not fought. */
  hasLegacy(object: KubeObject): boolean
  /** This very object is gone. */
  gone(object: KubeObject): void
  /** Objects that are kept. */
  readonly size: number
}

type Seen = { uid: string | undefined; version: string | undefined; foreign: Owners; hasLegacy: boolean }

const none: Owners = new Map()

export type OwnershipWatchOptions = {
  /** Managers of earlier software. */
  legacy?: readonly string[]
  /** Whether anything of such entries is to be moved; absent: always. */
  isMigrationDue?: ((object: KubeObject, entries: readonly ManagedFieldsEntry[]) => boolean) | undefined
  limit?: number
}

export function createOwnershipWatch(
  owner: StatusOwner,
  { legacy, isMigrationDue = () => true, limit = 20_000 }: OwnershipWatchOptions = {},
): OwnershipWatch {
  const kept = new Map<Key, Seen>()
  const earlier = new Set<string | undefined>(legacy)
  const known = (object: KubeObject): Seen | undefined => {
    const seen = kept.get(keyOf(object))
    if (!seen || seen.uid !== object.metadata.uid) return undefined
    return orderOfVersions(seen.version, object.metadata.resourceVersion) === 'older' ? undefined : seen
  }
  return {
    see(object, entries) {
      const key = keyOf(object)
      const { uid, resourceVersion: version } = object.metadata
      const foreign = foreignOwners(entries, owner)
      const isLegacy = ({ manager, operation }: ManagedFieldsEntry) => operation === 'Update' && earlier.has(manager)
      const hasLegacy = entries.some(isLegacy) && isMigrationDue(object, entries)
      kept.delete(key)
      if (foreign.size === 0 && !hasLegacy) return
      kept.set(key, { uid, version, foreign, hasLegacy })
      const [oldest = key] = kept.keys()
      if (kept.size > limit) kept.delete(oldest)
    },
    foreignOwners: (object) => known(object)?.foreign ?? none,
    hasLegacy: (object) => known(object)?.hasLegacy ?? false,
    gone(object) {
      const key = keyOf(object)
      if (kept.get(key)?.uid === object.metadata.uid) kept.delete(key)
    },
    get size() {
      return kept.size
    },
  }
}

/** Keeps the watch up to date with a cache, which must be one of whole objects. */
export function followOwnership<S, T>(watch: OwnershipWatch, cache: Cache<S, T>): void {
  cache.onManagedFields((object, entries) => watch.see(object, entries))
  cache.subscribe(({ before, after }) => {
    if (before && !after) watch.gone(before)
  })
}
