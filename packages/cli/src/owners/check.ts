/** Walks every documented kind of a live cluster. Reads only. */
import type { Client, KubeObject } from 'kube-control-loop'
import { type Unread, unreadBecause } from '../cluster.ts'
import { collect } from '../pages.ts'
import { type Finding, findingsOn } from './findings.ts'
import { isMarked, type Row } from './table.ts'

export type Checked = {
  /** Objects that were looked at. */
  objects: number
  /** Kinds that were looked at. */
  kinds: string[]
  findings: Finding[]
  /** Kinds that the cluster does not serve: nothing can be wrong there. */
  unserved: string[]
  /** Kinds that could not be read, with why: whether all is right there is not known. */
  unread: { kind: string; message: string }[]
}

async function checkKind(client: Client, row: Row, signal: AbortSignal): Promise<Pick<Checked, 'objects' | 'findings'>> {
  // Those of the kind that another table, or nobody's, has marked are not this row's.
  const isOwn = ({ metadata }: KubeObject) => isMarked(row, metadata.labels)
  const looked = await collect({ client, kind: row.kind }, (object) => (isOwn(object) ? [findingsOn(row, object)] : []), signal)
  return { objects: looked.length, findings: looked.flat() }
}

/** Rejects with `Explained` when there is no answer at all. */
export async function checkOwners(client: Client, rows: readonly Row[], signal: AbortSignal): Promise<Checked> {
  const checked: Checked = { objects: 0, kinds: [], findings: [], unserved: [], unread: [] }
  for (const row of rows) {
    const { kind } = row.kind
    try {
      const { objects, findings } = await checkKind(client, row, signal)
      checked.objects += objects
      if (!checked.kinds.includes(kind)) checked.kinds.push(kind)
      checked.findings = checked.findings.concat(findings)
    } catch (error) {
      addUnread(checked, kind, unreadBecause(error))
    }
  }
  return checked
}

/** Whether something was looked at, all of it could be, and it is as documented. */
export const isRight = ({ kinds, findings, unread }: Checked): boolean =>
  kinds.length > 0 && findings.length === 0 && unread.length === 0

function addUnread(checked: Checked, kind: string, { why, message }: Unread): void {
  const known = why === 'not served' ? checked.unserved : checked.unread.map((each) => each.kind)
  if (known.includes(kind)) return
  if (why === 'not served') checked.unserved.push(kind)
  else checked.unread.push({ kind, message })
}
