/** What rules and dashboard read, on a running system: it is served, it moves with what happens, and it costs no write. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { leaseName as galacticLease } from 'galactic'
import { leaseName as bridgeLease } from 'kube-bridge'
import { connect, readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { ruleFiles, rulesOf } from './alerts.ts'
import { rows } from './panels.ts'
import { type Fires, tried, type World } from './test/promtool.ts'
import { components, metricOf, usedIn } from './test/registered.ts'
import { type Series, type System, startSystem } from './test/system.ts'

let system: System
before(async () => {
  system = await startSystem()
})
after(() => system?.[Symbol.asyncDispose]())

/** The value of a series with (at least) these labels; undefined: there is none. */
function seriesValue(page: readonly Series[], name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const has = (series: Series) => Object.entries(labels).every(([label, value]) => series.labels[label] === value)
  return page.find((series) => series.name === name && has(series))?.value
}

const allRules = () => rulesOf({ name: 'all', groups: ruleFiles.flatMap(({ groups }) => groups) })
const inRules = new Set(
  ruleFiles
    .flatMap(({ groups }) => groups.flatMap(({ alerts }) => alerts.flatMap(({ expr }) => usedIn(expr))))
    .map((each) => each.metric),
)

/** As promtool writes it. */
const idOf = ({ name, labels }: Series): string =>
  `${name}{${Object.entries(labels).map(([label, text]) => `${label}="${text}"`)}}`

/** As if the pages stayed as they are, and only what waits went on waiting, a minute each minute. */
function lasting(pages: readonly Series[]): World {
  const entries = pages
    .filter(({ name }) => inRules.has(name))
    .map((series) => {
      const { name, value } = series
      const waits = /_oldest_\w+_seconds$/.test(name) && value > 0
      return [idOf(series), `${value}+${waits ? 60 : 0}x60`] as const
    })
  return Object.fromEntries(entries)
}

/** Which alerts fire half an hour later. */
async function later(pages: readonly Series[], fires: readonly Fires[]): Promise<void> {
  const { ok, output } = await tried({ rules: allRules(), rows: [{ says: 'later', world: lasting(pages), at: [[30, fires]] }] })
  assert.ok(ok, output)
}

const galacticPlane = { data_plane: 'galactic' }

/** All that is not NSO and not Galactic, and leads all the time. */
const others = async () => [...(await system.page('bridge')), ...(await system.page('apiserver'))]

test('a claim becomes Ready: both processes say so in numbers', async () => {
  await system.createClaim('web-0')
  await eventually('one claim is ready', async () => seriesValue(await system.page('nso'), 'nso_claims', { ready: 'True' }) === 1)
  const [nso, galactic] = [await system.page('nso'), await system.page('galactic')]
  assert.deepEqual(
    [
      'nso_data_plane_usable',
      'nso_attachments',
      'nso_attachments_unreported',
      'nso_attachment_oldest_unreported_seconds',
      'nso_data_plane_contract_violations',
    ].map((name) => seriesValue(nso, name, galacticPlane)),
    [1, 1, 0, 0, 0],
  )
  assert.equal(seriesValue(galactic, 'galactic_attachments', { ready: 'True', reason: 'AttachmentDefinitionReady' }), 1)
  assert.equal(seriesValue(nso, 'nso_claim_oldest_not_ready_seconds'), undefined, 'nothing waits')
  // Counted with the answer of the write, which may come after the watch has told of it.
  await eventually(
    'the time is counted',
    async () => seriesValue(await system.page('nso'), 'nso_claim_ready_seconds_count') === 1,
  )
  await later([...nso, ...galactic, ...(await others())], [])
})

test('reading the pages fifty times asks the API server for nothing', async () => {
  const from = await tailAudit(system.plane)
  await Promise.all(Array.from({ length: 50 }, () => Promise.all(components.map((of) => system.page(of)))))
  const to = await tailAudit(system.plane)
  const own = (await readAudit(system.plane.auditLogPath ?? '', { from, to })).filter(
    ({ user, resource, uri }) =>
      // For some seconds after its start NSO looks at the published schemas.
      /:(nso|galactic|bridge)$/.test(user ?? '') && resource !== 'leases' && !uri.startsWith('/openapi/'),
  )
  assert.deepEqual(own, [])
})

