/** The report of `nso start`: counted from the API server's audit log, and checked against what the processes say of themselves. */

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
    const resource = request.subresource ? `${request.resource}/${request.subresource}` : (request.resource ?? '')
    const row = { writer: writerOf(request), verb: request.verb, resource, count: 0 }
    const key = [row.writer, row.verb, row.resource].join(' ')
    const counted = counts.get(key) ?? row
    counted.count++
    counts.set(key, counted)
  }
  return {
    total: writes.length,
    perClaim: claims === 0 ? 0 : Math.round((writes.length / claims) * 100) / 100,
    byWriter: [...counts.values()].sort((a, b) => b.count - a.count || a.writer.localeCompare(b.writer)),
  }
}

/** 409 answers to anybody's write, Leases apart; of these, the ones that name another field manager. */
export function countConflicts(audit: readonly AuditedRequest[]): { conflicts: number; ownershipConflicts: number } {
  const refused = audit.filter((request) => request.code === 409 && isWrite(request) && !isLease(request))
  return {
    conflicts: refused.length,
    ownershipConflicts: refused.filter((request) => request.message?.startsWith('Apply failed with')).length,
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
