/** The report of `nso start`: counted from the API server's audit log, and checked against what the processes say of themselves. */
import { failuresIn } from './packets.ts'
import type { Proof } from './planes/data-plane.ts'

/** What the report needs of one line of the audit log. */
export type AuditedRequest = {
  verb: string
  user: string
  group?: string | undefined
  resource?: string | undefined
  subresource?: string | undefined
  namespace?: string | undefined
  name?: string | undefined
  code: number
  message?: string | undefined
  fieldManager?: string | undefined
  /** RFC 3339 with microseconds. */
  requestReceived: string
}

export type ClaimTimes = { name: string; boundMs: number | null; preparedMs: number | null; readyMs: number | null }

export type Report = {
  claims: ClaimTimes[]
  writes: { total: number; perClaim: number; byWriter: { writer: string; verb: string; resource: string; count: number }[] }
  conflicts: number
  ownershipConflicts: number
  reconcileErrors: number
  /**
   * `audit`: everybody's requests, from the API server's audit log, with which the processes' own metrics agree.
   * `metrics`: NSO's and the data plane's own counts, on a cluster whose audit log cannot be read; resources are not known there.
   */
  countedFrom: 'audit' | 'metrics'
  /** What was answered 409, when anything was. */
  refused?: string[]
  /** What real workloads were given, and which of them reach each other: where the data plane is shown with them. */
  packets?: Proof
}

/** The counts that are to be 0 and are not, and the packets that went wrong, as sentences; empty when all is well. */
export function complaintsAbout(report: Report): string[] {
  const { conflicts, ownershipConflicts, reconcileErrors, refused = [], packets } = report
  const counts = { conflicts, 'ownership conflicts': ownershipConflicts, 'reconcile errors': reconcileErrors }
  const missed = Object.entries(counts).filter(([, count]) => count !== 0)
  const sentences = missed.map(([name, count]) => `${name}: ${count}, and there should be none`)
  return [...sentences, ...refused, ...(packets ? failuresIn(packets) : [])]
}

const methods: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}

export function isWrite(request: AuditedRequest): boolean {
  return request.verb in methods
}

function isLease(request: AuditedRequest): boolean {
  return request.group === 'coordination.k8s.io' && request.resource === 'leases'
}

/** `system:serviceaccount:NAMESPACE:NAME` → NAME; others as they are. */
function writerOf(request: AuditedRequest): string {
  const account = request.user.startsWith('system:serviceaccount:')
    ? (request.user.split(':').at(-1) ?? request.user)
    : request.user
  return request.fieldManager && request.fieldManager !== account ? `${account} as ${request.fieldManager}` : account
}

/** Counts the requests that were made between two instants; Lease renewals apart. */
export function countWrites(audit: readonly AuditedRequest[], claims: number): Report['writes'] {
  const counts = new Map<string, Report['writes']['byWriter'][number]>()
  const writes = audit.filter((request) => isWrite(request) && !isLease(request))
  for (const request of writes) {
    const row = { writer: writerOf(request), verb: request.verb, resource: resourceOf(request), count: 0 }
    const key = [row.writer, row.verb, row.resource].join(' ')
    const counted = counts.get(key) ?? row
    counted.count++
    counts.set(key, counted)
  }
  return totalled([...counts.values()], claims)
}

/**
 * 409 answers to anybody's write, Leases apart; of these, the ones that name another field manager. The API server's requests
 * to itself do not count: it makes sure of its own objects (APIServices, flow schemas) by creating what may stand already.
 */
export function countConflicts(audit: readonly AuditedRequest[]): {
  conflicts: number
  ownershipConflicts: number
  /** Each as a sentence. */
  refused: string[]
} {
  const refused = audit.filter(
    (request) => request.code === 409 && isWrite(request) && !isLease(request) && request.user !== 'system:apiserver',
  )
  return {
    conflicts: refused.length,
    ownershipConflicts: refused.filter((request) => request.message?.startsWith('Apply failed with')).length,
    refused: refused.map((one) => `${writerOf(one)}: ${one.verb} ${nameOf(one)}: ${one.message ?? 'refused with 409'}`),
  }
}

function resourceOf({ resource = '', subresource }: AuditedRequest): string {
  return subresource ? `${resource}/${subresource}` : resource
}

function nameOf(request: AuditedRequest): string {
  return [resourceOf(request), [request.namespace, request.name].filter(Boolean).join('/')].filter(Boolean).join(' ')
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', DELETE: 'delete' }

/**
 * What processes have written by their own count between two readings of their metrics pages. PUT is left out: the Lease is the
 * only thing that they write so.
 */
export function countOwnWrites(
  readings: readonly { writer: string; before: readonly Sample[]; after: readonly Sample[] }[],
  claims: number,
): Report['writes'] {
  const sent = (samples: readonly Sample[], method: string) =>
    samples
      .filter(({ name, labels }) => name === 'rest_client_requests_total' && labels.method === method)
      .reduce((sum, { value }) => sum + value, 0)
  const byWriter = readings.flatMap(({ writer, before, after }) =>
    Object.entries(verbs).map(([method, verb]) => ({
      ...{ writer, verb, resource: '*' },
      count: sent(after, method) - sent(before, method),
    })),
  )
  return totalled(
    byWriter.filter(({ count }) => count > 0),
    claims,
  )
}

function totalled(byWriter: Report['writes']['byWriter'], claims: number): Report['writes'] {
  const total = byWriter.reduce((sum, { count }) => sum + count, 0)
  return {
    total,
    perClaim: claims === 0 ? 0 : Math.round((total / claims) * 100) / 100,
    byWriter: [...byWriter].sort((a, b) => b.count - a.count || a.writer.localeCompare(b.writer)),
  }
}

/** One sample of a metrics page (Prometheus text format 0.0.4). */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number }

export function parseMetrics(page: string): Sample[] {
  const samples: Sample[] = []
  for (const line of page.split('\n')) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line)
    if (line.startsWith('#') || !found) continue
    const labels: Record<string, string> = {}
    for (const [, label = '', value = ''] of (found[2] ?? '').matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g))
      labels[label] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    samples.push({ name: found[1] ?? '', labels, value: Number(found[3]) })
  }
  return samples
}

/** Sum of all samples whose name ends with `suffix` (prefixes differ per process). */
export function sumOf(samples: readonly Sample[], suffix: string): number {
  return samples.filter(({ name }) => name.endsWith(suffix)).reduce((sum, { value }) => sum + value, 0)
}

/**
 * Where a process's own `rest_client_requests_total` and the audit log differ about its writes, by method and code;
 * Leases included on both sides. Empty: they agree.
 */
export function disagreements(samples: readonly Sample[], audit: readonly AuditedRequest[]): string[] {
  const own = new Map<string, number>()
  for (const { name, labels, value } of samples) {
    if (name !== 'rest_client_requests_total' || labels.method === 'GET') continue
    const key = `${labels.method} ${labels.code}`
    own.set(key, (own.get(key) ?? 0) + value)
  }
  const audited = new Map<string, number>()
  for (const request of audit.filter(isWrite)) {
    const key = `${methods[request.verb]} ${request.code}`
    audited.set(key, (audited.get(key) ?? 0) + 1)
  }
  return [...new Set([...own.keys(), ...audited.keys()])]
    .sort()
    .filter((key) => (own.get(key) ?? 0) !== (audited.get(key) ?? 0))
    .map((key) => `${key}: the process counts ${own.get(key) ?? 0}, the audit log ${audited.get(key) ?? 0}`)
}
