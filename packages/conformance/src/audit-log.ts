/** The API server’s audit log as far as cases read it: JSON lines of audit.k8s.io/v1 Event. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Bench } from './bench.ts'

export type AuditLine = {
  readonly verb: string
  readonly user: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** HTTP status of the answer. */
  readonly code: number
  readonly uri: string
  /** Bodies, where the audit policy keeps them. */
  readonly asked: unknown
  readonly answered: unknown
}

type Event = {
  stage?: string
  verb?: string
  requestURI?: string
  user?: { username?: string }
  objectRef?: { apiGroup?: string; resource?: string; subresource?: string; namespace?: string; name?: string }
  responseStatus?: { code?: number }
  requestObject?: unknown
  responseObject?: unknown
}

const writing = ['create', 'update', 'patch', 'delete', 'deletecollection']
export const isWrite = ({ verb }: AuditLine): boolean => writing.includes(verb)

/** Bytes of the log, and a text that every line of interest has: most of a long log is not worth being parsed. */
export type AuditPart = { from?: number; to?: number; having: string }

/** Requests that were answered; lines that are no events are left out. Of a log that was rotated meanwhile only the new file is read. */
export async function* auditLines(path: string, { from = 0, to = Infinity, having }: AuditPart): AsyncGenerator<AuditLine> {
  // A log that has become shorter is a new one.
  const start = to < from ? 0 : from
  if (to <= start) return
  const input = createReadStream(path, { start, ...(Number.isFinite(to) ? { end: to - 1 } : {}) })
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const read = line.includes(having) ? lineOf(line) : undefined
    if (read) yield read
  }
}

function lineOf(text: string): AuditLine | undefined {
  let event: Event
  try {
    event = JSON.parse(text) as Event
  } catch {
    return undefined
  }
  if (event.stage !== 'ResponseComplete' && event.stage !== 'ResponseStarted') return undefined
  const { apiGroup = '', resource = '', subresource = '', namespace = '', name = '' } = event.objectRef ?? {}
  return {
    ...{ resource, subresource, namespace, name, group: apiGroup },
    verb: event.verb ?? '',
    user: event.user?.username ?? '',
    code: event.responseStatus?.code ?? 0,
    uri: event.requestURI ?? '',
    asked: event.requestObject,
    answered: event.responseObject,
  }
}

const lookEveryMs = 50
const looksForMs = 5000

/**
 * Resolves with a position in the log behind every request that was answered before this call. A line is written after the
 * answer was sent; so requests that mark a place are sent, one after the other, and looked for. Where the audit policy leaves these out,
 * the end of the log counts as soon as looking has taken long enough.
 */
export async function auditEnd({ plane, client, clock }: Bench, signal: AbortSignal): Promise<number> {
  const path = plane.auditLog
  if (path === undefined) return 0
  const before = await sizeOf(path)
  const marker = `conformance-${randomUUID()}`
  for (const part of ['a', 'b'])
    await client.raw({ method: 'GET', path: '/version', query: { marker: `${marker}${part}` } }, signal)
  const deadline = clock.monotonic() + looksForMs
  while (clock.monotonic() < deadline) {
    for await (const { uri } of auditLines(path, { from: before, having: `${marker}b` })) if (uri) return await sizeOf(path)
    await clock.sleep(lookEveryMs, signal)
  }
  return await sizeOf(path)
}

const sizeOf = async (path: string): Promise<number> => (await stat(path)).size
