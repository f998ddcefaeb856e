/** Invariants OWN-1 to OWN-6: who changed and who owns a documented path, in each version of a history. */
import type { KubeObject, ManagedFieldsEntry } from '../kind.ts'
import type { StatusOwner } from '../ownership.ts'
import type { AuditedWrite, History, Version } from './history.ts'
import { metadataPaths } from './metadata-paths.ts'
import {
  isUnnamed,
  mayAct,
  type Report,
  type Rules,
  reporter,
  showMakers,
  showOwner,
  showUsers,
  type Violation,
} from './rules.ts'
import { canonical, coverage, entriesOf, isOwnEntry, isSeed, pathsOf, showEntry, valueAt } from './status-paths.ts'

type Step = {
  rules: Rules
  version: Version
  /** Undefined: the object was made with this version, or is first seen with it. */
  before: KubeObject | undefined
  /** The version is the first, and who made the object is not known: it may have been changed by anyone before. */
  isFound: boolean
  report: Report
}

const sameEntry = (a: ManagedFieldsEntry, b: ManagedFieldsEntry) =>
  a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource

const at = (path: string) => `status.${path}`

/** OWN-1, told when the other manager comes, not for as long as it stays. */
function coOwners({ rules, version, before, report }: Step, owner: StatusOwner, path: string): void {
  for (const entry of entriesOf(version.object)) {
    if (isOwnEntry(entry, owner, rules) || coverage(entry, path) === undefined) continue
    if (entriesOf(before).some((old) => sameEntry(old, entry) && coverage(old, path) !== undefined)) continue
    const should = showOwner(owner, rules.identities)
    report('OWN-1', at(path), `owned by ${showEntry(entry)} since ${showMakers(version)}; its one owner is ${should}`)
  }
}

const holds = (object: KubeObject | undefined, owner: StatusOwner, path: string, rules: Rules) =>
  entriesOf(object).some((entry) => isOwnEntry(entry, owner, rules) && coverage(entry, path) !== undefined)

const isSaid = (value: unknown, rules: Rules) => value !== undefined && !isSeed(value, rules)

/** OWN-4, told when the ownership is lost, or when the value comes without it. */
function unowned({ rules, version, before, report }: Step, owner: StatusOwner, path: string): void {
  if (isUnnamed(owner) || !isSaid(valueAt(version.object, path), rules) || holds(version.object, owner, path, rules)) return
  if (isSaid(valueAt(before, path), rules) && !holds(before, owner, path, rules)) return
  report(
    'OWN-4',
    at(path),
    `stands there and is not owned by ${showOwner(owner, rules.identities)}, since ${showMakers(version)}`,
  )
}

function isApply({ verb, subresource, fieldManager }: AuditedWrite, owner: StatusOwner, { managers }: Rules): boolean {
  if (subresource !== 'status') return false
  return isUnnamed(owner) ? !managers.has(fieldManager) : verb === 'patch' && fieldManager === owner.writer
}

function changes({ rules, version, before, isFound, report }: Step, owner: StatusOwner, path: string): void {
  const [was, is] = [valueAt(before, path), valueAt(version.object, path)]
  // Creation seeds; who changed what stands before the first version is known to nobody.
  if (canonical(was) === canonical(is) || isFound || (before === undefined && !isSaid(is, rules))) return
  const { identities } = rules
  const did = `${canonical(was) ?? 'nothing'} became ${canonical(is) ?? 'nothing'} by ${showMakers(version)}`
  const should = `only ${showOwner(owner, identities)} may`
  const byUser = version.makers.filter(({ user }) => mayAct(identities, owner.identity, user))
  if (byUser.length === 0) report('OWN-3', at(path), `${did}; ${should}`)
  else if (!byUser.some((maker) => isApply(maker, owner, rules))) report('OWN-2', at(path), `${did}; ${should}, by apply`)
}

function reserved({ rules, version, before, report }: Step, path: string, why: string): void {
  const is = valueAt(version.object, path)
  if (isSaid(is, rules) && canonical(is) !== canonical(valueAt(before, path)))
    report('OWN-5', at(path), `${canonical(is)} by ${showMakers(version)}; reserved: ${why}`)
}

type Allowed = { readonly identity: string; readonly writer?: string }

/** A writer that is named by what it is, or not at all, may use any manager. */
const managerOf = ({ identity, writer = identity }: Allowed) => (isUnnamed({ writer, identity }) ? undefined : writer)

function mayChange(allowed: Allowed, { user, fieldManager }: AuditedWrite, identities: Rules['identities']): boolean {
  const manager = managerOf(allowed)
  return mayAct(identities, allowed.identity, user) && (manager === undefined || manager === fieldManager)
}

function showAllowed(allowed: Allowed, identities: Rules['identities']): string {
  const manager = managerOf(allowed)
  return `${showUsers(identities, allowed.identity)}${manager === undefined ? '' : ` as "${manager}"`}`
}

function metadata({ rules, version, before, isFound, report }: Step): void {
  if (isFound) return
  const { ownership, also = [] } = rules.kind
  for (const { path, changed } of metadataPaths(ownership, before, version)) {
    if (!changed) continue
    const may: Allowed[] = [...ownership.metadata, ...also].filter((one) => one.path === path)
    if (version.makers.some((maker) => may.some((allowed) => mayChange(allowed, maker, rules.identities)))) continue
    const should = may.map((allowed) => showAllowed(allowed, rules.identities)).join(' or ')
    report('OWN-6', path, `changed by ${showMakers(version)}; only ${should} may`)
  }
}

function checkStep(step: Step): void {
  const { rules, version, before } = step
  metadata(step)
  if (version.last) return
  for (const owner of rules.kind.ownership.status) {
    for (const path of pathsOf(owner.owns, before, version.object)) {
      coOwners(step, owner, path)
      unowned(step, owner, path)
      changes(step, owner, path)
    }
  }
  for (const { path, why } of rules.kind.ownership.reserved ?? []) reserved(step, path, why)
}

/** What the versions of one object say against the ownership table. */
export function ownershipViolations(history: History, rules: Rules): Violation[] {
  const found: Violation[] = []
  let before: KubeObject | undefined
  for (const [index, version] of history.versions.entries()) {
    const isFound = index === 0 && !history.fromBirth
    checkStep({ rules, version, before, isFound, report: reporter(history, version, found) })
    before = version.object
  }
  return found
}
