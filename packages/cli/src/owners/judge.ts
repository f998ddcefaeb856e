/** Who wrote a path by managedFields, held against the tables. Pure. */
import type { KubeObject, ManagedFieldsEntry } from 'kube-control-loop'
import { coveredStatus, coversOutside, coversWholeList, holdsValue } from './covered.ts'
import { componentOf, isNamed, metadataOwnersOf, type Owner, type Row, reservedManagers, rowOf, statusOwnersOf } from './table.ts'

/**
 * `documented`: the one writer of the table, in the documented way. `open`: one of those whom permissions let write here.
 * `former`: software of an earlier release; a migration moves the entry. `foreign`: somebody else where the table names one
 * writer. `undocumented`: the table says nothing of the path.
 */
export type Standing = 'documented' | 'open' | 'former' | 'foreign' | 'undocumented'

export type Writer = {
  /** Empty where the server recorded none. */
  manager: string
  operation: string
  subresource?: string
  /** RFC 3339: when the manager last changed anything of what it holds in this way. */
  time?: string
  /** The component that the manager name is reserved for. */
  component?: string
  identity?: string
  standing: Standing
  /** Whether what people read of the path is the manager's, not only other parts of it. */
  holdsValue: boolean
}

type Judged = { row: Row | undefined; path: string; owners: readonly Owner[]; isReserved: boolean }

const isLegacy = ({ manager, operation }: ManagedFieldsEntry, row: Row | undefined): boolean =>
  operation === 'Update' && (row?.legacy?.includes(manager ?? '') ?? false)

function standingOnStatus(entry: ManagedFieldsEntry, { row, owners, isReserved }: Judged): Standing {
  const { manager = '', operation, subresource } = entry
  if (!row || (owners.length === 0 && !isReserved)) return 'undocumented'
  const named = owners.find((owner) => isNamed(owner) && owner.writer === manager)
  if (named) return operation === 'Apply' && subresource === 'status' ? 'documented' : 'foreign'
  if (owners.some((owner) => !isNamed(owner)) && !reservedManagers.has(manager)) return 'open'
  return isLegacy(entry, row) ? 'former' : 'foreign'
}

/** Outside the status a create may bring everything, for those whose paths they are. */
function standingOutside(entry: ManagedFieldsEntry, { row, path, owners }: Judged): Standing {
  const { manager = '', operation } = entry
  if (!row || owners.length === 0) return 'undocumented'
  if (owners.some((owner) => owner.writer === manager)) return 'documented'
  if (owners.some((owner) => !isNamed(owner) || owner.shared)) return 'open'
  if (isLegacy(entry, row)) return 'former'
  const inBody = path.startsWith('metadata.finalizers/') && (operation === 'Update' || reservedManagers.has(manager))
  return inBody ? 'open' : 'foreign'
}

function writerFrom(entry: ManagedFieldsEntry, standing: Standing, holds: boolean): Writer {
  const { manager = '', operation = '', subresource, time } = entry
  const identity = reservedManagers.get(manager)
  const component = identity === undefined ? undefined : componentOf(identity)
  return {
    ...{ manager, operation, standing, holdsValue: holds },
    ...(subresource ? { subresource } : {}),
    ...(time ? { time } : {}),
    ...(component ? { component } : {}),
    ...(identity === undefined ? {} : { identity }),
  }
}

const order: readonly Standing[] = ['documented', 'open', 'former', 'foreign', 'undocumented']

const byWeight = (a: Writer, b: Writer): number =>
  Number(b.holdsValue) - Number(a.holdsValue) || order.indexOf(a.standing) - order.indexOf(b.standing)

const entriesOf = ({ metadata }: KubeObject): readonly ManagedFieldsEntry[] => metadata.managedFields ?? []

/** Everybody who owns any part of a status path: those who hold its value first, the documented one before others. */
export function statusWriters(object: KubeObject, path: string, row = rowOf(object)): Writer[] {
  const owners = row ? statusOwnersOf(row, path) : []
  const isReserved = row?.reserved?.some((each) => each.path === path) ?? false
  const judged = { row, path, owners, isReserved }
  const isCondition = path.startsWith('conditions/')
  return entriesOf(object)
    .flatMap((entry) => {
      // A leaf of an atomic list: whoever wrote the list then is all that is known of its items. Others' lists may be of one piece now.
      const isWhole = isCondition && coversWholeList(entry)
      const isOthers = row?.component === undefined
      const whole = isWhole && (isLegacy(entry, row) || isOthers)
      if (coveredStatus(entry, path) === undefined && !whole) return []
      const holds = holdsValue(entry, path) || (isWhole && isOthers)
      return [writerFrom(entry, standingOnStatus(entry, judged), holds)]
    })
    .sort(byWeight)
}

/** Everybody who owns any part of a documented path outside the status. */
export function metadataWriters(object: KubeObject, path: string, row = rowOf(object)): Writer[] {
  const owners = row ? metadataOwnersOf(row, path) : []
  const judged = { row, path, owners, isReserved: false }
  const keys = owners.every((owner) => owner.keys) ? owners.flatMap((owner) => owner.keys ?? []) : undefined
  return entriesOf(object)
    .filter((entry) => coversOutside(entry, path, keys?.length ? keys : undefined))
    .map((entry) => writerFrom(entry, standingOutside(entry, judged), true))
    .sort(byWeight)
}
