/** The API server's audit log: who asked for what, as whom, and what was answered. One JSON line per stage of a request. */
import { open, stat } from 'node:fs/promises'
import type { ApiConnection } from './api-connection.ts'
import { LocalplaneError } from './errors.ts'
import { eventually } from './wait.ts'

/** Kinds by group and plural name. Absent `resources`: all of the group. */
export type AuditedKinds = { group: string; resources?: readonly string[] }

const writeVerbs = ['create', 'update', 'patch', 'delete', 'deletecollection']

/**
 * Everything at metadata level; writes of the kinds in `bodies` with what was asked and answered. The first stage says
 * nothing that the last does not.
 */
export function auditPolicy(bodies: readonly AuditedKinds[] = []) {
  const resources = bodies.map(({ group, resources }) =>
    resources ? { group, resources: resources.flatMap((plural) => [plural, `${plural}/*`]) } : { group },
  )
  const withBodies = { level: 'RequestResponse', verbs: writeVerbs, resources }
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [...(resources.length > 0 ? [withBodies] : []), { level: 'Metadata' }],
  }
}

export type AuditEntry = {
  id: string
  /** `ResponseComplete` once for each request; watches also have `ResponseStarted`. */
  stage: string
  /** get, list, watch, create, update, patch, delete, deletecollection; for paths outside the API the HTTP method. */
  verb: string
  user: string
  groups: string[]
  userAgent: string
  group: string
  version: string
  resource: string
  subresource: string
  namespace: string
  /** For a POST the name that the server gave; '' for a refused one without a name and for collections. */
  name: string
  uri: string
  /** HTTP status of the answer; 0 when it is not known yet. */
  code: number
  /** Reason and message of a refusal, else ''. */
  reason: string
  message: string
  /** Query parameters of a write; '' and false when not given. */
  fieldManager: string
  force: boolean
  dryRun: boolean
  /** RFC 3339 with microseconds. */
  requestReceived: string
  stageTimestamp: string
  /** What was answered, with managedFields: for writes of the kinds whose bodies the plane audits. */
  responseObject?: unknown
}

/** Byte positions in the log, as `tailAudit` gives them. */
export type AuditRange = { from?: number; to?: number }

/** Parses the log or a part of it. A line that is still being written is left out. A missing log is an empty one. */
export async function readAudit(path: string, range: AuditRange = {}): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for (const line of (await readRange(path, range)).split('\n')) {
    const entry = parseAuditLine(line)
    if (entry) entries.push(entry)
  }
  return entries
}

async function readRange(path: string, { from = 0, to }: AuditRange): Promise<string> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (!file) return ''
  try {
    const end = to ?? (await file.stat()).size
    const bytes = Buffer.alloc(Math.max(0, end - from))
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.toString('utf8', 0, filled)
  } finally {
    await file.close()
  }
}

type RawEvent = {
  auditID?: string
  stage?: string
  requestURI?: string
  verb?: string
  user?: { username?: string; groups?: string[] }
  impersonatedUser?: { username?: string; groups?: string[] }
  userAgent?: string
  objectRef?: {
    resource?: string
    subresource?: string
    namespace?: string
    name?: string
    apiGroup?: string
    apiVersion?: string
  }
  responseStatus?: { code?: number; reason?: string; message?: string }
  requestReceivedTimestamp?: string
  stageTimestamp?: string
  responseObject?: unknown
}

/** Undefined for a line that is empty or incomplete. */
export function parseAuditLine(line: string): AuditEntry | undefined {
  if (!line.startsWith('{')) return undefined
  let event: RawEvent
  try {
    event = JSON.parse(line)
  } catch {
    return undefined
  }
  const user = event.impersonatedUser ?? event.user
  const ref = event.objectRef
  const uri = event.requestURI ?? ''
  const query = queryOf(uri)
  return {
    id: event.auditID ?? '',
    stage: event.stage ?? '',
    verb: event.verb ?? '',
    user: user?.username ?? '',
    groups: user?.groups ?? [],
    userAgent: event.userAgent ?? '',
    group: ref?.apiGroup ?? '',
    version: ref?.apiVersion ?? '',
    resource: ref?.resource ?? '',
    subresource: ref?.subresource ?? '',
    namespace: ref?.namespace ?? '',
    name: ref?.name ?? '',
    uri,
    code: event.responseStatus?.code ?? 0,
    reason: event.responseStatus?.reason ?? '',
    message: event.responseStatus?.message ?? '',
    fieldManager: query.get('fieldManager') ?? '',
    force: query.get('force') === 'true',
    dryRun: query.has('dryRun'),
    requestReceived: event.requestReceivedTimestamp ?? '',
    stageTimestamp: event.stageTimestamp ?? '',
    ...(event.responseObject === undefined ? {} : { responseObject: event.responseObject }),
  }
}

function queryOf(uri: string): URLSearchParams {
  const start = uri.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : uri.slice(start + 1))
}

/**
 * Resolves with a position in the log that is behind the line of every request that was answered before this call.
 * The server writes a line after it has sent the answer, so a marker request alone could overtake an earlier line: three of
 * them, one after the other, leave the earlier one some milliseconds. Rejects with `NO_AUDIT_LOG` on a plane without one.
 */
export async function tailAudit(plane: { auditLogPath?: string | undefined; connection: ApiConnection }): Promise<number> {
  const path = plane.auditLogPath
  if (!path) throw new LocalplaneError('NO_AUDIT_LOG', 'this control plane was started without an audit log')
  let end = await sizeOf(path)
  for (let round = 0; round < 3; round++) {
    const marker = `audit-marker=${crypto.randomUUID()}`
    await plane.connection.must({ path: `/version?${marker}` })
    end = await eventually(`the audit log has ${marker}`, () => endOfLineWith(path, end, marker))
  }
  return end
}

/**
 * Follows the log from here on. Each call of the result resolves with every wanted entry of a request that was answered since
 * `followAudit` and before that call.
 */
export async function followAudit(
  plane: { auditLogPath?: string | undefined; connection: ApiConnection },
  wanted: (entry: AuditEntry) => boolean,
): Promise<() => Promise<readonly AuditEntry[]>> {
  const entries: AuditEntry[] = []
  let from = await tailAudit(plane)
  return async () => {
    const to = await tailAudit(plane)
    for (const entry of await readAudit(plane.auditLogPath ?? '', { from, to })) if (wanted(entry)) entries.push(entry)
    from = to
    return entries
  }
}

async function endOfLineWith(path: string, from: number, marker: string): Promise<number | undefined> {
  const text = await readRange(path, { from })
  const at = text.indexOf(marker)
  const lineEnd = at < 0 ? -1 : text.indexOf('\n', at)
  return lineEnd < 0 ? undefined : from + Buffer.byteLength(text.slice(0, lineEnd + 1))
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    return 0
  }
}
