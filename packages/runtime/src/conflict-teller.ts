/** Makes second writers of documented status paths visible: counts, logs and tells people, once per episode. */
import { type Contention, unknownManager } from './contention.ts'
import { type KubeObject, keyOf } from './kind.ts'
import { documentedPath, gatheringManagers } from './managed-fields.ts'
import type { FieldConflict } from './races.ts'
import type { WriteMetrics } from './write-metrics.ts'
import type { WriteLog } from './write-refusal.ts'

/** A Warning event about an object. */
export type RecordWarning = (
  regarding: KubeObject,
  event: { type: 'Warning'; reason: string; action: string; note: string },
) => void

/** A documented path and the manager that wrote there, `unknown` where it left no trace. */
export type SecondWrite = { path: string; manager: string }

export type ConflictTellerParts = {
  /** Plural, as a metric label. */
  resource: string
  /** Manager of the documented owner. */
  owner: string
  contention: Contention
  metrics: Pick<WriteMetrics, 'ownershipConflict'>
  log?: WriteLog | undefined
  recordEvent?: RecordWarning | undefined
}

const gathering = new Set<string>(gatheringManagers)

/** Who that is cannot be known where the server itself keeps what others wrote: a write only where the value changed too. */
const isSomeone = ({ manager }: SecondWrite) => !gathering.has(manager)

/** One second write per path and manager: a condition conflicts in up to five leaves. */
export function secondWrites(conflicts: readonly FieldConflict[]): SecondWrite[] {
  return conflicts.map(({ manager, field }) => ({ path: documentedPath(field), manager })).filter(isSomeone)
}

/** Second writes that an answer shows: owners beside the documented one, and changes that nobody owns. */
export function shownWrites(owners: ReadonlyMap<string, readonly string[]>, taken: readonly string[]): SecondWrite[] {
  const owning = [...owners].flatMap(([path, managers]) => managers.map((manager) => ({ path, manager }))).filter(isSomeone)
  const named = new Set(owning.map(({ path }) => path))
  const silent = taken.filter((path) => !named.has(path)).map((path) => ({ path, manager: unknownManager }))
  return [...owning, ...silent]
}

/** Counts each path and manager once per episode, and writes one event and one log line per manager. */
export function createConflictTeller(parts: ConflictTellerParts): (object: KubeObject, writes: readonly SecondWrite[]) => void {
  const { resource, owner, contention, metrics, log, recordEvent } = parts
  return (object, writes) => {
    const key = keyOf(object)
    const fresh = writes.filter(({ path, manager }) => contention.isNews(object, path, manager))
    const byManager = Map.groupBy(fresh, (each) => each.manager)
    for (const [manager, ofManager] of byManager) {
      const paths = ofManager.map((each) => each.path).sort()
      for (const field of paths) metrics.ownershipConflict({ resource, field, manager })
      const note = `status ${paths.join(', ')} belongs to ${owner}; ${JSON.stringify(manager)} wrote there and is overruled`
      log?.warn({ resource, key, manager, paths }, 'a second writer of a documented status path')
      recordEvent?.(object, { type: 'Warning', reason: 'StatusOwnershipConflict', action: 'Overrule', note })
    }
  }
}
