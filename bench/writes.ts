/** Counting the writes in an audit log. Pure. */
import { isWrite } from '@nso/cli/report'
import type { AuditEntry } from 'kube-localplane'

/** Everything that may have changed something stored; renewals of Leases apart. */
export function writesIn(audit: readonly AuditEntry[]): AuditEntry[] {
  return audit.filter((entry) => isWrite(entry) && !entry.dryRun && entry.group !== 'coordination.k8s.io')
}

/** Numbers by `verb resource`. */
export function countByKind(writes: readonly AuditEntry[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { verb, resource, subresource } of writes) {
    const what = `${verb} ${subresource ? `${resource}/${subresource}` : resource}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return counts
}

export function renderCounts(counts: ReadonlyMap<string, number>, claims: number): string[] {
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `  ${(count / claims).toFixed(2).padStart(6)} a claim  ${what}`)
}