test('the bridge data plane says how its attachments are', async () => {
  await system.createBridgeAttachment('plain')
  const page = await eventually('one is ready', async () => {
    const page = await system.page('bridge')
    return seriesValue(page, 'bridge_attachments_by_ready', { ready: 'True', reason: 'DefinitionReady' }) === 1 && page
  })
  assert.equal(seriesValue(page, 'bridge_attachments_by_programmed', { programmed: 'False', reason: 'NotAttached' }), 1)
  assert.equal(seriesValue(page, 'bridge_attachment_oldest_not_ready_seconds'), undefined, 'nothing waits')
  assert.ok((seriesValue(page, 'bridge_attachment_oldest_not_programmed_seconds', { reason: 'NotAttached' }) ?? -1) >= 0)
  assert.equal(seriesValue(page, 'bridge_detach_grace_expired_total'), 0)
  assert.equal(seriesValue(page, 'leader_election_master_status', { name: bridgeLease }), 1)
})

test('the data plane goes silent: who is silent, and who waits, is told', async () => {
  await system.stopGalactic()
  await system.createClaim('web-1')
  await eventually(
    'the attachment is counted',
    async () => seriesValue(await system.page('nso'), 'nso_attachments_unreported', galacticPlane) === 1,
  )
  const nso = await eventually('the claim says that it waits', async () => {
    const page = await system.page('nso')
    const ages = [
      seriesValue(page, 'nso_attachment_oldest_unreported_seconds', galacticPlane),
      seriesValue(page, 'nso_claim_oldest_not_ready_seconds', { reason: 'NotPrepared' }),
    ]
    const isSaid = seriesValue(page, 'nso_claims', { ready: 'Unknown', reason: 'NotPrepared' }) === 1
    return isSaid && ages.every((age) => age !== undefined && age > 0) && page
  })
  assert.equal(seriesValue(nso, 'nso_claims', { ready: 'True' }), 1)
  await later(
    [...nso, ...(await others())],
    [
      { alertname: 'NsoDataPlaneSilent', ...galacticPlane },
      { alertname: 'NsoClaimsNotReady', reason: 'NotPrepared' },
      { alertname: 'GalacticLeaderMissing', name: galacticLease },
    ],
  )
  await system.startGalactic()
  await eventually('both are ready', async () => seriesValue(await system.page('nso'), 'nso_claims', { ready: 'True' }) === 2)
  assert.equal(seriesValue(await system.page('nso'), 'nso_attachments_unreported', galacticPlane), 0)
})

/** As if the first pages had stood for ten minutes, and the second ones from then on. */
function stepping(first: readonly Series[], then: readonly Series[]): World {
  const before = new Map(first.map((series) => [idOf(series), series.value]))
  const valuesOf = (series: Series) => {
    const value = before.get(idOf(series))
    return `${value === undefined ? '_x10' : `${value}+0x10`} ${series.value}+0x60`
  }
  return Object.fromEntries(then.filter(({ name }) => inRules.has(name)).map((series) => [idOf(series), valuesOf(series)]))
}

