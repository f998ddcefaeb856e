/** Counts what a run has written and what went wrong: from the audit log where there is one, and from the processes' own metrics. */
import { nsoAccount, nsoIpamAccount } from '@nso/api'
import { answeredMetric, saidMetric } from 'kube-ipam/stand-in'
import { type Plane, readAudit, tailAudit } from 'kube-localplane'
import { Explained } from './failure.ts'
import {
  type AuditedRequest,
  type ClaimTimes,
  countConflicts,
  countOwnWrites,
  countWrites,
  disagreements,
  parseMetrics,
  type Report,
  type Sample,
  sumOf,
} from './report.ts'
import type { System } from './system.ts'

/** What one process says of itself. */
type Page = { name: string; user: string; samples: Sample[] }

const userOf = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`

const attempts = 20

/** Begins counting: to be called before the first claim is created. The result makes the report of all that has happened since. */
export async function beginCounting(system: System): Promise<(claims: ClaimTimes[]) => Promise<Report>> {
  const { plane } = system
  if (!plane?.auditLogPath) {
    const before = await metricsOf(system)
    return async (claims) => fromMetricsAlone(claims, before, await metricsOf(system))
  }
  const from = await tailAudit(plane)
  return (claims) => fromAudit(system, plane, claims, from)
}

/** Counts from the audit log and asks both processes: rejects when they do not agree with it. */
async function fromAudit(system: System, plane: Plane, claims: ClaimTimes[], from: number): Promise<Report> {
  const path = plane.auditLogPath ?? ''
  let problems: string[] = []
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const pages = await metricsOf(system)
    const to = await tailAudit(plane)
    const part = completed(await readAudit(path, { from, to }))
    const { refused, ...audited } = countConflicts(part)
    const own = totals(pages)
    // Since the beginning, as the processes count: what was wrong before the first claim is no less wrong.
    problems = disagreementsOf(pages, [...completed(await readAudit(path, { to: from })), ...part])
    // Each refused apply is a round on our side, of a conflict that is counted once; a theft that raised none is one on ours only.
    if (own.ownershipRounds < audited.ownershipConflicts)
      problems.push(
        `ownership conflicts: the processes count ${own.ownershipRounds} rounds, the audit log ${audited.ownershipConflicts} refusals`,
      )
    // A Lease renewal between the two readings is no disagreement: it is gone at the next attempt.
    if (problems.length === 0)
      return {
        claims,
        writes: countWrites(part, claims.length),
        conflicts: audited.conflicts,
        ownershipConflicts: Math.max(own.ownershipConflicts, audited.ownershipConflicts),
        reconcileErrors: own.reconcileErrors,
        countedFrom: 'audit',
        ...(refused.length > 0 ? { refused } : {}),
      }
  }
  throw new Explained(`NSO's and ${system.use.title}'s own metrics do not agree with the audit log:\n  ${problems.join('\n  ')}`)
}

function disagreementsOf(pages: readonly Page[], all: readonly AuditedRequest[]): string[] {
  return pages.flatMap(({ name, user, samples }) => {
    const own = all.filter((request) => request.user === user)
    return disagreements(samples, own).map((problem) => `${name}: ${problem}`)
  })
}

/** On a given cluster there is no audit log to read: the processes' own writes are counted, and what they say of races. */
function fromMetricsAlone(claims: ClaimTimes[], before: readonly Page[], after: readonly Page[]): Report {
  const [was, is] = [totals(before), totals(after)]
  return {
    claims,
    writes: countOwnWrites(
      after.map(({ name, samples }, index) => ({ writer: name, before: before[index]?.samples ?? [], after: samples })),
      claims.length,
    ),
    conflicts: is.refused - was.refused,
    ownershipConflicts: is.ownershipConflicts,
    reconcileErrors: is.reconcileErrors,
    countedFrom: 'metrics',
  }
}

function completed(audit: Awaited<ReturnType<typeof readAudit>>): AuditedRequest[] {
  return audit.filter(({ stage }) => stage === 'ResponseComplete' || stage === 'Panic')
}

async function metricsOf({ nso, dataPlane, use, addressService }: System): Promise<Page[]> {
  const page = async (url: string) => parseMetrics(await (await fetch(`${url}/metrics`)).text())
  const ofNso = await page(nso.metricsUrl)
  const ofDataPlane = await page(dataPlane.metricsUrl)
  const isAtService = ({ name, labels }: Sample) => name === requests && labels.host === serviceHost
  return [
    { name: 'nso', user: userOf(nsoAccount), samples: ofNso.filter((sample) => !isAtService(sample)) },
    { name: use.name, user: userOf(use.account), samples: ofDataPlane },
    ...(addressService
      ? [
          {
            name: 'nso at the address service',
            user: userOf(nsoIpamAccount),
            samples: [...ofNso.filter(isAtService), ...corrections(await page(addressService.component.metricsUrl))],
          },
        ]
      : []),
  ]
}

const requests = 'rest_client_requests_total'
/** What NSO calls the address service in its own count of requests. */
const serviceHost = 'ipam'

/** From what NSO was answered to what the API server behind the stand-in has answered, and logged. */
export function corrections(page: readonly Sample[]): Sample[] {
  const signs: Readonly<Record<string, number>> = { [answeredMetric]: -1, [saidMetric]: 1 }
  return page.flatMap(({ name, labels, value }) => {
    const sign = signs[name]
    return sign === undefined ? [] : [{ name: requests, labels, value: sign * value }]
  })
}

function totals(pages: readonly Page[]) {
  const samples = pages.flatMap((page) => page.samples)
  const conflicts = samples.filter(({ name, labels }) => name === requests && labels.code === '409' && labels.method !== 'GET')
  return {
    ownershipConflicts: sumOf(samples, 'status_ownership_conflicts_total'),
    ownershipRounds: sumOf(samples, 'status_ownership_rounds_total'),
    reconcileErrors: sumOf(samples, 'controller_runtime_reconcile_errors_total'),
    refused: conflicts.reduce((sum, { value }) => sum + value, 0),
  }
}
