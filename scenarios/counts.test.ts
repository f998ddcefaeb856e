import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetrics } from '@nso/cli/report'
import { complaintsAbout } from './counts.ts'

const passes = 'controller_runtime_reconcile_total{controller="networkinterfaceclaim",result="success"} 7\n'
const race = (resource: string, count: number) =>
  `nso_write_race_requeues_total{controller="networkinterfaceclaim",resource="${resource}",verb="create",cause="raced"} ${count}\n`

const table: { says: string; page: string; provoked?: string[]; want: RegExp[] }[] = [
  { says: 'a quiet page is right', page: passes + race('networkinterfaces', 0), want: [] },
  { says: 'a page that counts nothing is not', page: 'process_cpu_seconds_total 1\n', want: [/counts nothing/] },
  {
    says: 'a lost race is told',
    page: passes + race('networkinterfaces', 2),
    want: [/^2 lost races: networkinterfaceclaim, create networkinterfaces, raced$/],
  },
  {
    says: 'a lost race that was provoked is not',
    page: passes + race('addressleases', 2),
    provoked: ['addressleases'],
    want: [],
  },
  {
    says: 'another one is, whatever was provoked',
    page: passes + race('networkinterfaces', 1),
    provoked: ['addressleases'],
    want: [/networkinterfaces/],
  },
  {
    says: 'a second writer is told',
    page: `${passes}galactic_status_ownership_conflicts_total{resource="vpcs"} 1\n`,
    want: [/^1 ownership conflicts$/],
  },
  {
    says: 'an error is told',
    page: `${passes}controller_runtime_reconcile_errors_total{controller="x"} 3\n`,
    want: [/^3 reconcile errors$/],
  },
]
for (const { says, page, provoked = [], want } of table) {
  test(says, () => {
    const complaints = complaintsAbout(parseMetrics(page), new Set(provoked))
    assert.equal(complaints.length, want.length, complaints.join('; '))
    for (const [at, pattern] of want.entries()) assert.match(complaints[at] ?? '', pattern)
  })
}