test('a storm of claims, half of which go again at once: races and no-ops, no error, no alert', async () => {
  const both = async () => (await Promise.all(components.map((of) => system.page(of)))).flat()
  const first = await both()
  const names = Array.from({ length: 40 }, (_, at) => `storm-${at}`)
  const path = `/apis/networking.datumapis.com/v1alpha/namespaces/${system.namespace}/networkinterfaceclaims`
  await Promise.all(names.map((name) => system.createClaim(name)))
  await Promise.all(names.slice(20).map((name) => system.plane.connection.must({ method: 'DELETE', path: `${path}/${name}` })))
  await eventually('twenty more are ready, and the others gone', async () => {
    const page = await system.page('nso')
    const counts = page.filter(({ name }) => name === 'nso_claims').map(({ labels, value }) => `${labels.ready} ${value}`)
    return counts.join() === 'True 22'
  })
  const then = await both()
  const sum = (pages: readonly Series[], name: string) =>
    pages.filter((series) => series.name === name).reduce((total, { value }) => total + value, 0)
  const gained = (name: string) => sum(then, name) - sum(first, name)
  assert.equal(gained('controller_runtime_reconcile_errors_total'), 0)
  assert.ok(gained('controller_runtime_reconcile_total') > 80)
  const world = stepping(first, then)
  const at = [11, 15, 25, 50].map((minute) => [minute, []] as const)
  const { ok, output } = await tried({ rules: allRules(), rows: [{ says: 'storm', world, at }] })
  assert.ok(ok, output)
})

/** Says something else in a claim's status, as the administrator with these groups; resolves with the answer's status code. */
async function meddle(groups: readonly string[]): Promise<number> {
  const kubeconfig = await system.plane.kubeconfigFor({ user: 'eve', groups: ['system:masters', ...groups] })
  const connection = await connect(kubeconfig)
  try {
    const path = `/apis/networking.datumapis.com/v1alpha/namespaces/${system.namespace}/networkinterfaceclaims/web-0`
    const { metadata, ...claim } = (await connection.must({ path })) as {
      metadata: object
      status: { conditions: { type: string; reason: string }[] }
    }
    const conditions = claim.status.conditions.map((each) => (each.type === 'Ready' ? { ...each, reason: 'Meddled' } : each))
    const body = { ...claim, metadata, status: { ...claim.status, conditions } }
    const answer = await connection.request({ method: 'PUT', path: `${path}/status?fieldManager=eve`, body })
    return answer.status
  } finally {
    connection.close()
  }
}

test('a foreign write is refused and counted; with the break-glass group it passes, is counted, and is taken back', async () => {
  assert.equal(await meddle([]), 403)
  assert.equal(await meddle(['ownership:break-glass']), 200)
  await eventually('the conflict is counted', async () => {
    const page = await system.page('nso')
    const resource = { resource: 'networkinterfaceclaims' }
    return (
      (seriesValue(page, 'nso_status_ownership_conflicts_total', { ...resource, manager: 'eve' }) ?? 0) >= 1 &&
      (seriesValue(page, 'nso_status_ownership_rounds_total', resource) ?? 0) >= 1
    )
  })
  const page = await system.page('apiserver')
  const checks = 'apiserver_validating_admission_policy_check_total'
  assert.ok((seriesValue(page, checks, { policy: 'nso-owners-networkinterfaceclaims', enforcement_action: 'deny' }) ?? 0) >= 1)
  assert.ok((seriesValue(page, checks, { policy: 'nso-break-glass' }) ?? 0) >= 1)
})

test('every metric that rules and dashboard read is served, with the labels that they use', async () => {
  const pages = await Promise.all(([...components, 'apiserver'] as const).map((of) => system.page(of)))
  const served = new Map<string, Set<string>>()
  for (const { name, labels } of pages.flat()) {
    const known = served.get(name) ?? new Set()
    for (const label of Object.keys(labels)) known.add(label)
    served.set(name, known)
  }
  const expressions = [
    ...ruleFiles.flatMap(({ groups }) => groups.flatMap(({ alerts }) => alerts.map(({ expr }) => expr))),
    ...rows.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
  ]
  const used = [...new Set(expressions.flatMap((expr) => usedIn(expr).map(({ metric }) => metric)))]
  // A healthy run has none of these; that they are registered, and with which labels, is what metrics.test.ts shows.
  const ofFaults =
    /_(write_race_requeues|write_gone|status_ownership_\w+|oldest_not_ready_seconds|events|cache_stream_ends)(_total)?$/
  const missing = used.filter((metric) => !served.has(metric) && !served.has(metricOf(metric)) && !ofFaults.test(metric))
  assert.deepEqual(missing, [])
  assert.ok(used.length > 30)
})
