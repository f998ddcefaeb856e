/** Walks every documented kind of a live cluster. Reads only. */
import { ApiError, apiVersionOf, type Client, type KubeObject, pathOf } from 'kube-control-loop'
import { type Unread, unreadBecause } from '../cluster.ts'
import { type Finding, findingsOn } from './findings.ts'
import type { Row } from './table.ts'

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

const pageSize = '500'

type Page = { items?: KubeObject[]; metadata?: { continue?: string } }

async function* pagesOf(client: Client, row: Row, signal: AbortSignal): AsyncGenerator<readonly KubeObject[]> {
  let token: string | undefined
  do {
    const query = { limit: pageSize, ...(token === undefined ? {} : { continue: token }) }
    const { items = [], metadata } = (await client.raw({ method: 'GET', path: pathOf(row.kind, {}), query }, signal)) as Page
    yield items
    token = metadata?.continue || undefined
  } while (token !== undefined)
}

async function checkKind(client: Client, row: Row, signal: AbortSignal): Promise<{ objects: number; findings: Finding[] }> {
  const named = { apiVersion: apiVersionOf(row.kind), kind: row.kind.kind }
  let objects = 0
  const findings: Finding[] = []
  for await (const items of pagesOf(client, row, signal)) {
    objects += items.length
    for (const item of items) findings.push(...findingsOn(row, { ...named, ...item }))
  }
  return { objects, findings }
}

/** A list whose next page is no longer to be had is begun anew, as often as that happens: it is rare. */
async function checkAgain(client: Client, row: Row, signal: AbortSignal): ReturnType<typeof checkKind> {
  for (;;) {
    try {
      return await checkKind(client, row, signal)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error
    }
  }
}

/** Rejects with `Explained` when there is no answer at all. */
export async function checkOwners(client: Client, rows: readonly Row[], signal: AbortSignal): Promise<Checked> {
  const checked: Checked = { objects: 0, kinds: [], findings: [], unserved: [], unread: [] }
  for (const row of rows) {
    const { kind } = row.kind
    try {
      const { objects, findings } = await checkAgain(client, row, signal)
      checked.objects += objects
      checked.kinds.push(kind)
      checked.findings.push(...findings)
    } catch (error) {
      addUnread(checked, kind, unreadBecause(error))
    }
  }
  return checked
}

function addUnread(checked: Checked, kind: string, { why, message }: Unread): void {
  if (why === 'not served') checked.unserved.push(kind)
  else checked.unread.push({ kind, message })
}
