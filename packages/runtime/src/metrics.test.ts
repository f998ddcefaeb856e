import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test("the process's own metrics begin with its prefix; those that dashboards know keep their names", async () => {
  const metrics = createMetrics({ prefix: 'sample_', process: false })
  const write = { controller: 'widget', resource: 'widgets/status', verb: 'apply', cause: 'stale' }
  metrics.raceRequeue(write)
  metrics.gone({ ...write, cause: 'not-found' })
  metrics.ownershipConflict({ resource: 'widgets', field: 'conditions/Ready', manager: 'rogue' })
  metrics.ownershipRound({ resource: 'widgets' })
  metrics.client.request({ method: 'GET', code: '200', host: 'sample' })
  metrics.election.leads('sample', true)
  metrics.election.failed('sample')
  metrics.cache.listed('widgets', 'expired')
  metrics.cache.streamEnded('widgets', 'failed')
  metrics.cache.handlerFailed('widgets')
  metrics.events.counted('dropped')
  const page = await metrics.page()
  for (const line of [
    'sample_write_race_requeues_total{controller="widget",resource="widgets/status",verb="apply",cause="stale"} 1',
    'sample_write_gone_total{controller="widget",resource="widgets/status",verb="apply",cause="not-found"} 1',
    'sample_status_ownership_conflicts_total{resource="widgets",field="conditions/Ready",manager="rogue"} 1',
    'sample_status_ownership_rounds_total{resource="widgets"} 1',
    'rest_client_requests_total{method="GET",code="200",host="sample"} 1',
    'leader_election_master_status{name="sample"} 1',
    'sample_leader_election_errors_total{name="sample"} 1',
    'sample_cache_lists_total{resource="widgets",why="expired"} 1',
    'sample_cache_stream_ends_total{resource="widgets",how="failed"} 1',
    'sample_cache_callback_errors_total{resource="widgets"} 1',
    'sample_events_total{what="dropped"} 1',
  ]) {
    assert.ok(page.includes(line), line)
  }
})

test('two processes in one, as tests have them, do not share a registry', async () => {
  const [one, two] = [createMetrics({ prefix: 'a_', process: false }), createMetrics({ prefix: 'a_', process: false })]
  one.gone({ controller: 'c', resource: 'r', verb: 'patch', cause: 'not-found' })
  assert.ok(!(await two.page()).includes('controller="c"'))
})

test('managers who make up a name for each write do not make a series each', async () => {
  const metrics = createMetrics({ prefix: 'a_', process: false })
  const meet = (manager: string) => metrics.ownershipConflict({ resource: 'r', field: 'f', manager })
  for (let n = 0; n < 60; n += 1) meet(`made-up-${n}`)
  meet('made-up-3')
  const page = await metrics.page()
  assert.equal(page.match(/^a_status_ownership_conflicts_total\{/gm)?.length, 51)
  assert.ok(page.includes('a_status_ownership_conflicts_total{resource="r",field="f",manager="other"} 10'))
  assert.ok(page.includes('a_status_ownership_conflicts_total{resource="r",field="f",manager="made-up-3"} 2'))
})
