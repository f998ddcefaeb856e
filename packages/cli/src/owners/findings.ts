/** What is not as documented in one stored object. Pure. */
import type { KubeObject } from 'kube-control-loop'
import { coversWholeList } from './covered.ts'
import { metadataWriters, statusWriters, type Writer } from './judge.ts'
import { conditionOf, conditionsOf, pick, type StoredCondition } from './stored.ts'
import { componentOf, isMarked, isNamed, metadataOwnersOf, migrationOf, type Owner, type Row, statusOwnersOf } from './table.ts'

/**
 * `second-writer`: the value is of a manager that is not the documented one. `second-owner`: the documented writer holds the
 * value and another manager owns part of it too. `former`: an entry of earlier software, which the migration moves.
 * `nobody`: a value that no manager owns. `reserved`: a path that nobody is to write.
 */
export type FindingKind = 'second-writer' | 'second-owner' | 'former' | 'nobody' | 'reserved'

export type Finding = {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
  /** As in the tables, status paths with `status.` before them. */
  path: string
  finding: FindingKind
  /** Absent where no manager owns the path. */
  writer?: Writer
  /** Managers that the table names for the path. */
  documented: string[]
  /** The same as a sentence. */
  says: string
}

/** A condition as the CRD's default puts it: Unknown, at the epoch. It is nobody's. */
export function isSeed({ status, lastTransitionTime }: StoredCondition): boolean {
  return status === 'Unknown' && lastTransitionTime !== undefined && Date.parse(lastTransitionTime) === 0
}

/** `"kubectl-edit" (Update on status)` */
export function showWriter({ manager, operation, subresource }: Writer): string {
  return `"${manager}" (${operation || 'unknown operation'}${subresource ? ` on ${subresource}` : ''})`
}

/** `nso-networkinterface (NSO)`, or a role in words. */
export function showOwner(owner: Pick<Owner, 'writer' | 'identity' | 'anyManager'>): string {
  const component = componentOf(owner.identity)
  if (isNamed(owner)) return component ? `${owner.writer} (${component})` : owner.writer
  return `the ${owner.writer}`
}

/** What is to be done about what earlier software still owns. */
export function toMigrate(row: Pick<Row, 'component'>): string {
  const command = migrationOf(row)
  return command === undefined ? '' : `: run ${command}`
}

type Looked = { row: Row; object: KubeObject; path: string; owners: readonly Owner[] }

function finding(looked: Looked, kind: FindingKind, writer: Writer | undefined): Finding {
  const { row, object, owners } = looked
  const { apiVersion, kind: of, metadata } = object
  const should = owners.map(showOwner).join(' or ')
  const by = writer ? showWriter(writer) : ''
  const says = {
    'second-writer': `written by ${by}, NOT by ${should}`,
    'second-owner': `also owned by ${by}, beside its documented writer ${should}`,
    former: `owned by ${by} of an earlier release${toMigrate(row)}`,
    nobody: `stands there and nobody owns it; its documented writer is ${should}`,
    reserved: `written by ${by}; it is reserved and written by nobody`,
  }[kind]
  return {
    ...{ apiVersion, kind: of },
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
    ...{ name: metadata.name, path: looked.path, finding: kind },
    ...(writer ? { writer } : {}),
    ...{ documented: owners.map((owner) => owner.writer), says },
  }
}

function inStatus(row: Row, object: KubeObject, path: string): Finding[] {
  const owners = statusOwnersOf(row, path)
  const looked = { row, object, path: `status.${path}`, owners }
  const writers = statusWriters(object, path, row)
  const isDocumented = writers.some((writer) => writer.standing === 'documented' && writer.holdsValue)
  const found = writers.flatMap((writer) => {
    if (writer.standing === 'former') return finding(looked, 'former', writer)
    if (writer.standing !== 'foreign') return []
    return finding(looked, isDocumented ? 'second-owner' : 'second-writer', writer)
  })
  const isUnowned = writers.length === 0 && stands(object, path) && owners.some(isNamed)
  return isUnowned ? [finding(looked, 'nobody', undefined)] : found
}

function stands(object: KubeObject, path: string): boolean {
  if (!path.startsWith('conditions/')) return pick(object.status, path) !== undefined
  const condition = conditionOf(object, path.slice('conditions/'.length))
  return condition !== undefined && !isSeed(condition)
}

function pathsOf({ status }: Row, object: KubeObject): string[] {
  const standing = conditionsOf(object).map(({ type }) => `conditions/${type ?? ''}`)
  return [...new Set(status.flatMap(({ owns }) => owns.flatMap((path) => (path === 'conditions/*' ? standing : [path]))))]
}

function outside(row: Row, object: KubeObject): Finding[] {
  const paths = [...new Set(row.metadata.map(({ path }) => path))]
  return paths.flatMap((path) => {
    const looked = { row, object, path, owners: metadataOwnersOf(row, path) }
    const writers = metadataWriters(object, path, row)
    const isDocumented = writers.some(({ standing }) => standing === 'documented')
    return writers.flatMap((writer) => {
      if (writer.standing === 'former') return finding(looked, 'former', writer)
      if (writer.standing !== 'foreign') return []
      return finding(looked, isDocumented ? 'second-owner' : 'second-writer', writer)
    })
  })
}

/** A leaf of the atomic list that covers no item any more, but would come back with the next write of earlier software. */
function wholeLists(row: Row, object: KubeObject): Finding[] {
  const entries = object.metadata.managedFields ?? []
  return entries.flatMap((entry) => {
    const { manager = '', operation = '', subresource } = entry
    if (!coversWholeList(entry) || operation !== 'Update' || !row.legacy?.includes(manager)) return []
    const writer: Writer = { manager, operation, standing: 'former', holdsValue: false, ...(subresource ? { subresource } : {}) }
    return finding({ row, object, path: 'status.conditions', owners: [] }, 'former', writer)
  })
}

function reserved(row: Row, object: KubeObject): Finding[] {
  return (row.reserved ?? []).flatMap(({ path }) =>
    statusWriters(object, path, row).map((writer) =>
      finding({ row, object, path: `status.${path}`, owners: [] }, 'reserved', writer),
    ),
  )
}

/** Everything in the object that the table says otherwise; empty when all is as documented. */
export function findingsOn(row: Row, object: KubeObject): Finding[] {
  if (!isMarked(row, object.metadata.labels)) return []
  const whole = wholeLists(row, object)
  const status = pathsOf(row, object).flatMap((path) => inStatus(row, object, path))
  // The list as a whole says it once for all of its items.
  const items = whole.length === 0 ? status : status.filter((one) => !(one.finding === 'former' && isItemOf(one, whole)))
  return [...whole, ...items, ...reserved(row, object), ...outside(row, object)]
}

function isItemOf({ path, writer }: Finding, whole: readonly Finding[]): boolean {
  return path.startsWith('status.conditions/') && whole.some((each) => each.writer?.manager === writer?.manager)
}
