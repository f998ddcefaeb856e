/** What a recorder holds histories against, and what it finds. */
import type { ConditionDefinition } from '../condition.ts'
import type { Condition, ResourceOwnership, StatusOwner } from '../ownership.ts'
import type { KindDefinition } from '../schema.ts'
import type { AuditedWrite, History, Version } from './history.ts'

export type RecordedKind = {
  kind: KindDefinition
  ownership: ResourceOwnership
  /** By type. Absent: only ownership is looked at. */
  conditions?: Readonly<Record<string, ConditionDefinition>>
  /**
   * By type: the reasons that other components document for the statuses which their reasons may pass through. Absent: any
   * well-formed one.
   */
  reported?: Readonly<Record<string, readonly string[]>>
  /** Who may write a path of spec or metadata besides the table's writer. */
  also?: readonly { path: string; identity: string }[]
}

/** Identity of the ownership tables → its users; `*` are all users that no identity names. An identity left out is `*`. */
export type Identities = Readonly<Record<string, readonly string[]>>

export const invariants = {
  'OWN-1': 'a documented status path is owned by its documented manager’s apply and by no other manager',
  'OWN-2': 'a documented status path changes by its documented manager’s apply on /status only',
  'OWN-3': 'a documented status path changes by its documented user only',
  'OWN-4': 'what stands at a documented status path, CRD defaults apart, is owned by its documented manager',
  'OWN-5': 'a reserved status path is written by nobody',
  'OWN-6': 'a documented path of spec or metadata changes by its documented user and manager only',
  'COND-1': 'a condition has all its fields, each well formed, and its type once',
  'COND-2': 'a condition’s type is declared',
  'COND-3': 'a condition’s reason is listed for its type and status',
  'COND-4': 'a condition’s observedGeneration is there, is none to come, and never goes back',
  'COND-5': 'a condition’s lastTransitionTime moves when its status flips, forward, and only then',
  'COND-6': 'a condition once there stays',
  'GEN-1': 'status.observedGeneration is none to come and never goes back',
  'REC-1': 'the recorder saw something',
  'REC-2': 'the recorder’s watch caught up with the audit log',
  'REC-3': 'what a test announced did happen',
} as const
export type Invariant = keyof typeof invariants

export type Violation = {
  invariant: Invariant
  kind: string
  /** `namespace/name` of the object. */
  key: string
  resourceVersion: string
  /** `status.vpc`, `status.conditions/Ready`, `metadata.finalizers/x`, `spec`. */
  path: string
  /** What is wrong, who did it and who should have. */
  says: string
}

export function showViolation({ invariant, kind, key, resourceVersion, path, says }: Violation): string {
  return `${invariant} ${kind} ${key} @${resourceVersion} ${path}: ${says}`
}

export type Rules = {
  kind: RecordedKind
  identities: Identities
  /** Field managers that any of the recorded tables documents. */
  managers: ReadonlySet<string>
}

/** A writer that the table names by what it is: its manager is its own affair, as long as it is not a documented one. */
export const isUnnamed = ({ writer, identity }: { writer: string; identity: string }) => writer === identity

export function documentedManagers(kinds: readonly RecordedKind[]): Set<string> {
  const owners = kinds.flatMap(({ ownership }) => [...ownership.status, ...ownership.metadata])
  return new Set(owners.filter((owner) => !isUnnamed(owner)).map(({ writer }) => writer))
}

const everyoneElse = '*'

export function mayAct(identities: Identities, identity: string, user: string): boolean {
  const users = identities[identity] ?? [everyoneElse]
  if (users.includes(user)) return true
  return users.includes(everyoneElse) && !Object.values(identities).some((named) => named.includes(user))
}

export function showUsers(identities: Identities, identity: string): string {
  const users = identities[identity] ?? [everyoneElse]
  return users.map((user) => (user === everyoneElse ? `the ${identity}` : user)).join(' or ')
}

export function showOwner(owner: StatusOwner, identities: Identities): string {
  const manager = isUnnamed(owner) ? 'its own manager' : `"${owner.writer}"`
  return `${showUsers(identities, owner.identity)} as ${manager}`
}

function showMaker({ user, fieldManager, verb, resource, subresource }: AuditedWrite): string {
  const manager = fieldManager ? ` as "${fieldManager}"` : ' (no field manager)'
  return `${user}${manager} (${verb} ${resource}${subresource && `/${subresource}`})`
}

export function showMakers({ makers }: Version): string {
  return makers.length > 0 ? makers.map(showMaker).join(' or ') : 'no known request'
}

export type Report = (invariant: Invariant, path: string, says: string) => void

/** Reports about one version of a history. */
export function reporter({ kind, key }: History, { object, last }: Version, found: Violation[]): Report {
  const resourceVersion = `${object.metadata.resourceVersion ?? '?'}${last ? ' (its last)' : ''}`
  return (invariant, path, says) => found.push({ invariant, kind: kind.kind, key, resourceVersion, path, says })
}

/** The conditions that the kind's schema seeds. */
export function seedsOf({ status }: KindDefinition): readonly Condition[] {
  const initial: unknown = status && 'default' in status ? status.default : undefined
  if (typeof initial !== 'object' || initial === null || !('conditions' in initial)) return []
  return Array.isArray(initial.conditions) ? initial.conditions : []
}
