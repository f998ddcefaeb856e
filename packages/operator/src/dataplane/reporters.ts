/**
 * Who had set each condition of the objects of one cache, from their managedFields: those are dropped before an object is stored,
 * so the few names are kept here. Other writers of the same object change nothing of it. Source: KEP-555.
 */
import { type Key, type KubeObject, keyOf, type ManagedFieldsEntry } from 'kube-control-loop'

export type Reporters = {
  /** Takes in one version of an object. */
  seen(object: KubeObject, entries: readonly ManagedFieldsEntry[]): void
  /** The manager that owns the status of a condition in exactly this version; undefined when nobody does or it has no name. */
  of(object: KubeObject, type: string): string | undefined
  forget(key: Key): void
}

type Fields = Readonly<Record<string, unknown>>

const fieldsIn = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

export function createReporters(): Reporters {
  const known = new Map<Key, { version: string | undefined; managers: ReadonlyMap<string, string> }>()
  return {
    seen: (object, entries) =>
      known.set(keyOf(object), { version: object.metadata.resourceVersion, managers: conditionManagers(entries) }),
    of(object, type) {
      const found = known.get(keyOf(object))
      if (found?.version !== object.metadata.resourceVersion) return undefined
      return found?.managers.get(type) ?? found?.managers.get(all)
    },
    forget: (key) => known.delete(key),
  }
}

/** Stands for every condition: the whole list belongs to one manager, as in a schema where it is no map. */
const all = '*'

/**
 * By type. Where several own one condition, having said the same, the first by name is taken, of applies before updates: the
 * times, by which the server sorts them, move with every write.
 */
function conditionManagers(entries: readonly ManagedFieldsEntry[]): Map<string, string> {
  const managers = new Map<string, string>()
  for (const { manager, fieldsV1 } of [...entries].sort(byRank)) {
    const conditions = fieldsIn(fieldsV1?.['f:status'])['f:conditions']
    if (!manager || conditions === undefined) continue
    for (const type of typesIn(fieldsIn(conditions))) if (!managers.has(type)) managers.set(type, manager)
  }
  return managers
}

const rank = ({ operation, manager = '' }: ManagedFieldsEntry) => `${operation === 'Apply' ? 0 : 1} ${manager}`
const byRank = (a: ManagedFieldsEntry, b: ManagedFieldsEntry) => (rank(a) < rank(b) ? -1 : 1)

function typesIn(conditions: Fields): string[] {
  const keys = Object.keys(conditions)
  if (keys.length === 0) return [all]
  return keys.flatMap((key) => ('f:status' in fieldsIn(conditions[key]) ? typeOf(key) : []))
}

/** Of a key such as `k:{"type":"Ready"}`. */
function typeOf(key: string): string[] {
  if (!key.startsWith('k:')) return []
  const { type } = fieldsIn(JSON.parse(key.slice(2)))
  return typeof type === 'string' ? [type] : []
}
