import { test } from 'node:test'
import { NetworkInterfaceClaim, DataPlane } from '@nso/api'
import { eventually } from 'kube-localplane/testing'
import { aClaim } from './world.ts'
import { create, listed, merge, said } from './world.ts'
import { change, drop, bring, life, place, startLife } from './life-world.ts'
startLife()
const N = Number(process.env.N ?? 800)
test('cost', async () => {
  const ns = await place({ prefix: 'cost', families: ['IPv6'] })
  await bring('big', { capabilities: { attachmentModes: ['Netns'] } })
  const names = Array.from({ length: N }, (_, i) => `w-${i}`)
  for (let at = 0; at < N; at += 50) await Promise.all(names.slice(at, at + 50).map((n) => create(life.world.client, aClaim(ns, n))))
  await eventually('ready', async () => {
    const all = await listed(life.world.client, NetworkInterfaceClaim, ns)
    const open = all.filter((c) => said(c, 'Ready') !== 'True Ready').length
    if (open) throw new Error(String(open))
    return true
  }, { timeoutMs: 120_000 } as never)
  const registry = life.nso.operator.manager.metrics.registry
  const passes = async () => {
    const m = await registry.getMetricsAsJSON()
    const t = m.find((x) => x.name === 'controller_runtime_reconcile_total')
    const out: Record<string, number> = {}
    for (const v of t?.values ?? []) { const c = String((v.labels as never as {controller:string}).controller); out[c] = (out[c] ?? 0) + v.value }
    return out
  }
  const measure = async (what: string, act: () => Promise<unknown>) => {
    const before = await passes(); const cpu = process.cpuUsage(); const t = Date.now()
    await act()
    let last = ''
    await eventually('rest', async () => { const now = JSON.stringify(await passes()); const same = now === last; last = now; await new Promise((r) => setTimeout(r, 700)); return same })
    const used = process.cpuUsage(cpu); const after = await passes()
    console.log(what, Object.entries(after).map(([k, v]) => `${k} ${v - (before[k] ?? 0)}`).join(', '), 'cpu ms', Math.round((used.user + used.system) / 1000), 'wall', Date.now() - t)
  }
  await measure('nothing', async () => {})
  await measure('capabilities', () => change('big', { capabilities: { attachmentModes: ['Netns', 'Hypervisor'] } }))
  await measure('locations', () => change('big', { locations: ['here', 'there'] }))
  await measure('another plane', () => bring('other', { locations: ['nowhere'] }))
  await measure('deletion', () => drop('big'))
  await measure('another plane changes', () => change('other', { locations: ['nowhere', 'else'] }))
  await measure('new claim rejected', async () => create(life.world.client, aClaim(ns, 'late')))
})
