import assert from 'node:assert/strict'
import test from 'node:test'
import type { NetworkInterfaceClaim } from '@nso/api'
import { createManualClock } from 'kube-control-loop/testing'
import { Registry } from 'prom-client'
import { aClaim } from '../test/objects.ts'
import { createReadyTimes } from './ready-times.ts'

const saying = (...types: string[]): NetworkInterfaceClaim =>
  aClaim({
    status: { conditions: types.map((type) => ({ type, status: 'True', reason: 'x', message: '', lastTransitionTime: '' })) },
  })

async function sums(registry: Registry): Promise<Record<string, string | undefined>> {
  const page = await registry.metrics()
  const value = (name: string) =>
    page
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1)
  return {
    bound: value('nso_claim_hop_seconds_sum{hop="bound"}'),
    prepared: value('nso_claim_hop_seconds_sum{hop="prepared"}'),
    ready: value('nso_claim_ready_seconds_sum'),
    times: value('nso_claim_ready_seconds_count'),
  }
}

test('each hop is measured once, from the first sight of the claim', async () => {
  const clock = createManualClock()
  const registry = new Registry()
  const times = createReadyTimes({ clock, registry })
  times.appeared('default/web-0', 'web-0-uid')
  await clock.advance(1000)
  times.said(saying(), saying('Bound', 'Prepared'))
  await clock.advance(1000)
  times.said(saying('Bound', 'Prepared'), saying('Bound', 'Prepared', 'Ready'))
  times.said(saying('Bound', 'Prepared'), saying('Bound', 'Prepared', 'Ready'))
  assert.deepEqual(await sums(registry), { bound: '1', prepared: '1', ready: '2', times: '1' })
})

test('a claim that was there before this process, or a later one of the name, is not measured', async () => {
  const clock = createManualClock()
  const registry = new Registry()
  const times = createReadyTimes({ clock, registry })
  times.said(saying(), saying('Ready'))
  times.appeared('default/web-0', 'another')
  times.said(saying(), saying('Ready'))
  assert.equal((await sums(registry)).times, '0')
})

test('a claim that another leader made Ready is not measured when it is Ready again', async () => {
  const clock = createManualClock()
  const registry = new Registry()
  const times = createReadyTimes({ clock, registry })
  times.appeared('default/web-0', 'web-0-uid')
  await clock.advance(3_600_000)
  times.said(saying('Bound', 'Prepared', 'Ready'), saying('Bound', 'Prepared', 'Ready'))
  times.said(saying('Bound', 'Prepared', 'Ready'), saying('Bound'))
  times.said(saying('Bound'), saying('Bound', 'Prepared', 'Ready'))
  assert.deepEqual(await sums(registry), { bound: undefined, prepared: undefined, ready: '0', times: '0' })
})
