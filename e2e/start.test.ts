/** `nso start --exit-when-ready`: what `npm start` gives a user, from nothing to the report. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { type ApiAnswer, connect } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { type Home, makeHome, nso } from './support/run-nso.ts'

type Report = {
  claims: { name: string; boundMs: number; preparedMs: number; readyMs: number }[]
  writes: { total: number; perClaim: number; byWriter: { writer: string; verb: string; resource: string; count: number }[] }
  conflicts: number
  ownershipConflicts: number
  reconcileErrors: number
  countedFrom: string
}

test('two at once bring their claims to Ready, report without a conflict, and leave nothing', async (t) => {
  const home = makeHome(t)
  const runs = [6, 3].map((claims) => {
    const file = path.join(home.folder, `report-${claims}.json`)
    return { claims, file, run: nso(home, ['start', '--exit-when-ready', '--report', file, '--claims', String(claims)]) }
  })
  for (const { claims, file, run } of runs) {
    assert.equal(await run.ended, 0, run.output())
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report
    assert.deepEqual(
      { ...report, claims: report.claims.length, writes: undefined },
      { claims, writes: undefined, conflicts: 0, ownershipConflicts: 0, reconcileErrors: 0, countedFrom: 'audit' },
    )
    for (const { name, boundMs, preparedMs, readyMs } of report.claims)
      assert.ok(0 < boundMs && boundMs <= preparedMs && preparedMs <= readyMs, `${name}: ${boundMs}, ${preparedMs}, ${readyMs}`)
    const { total, perClaim, byWriter } = report.writes
    assert.equal(
      total,
      byWriter.reduce((sum, { count }) => sum + count, 0),
    )
    assert.ok(Math.abs(perClaim - total / claims) < 0.01)
    const posted = byWriter.find(({ verb, resource }) => verb === 'create' && resource === 'networkinterfaceclaims')
    assert.deepEqual(posted, { writer: 'admin as nso-cli', verb: 'create', resource: 'networkinterfaceclaims', count: claims })
    assert.ok(!byWriter.some(({ resource }) => resource === 'leases'), 'Lease renewals are counted apart')
    for (const [app, count] of [
      ['NSO', 7],
      ['Galactic', 3],
    ])
      assert.match(
        run.output(),
        new RegExp(`ownership of ${app}'s objects is enforced \\(Deny\\): ${count} policies are in force`),
      )
    for (const shown of [/Ready +True/, /└─ NetworkInterface nso-demo/, /└─ VPCAttachment/, /└─ NetworkAttachmentDefinition/])
      assert.match(run.output(), shown)
  }
  assert.deepEqual(home.processes(), [])
  assert.deepEqual(home.runs(), [])
})

/** Applies a status of one claim as somebody who is not its writer. */
async function intrude(home: Home): Promise<ApiAnswer> {
  const [dir = ''] = home.runs()
  const connection = await connect(path.join(home.folder, 'nso', 'runs', dir, 'control-plane', 'kubeconfig'))
  const claim = '/apis/networking.datumapis.com/v1alpha/namespaces/nso-demo/networkinterfaceclaims/vm-19'
  await eventually('the claim is there', async () => (await connection.request({ path: claim })).status === 200)
  const condition = {
    ...{ type: 'Ready', status: 'False', reason: 'NotBound', message: 'mine' },
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const answer = await connection.request({
    method: 'PATCH',
    path: `${claim}/status?fieldManager=intruder&force=true`,
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'NetworkInterfaceClaim',
      metadata: { name: 'vm-19', namespace: 'nso-demo' },
      status: { conditions: [condition] },
    },
  })
  connection.close()
  return answer
}

test('a second writer of a status is refused, and the run does not notice', async (t) => {
  const home = makeHome(t)
  const run = nso(home, ['start', '--exit-when-ready', '--claims', '60', '--ownership', 'deny'])
  await run.sees(/creating 60 claims/)
  const { status, text } = await intrude(home)
  assert.equal(status, 403, text)
  assert.match(text, /status.conditions\[Ready\] written only by .*:nso as nso-networkinterfaceclaim, not by admin as intruder/)
  assert.equal(await run.ended, 0, run.output())
})

test('where ownership is only watched, a second writer is seen: the run fails and names it', async (t) => {
  const home = makeHome(t)
  const run = nso(home, ['start', '--exit-when-ready', '--claims', '60', '--ownership', 'audit', '--report', 'report.json'])
  await run.sees(/creating 60 claims/)
  const { status, text } = await intrude(home)
  assert.equal(status, 200, text)
  assert.equal(await run.ended, 1, run.output())
  assert.match(run.output(), /ownership conflicts: \d+, and there should be none/)
  assert.match(
    run.output(),
    /nso as nso-networkinterfaceclaim: patch networkinterfaceclaims\/status nso-demo\/vm-19: .*"intruder"/,
  )
  const report = JSON.parse(readFileSync(path.join(home.folder, 'report.json'), 'utf8')) as Report
  assert.ok(report.ownershipConflicts > 0)
  assert.deepEqual(home.processes(), [])
})
