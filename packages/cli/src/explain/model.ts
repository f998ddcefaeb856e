/**
 * What `nso explain -o json|yaml` prints. Field names are stable: fields are added, not renamed or removed. Times are RFC 3339.
 */
import type { Writer } from '../owners/judge.ts'
import type { Leader } from './leaders.ts'

export type ObjectName = { apiVersion: string; kind: string; namespace?: string; name: string }

/** Who wrote something, as far as the object tells. */
export type Written = {
  /**
   * `manager`: those in `writers`. `CRD default`: the default of the schema; nobody has reported yet. `nobody`: nothing tells
   * who (no trace). `not in the dump`: the object came without managedFields. `absent`: there is nothing.
   */
  by: 'manager' | 'CRD default' | 'nobody' | 'not in the dump' | 'absent'
  /** Those who hold the value first; then those who own other parts of it. */
  writers: Writer[]
  /** Who the ownership tables name; absent where they say nothing. */
  documented?: { writer: string; component?: string; identity: string }
  /** What is wrong with it, as a sentence; absent where nothing is. */
  complaint?: string
}

/** Where a value was taken from. */
export type Source = ObjectName & {
  uid?: string
  /** Generation of the source that it was taken at. */
  generation?: number
  /** The condition that was read; absent where the value is from the object as a whole. */
  condition?: string
  /** That condition as it stands now. */
  says?: string
  /** Manager that had written it when it was taken. */
  manager?: string
  /** Who has written it as it stands now. */
  writtenBy?: string[]
  /** Whose report it was that should not have made one, as a sentence; absent where all is well. */
  complaint?: string
  /** `recorded` in the status by who took it; `derived` from what the data plane's DataPlane says; `computed` of the same object. */
  known: 'recorded' | 'derived' | 'computed'
}

export type Freshness = { state: 'current' | 'stale' | 'not told'; why?: string }

export type ConditionView = {
  type: string
  /** `absent`: it is documented and does not stand. */
  status: string
  reason?: string
  message?: string
  /** When the status last changed. */
  since?: string
  observedGeneration?: number
  written: Written
  from?: Source[]
  freshness: Freshness
  /** Who or what is waited for, as a sentence. */
  waitsFor?: string
}

export type FieldView = { path: string; value: unknown; written: Written }

export type FinalizerView = {
  name: string
  /** The documented manager and component that remove it; absent: no table names one. */
  removedBy?: string
  component?: string
  /** Who has put it there, by managedFields. */
  addedBy: string[]
}

export type NodeState = 'stands' | 'deleting' | 'missing' | 'not known'

/** One object of the chain. */
export type Node = ObjectName & {
  role: string
  state: NodeState
  /** Why it is not known, or what else there is to know of it. */
  notes: string[]
  uid?: string
  generation?: number
  created?: string
  /** For an object that is being deleted. */
  deletion?: { since: string; finalizers: FinalizerView[] }
  conditions: ConditionView[]
  fields: FieldView[]
  children: Node[]
}

/** `ready`: all is well. `broken`: the chain stops at `at`. `deleting`: its deletion waits at `at`. */
export type Verdict = {
  state: 'ready' | 'broken' | 'deleting'
  at?: ObjectName
  sentence: string
  /** What is to be done, where the reason of a condition tells. */
  remedy?: string
}

export type Explanation = {
  target: ObjectName
  origin: 'live' | 'dump'
  /** From when ages are counted: the server's time, or the newest time in the dump. */
  at: string
  verdict: Verdict
  /** Values that somebody else than their documented writer holds, or co-owns, as sentences. */
  foreign: string[]
  /** What could not be read, and what else limits this explanation. */
  notes: string[]
  /** The claim, what was made for it, and so on. */
  tree: Node
  /** What the chain needs and was not made for it. */
  beside: Node[]
  leaders: Leader[]
}
