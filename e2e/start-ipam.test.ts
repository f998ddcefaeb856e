/** `nso start --addresses ipam`: addresses from the stand-in for an address service, as a user sees it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { makeHome, nso } from './support/run-nso.ts'

type Written = { writer: string; verb: string; resource: string; count: number }
type Report = {
  claims: { name: string; readyMs: number }[]
  writes: { byWriter: Written[] }
  conflicts: number
  ownershipConflicts: number
  reconcileErrors: number
  countedFrom: string
}

test('claims become Ready with addresses of the service, the counts agree with the audit log, and nothing is left', async (t) => {
  const home = makeHome(t)
  const run = nso(home, ['start', '--addresses', 'ipam', '--exit-when-ready', '--claims', '3', '--report', 'report.json'])
  assert.equal(await run.ended, 0, run.output())
  const report = JSON.parse(readFileSync(path.join(home.folder, 'report.json'), 'utf8')) as Report
  const { conflicts, ownershipConflicts, reconcileErrors, countedFrom } = report
  assert.deepEqual(
    { conflicts, ownershipConflicts, reconcileErrors, countedFrom },
    { conflicts: 0, ownershipConflicts: 0, reconcileErrors: 0, countedFrom: 'audit' },
  )
  assert.deepEqual(
    report.claims.map(({ name, readyMs }) => [name, readyMs > 0]),
    ['web-0', 'db-0', 'vm-0'].map((name) => [name, true]),
  )
  const made = report.writes.byWriter.filter(({ verb, resource }) => verb === 'create' && resource.startsWith('ip'))
  const shown = made.map(({ writer, resource, count }) => `${writer.split(' ')[0]}: ${count} ${resource}`).sort()
  assert.deepEqual(shown, ['ipam-stand-in: 4 ipallocations', 'nso-ipam: 4 ipclaims'], 'db-0 has two addresses')
  for (const line of [
    /addresses come from the stand-in for an address service \(process \d+\), for trying things out/,
    /db-0 +Programmed, Ready \(fd20:1\S+\/96, 10\.128\.\d+\.\d+\/32\)/,
    /10\.128\.\d+\.\d+\/32 via 10\.128\.0\.1/,
  ])
    assert.match(run.output(), line)
  assert.deepEqual([home.processes(), home.runs()], [[], []])
})
