/** Each figure's measurement. */
import { nsoAccount } from '@nso/api'

import { countConflicts } from '@nso/cli/report'
import { bringToReady, removeOldClaims } from '@nso/cli/run-samples'
import { galacticAccount } from 'galactic/manifests'
import { systemClock } from 'kube-control-loop'
import { chainOf, dependentWrites, type Link, oneByOne, renderChain, renderHops } from './chain.ts'
import { withCpu } from './cpu.ts'
import type { Figure } from './figures.ts'
import { type Floor, floorAccount } from './floor.ts'
import { audited, namespace, type Real } from './real.ts'
import { median, quantile } from './stats.ts'
import { countByKind, renderCounts, writesIn } from './writes.ts'

export type Run = { real: Real; floor: Floor; quick: boolean; print: (line: string) => void; signal: AbortSignal }

let named = 0
const newName = (prefix: string) => `${prefix}-${named++}`

/** Brings what is compiled on first use to its speed, on both sides alike. */
export async function warmUp({ real, floor, quick }: Run): Promise<void> {
  for (let n = quick ? 25 : 60; n > 0; n--) {
    await real.prepare(newName('warm'))
    await floor.prepare(newName('warm'))
  }
}

const claimResource = 'networkinterfaceclaims'
const account = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`
/** Who works on the chain, on either side. */
const actors = { real: [account(nsoAccount), account(galacticAccount)], floor: [account(floorAccount)] }
const chainSamples = 20

const lengthOf = (chain: readonly Link[]): number => Math.max(...chain.map(({ toMs }) => toMs))

/** Figures 1 and 2: the chain of single claims, write by write. */
export async function measureChain({ real, print }: Run): Promise<Figure[]> {
  const chains = []
  const writes = []
  for (let n = chainSamples; n > 0; n--) {
    const name = newName('chain')
    const { result, audit } = await audited(real.plane, () => real.prepare(name))
    const own = writesIn(audit)
    writes.push(...own)
    const chain = chainOf(own, { resource: claimResource, name, shownBy: result.shownBy }, actors.real)
    if (!chain) throw new Error(`the audit log lacks the chain of claim ${name}`)
    chains.push(chain)
  }
  const typical = chains.sort((a, b) => dependentWrites(a) - dependentWrites(b) || lengthOf(a) - lengthOf(b))[chainSamples / 2]
  if (!typical) return []
  print('\nthe chain of one IPv6 claim to Prepared, from the audit log (arrival – answer, since the claim’s POST arrived):')
  for (const line of renderChain(typical)) print(line)
  print('all writes of a claim that comes alone, to Ready:')
  for (const line of renderCounts(countByKind(writes), chainSamples)) print(line)
  return [
    {
      name: 'dependent-writes',
      says: 'dependent API writes after the claim’s own POST, up to the claim/status apply that shows Prepared',
      value: dependentWrites(typical),
      bound: 6,
      how: `median of ${chainSamples} single IPv6 claims (from ${dependentWrites(chains[0] ?? [])} to ${dependentWrites(chains.at(-1) ?? [])}); audit log; all that NSO and Galactic sent before that apply`,
    },
    {
      name: 'writes-per-claim',
      says: 'API writes per claim to Ready, the claim’s POST and the node’s included',
      value: writes.length / chainSamples,
      bound: 15,
      how: `mean of ${chainSamples} single IPv6 claims; audit log; all identities, Leases apart`,
    },
  ]
}

/** Figure 4: blocks of floor and real alternate (ABBA), so that both meet the same noise. */
export async function measureLatency({ real, floor, quick, print }: Run): Promise<Figure[]> {
  const rounds = quick ? 4 : 10
  const block = quick ? 8 : 15
  const all = { real: [] as number[], floor: [] as number[] }
  const ratios: number[] = []
  const chains = { real: [] as Link[][], floor: [] as Link[][] }
  const prepare = {
    real: (name: string) => real.prepare(name),
    floor: async (name: string) => ({ preparedMs: await floor.prepare(name), shownBy: 1 }),
  }
  for (let round = 0; round < rounds; round++) {
    const own = { real: [] as number[], floor: [] as number[] }
    for (const side of round % 2 === 0 ? (['floor', 'real'] as const) : (['real', 'floor'] as const)) {
      const shownBy = new Map<string, number>()
      const { audit } = await audited(real.plane, async () => {
        for (let n = block; n > 0; n--) {
          const name = newName('one')
          const prepared = await prepare[side](name)
          own[side].push(prepared.preparedMs)
          shownBy.set(name, prepared.shownBy)
        }
      })
      for (const writes of oneByOne(writesIn(audit), claimResource)) {
        const name = writes[0]?.name ?? ''
        chains[side].push(chainOf(writes, { resource: claimResource, name, shownBy: shownBy.get(name) ?? 0 }, actors[side]) ?? [])
      }
    }
    all.real.push(...own.real)
    all.floor.push(...own.floor)
    ratios.push(median(own.real) / median(own.floor))
  }
  const text = (samples: number[]) => [0.5, 0.9].map((q) => `p${q * 100} ${quantile(samples, q).toFixed(1)} ms`).join(', ')
  print(
    `\nclaim create → Prepared: ${text(all.real)}; floor: ${text(all.floor)}; block by block ${ratios.map((each) => each.toFixed(2)).join(' ')}`,
  )
  for (const side of ['real', 'floor'] as const) print(`${side}, ms before each write + of it: ${renderHops(chains[side])}`)
  return [
    {
      name: 'latency-ratio',
      says: 'p50 of claim create → Prepared, over the floor',
      value: median(all.real) / median(all.floor),
      bound: 1.6,
      how: `${all.real.length} claims one after the other against ${all.floor.length} runs of the floor, in alternating blocks of ${block}`,
    },
  ]
}

const pidsOf = ({ system, plane }: Real) => ({
  nso: system.nso.pid,
  galactic: system.dataPlane.pid,
  'user and node': process.pid,
  ...plane.pids(),
})

const perClaim = (totals: Readonly<Record<string, number>>, claims: number, unit = ' ms'): string =>
  Object.entries(totals)
    .filter(([, total]) => total > 0)
    .map(([name, total]) => `${name} ${(total / claims).toFixed(1)}${unit}`)
    .join(', ')

const difference = (after: Readonly<Record<string, number>>, before: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]))

/** Figure 5: 200 claims at once. */
export async function measureBurst(run: Run): Promise<Figure[]> {
  const { real, floor, quick, print, signal } = run
  const claims = 200
  const ratios: number[] = []
  let conflicts = { conflicts: 0, ownershipConflicts: 0 }
  const before = await real.counters()
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    // The names of the last burst are needed again.
    if (round > 0) await real.withWorld((world) => removeOldClaims(world, signal))
    await untilQuiet(run)
    const { result: burst, usedMs } = await withCpu(pidsOf(real), () =>
      real.withWorld((world) => audited(real.plane, () => bringToReady(world, claims, { show: () => {}, signal }))),
    )
    const readyMs = Math.max(...burst.result.map((each) => each.readyMs ?? Number.POSITIVE_INFINITY))
    const counts = countByKind(writesIn(burst.audit))
    const { result: floorMs, usedMs: floorUsedMs } = await withCpu(pidsOf(real), () => floor.replay(counts, claims, 32))
    ratios.push(readyMs / floorMs)
    const found = countConflicts(burst.audit)
    conflicts = {
      conflicts: conflicts.conflicts + found.conflicts,
      ownershipConflicts: conflicts.ownershipConflicts + found.ownershipConflicts,
    }
    const writes = [...counts.values()].reduce((sum, each) => sum + each, 0)
    const at = (q: number) =>
      quantile(
        burst.result.map(({ preparedMs }) => preparedMs ?? Number.NaN),
        q,
      ).toFixed(0)
    print(
      `\n${claims} claims at once: Prepared p50 ${at(0.5)} ms, last ${at(1)} ms; all Ready after ${readyMs.toFixed(0)} ms; the same ${writes} writes, 32 at a time: ${floorMs.toFixed(0)} ms`,
    )
    print(`processor time a claim: ${perClaim(usedMs, claims)}; floor: ${perClaim(floorUsedMs, claims)}`)
    if (round === 0) for (const line of renderCounts(counts, claims)) print(line)
  }
  const after = await real.counters()
  print(`passes a claim: ${perClaim(difference(after.passes, before.passes), claims * ratios.length, '')}`)
  const own = after.ownershipConflicts - before.ownershipConflicts
  const how = `${claims} claims (IPv6, dual stack and Hypervisor mode in turn) created at once, ${ratios.length} time${ratios.length > 1 ? 's' : ''}`
  return [
    { name: 'burst-conflicts', says: '409 answers to any write', value: conflicts.conflicts, bound: 0, how: `${how}; audit log` },
    {
      name: 'burst-ownership',
      says: 'ownership conflicts',
      value: Math.max(own, conflicts.ownershipConflicts),
      bound: 0,
      how: `${how}; audit log and both processes’ metrics`,
    },
    {
      name: 'burst-errors',
      says: 'reconcile errors',
      value: after.reconcileErrors - before.reconcileErrors,
      bound: 0,
      how: `${how}; both processes’ metrics`,
    },
    {
      name: 'burst-ratio',
      says: 'time until all are Ready, over the same number of writes of the same kinds sent 32 at a time',
      value: median(ratios),
      bound: 2.5,
      how: `${how}; median`,
    },
  ]
}

/** Figure 3. The claims that stand are settled: nothing is written. */
export async function measureRest(run: Run): Promise<Figure[]> {
  const { real, quick, print, signal } = run
  const claims = 150
  if (real.claims.size < claims) await real.withWorld((world) => bringToReady(world, claims, { show: () => {}, signal }))
  await untilQuiet(run)
  const seconds = quick ? 20 : 120
  const { audit } = await audited(real.plane, () => systemClock.sleep(seconds * 1000, signal))
  const writes = writesIn(audit)
  if (writes.length > 0) print('\nwritten at rest:')
  for (const { verb, resource, subresource, name, user } of writes.slice(0, 20))
    print(`  ${verb} ${resource}/${subresource} ${name} by ${user}`)
  return [
    {
      name: 'writes-at-rest',
      says: 'API writes at rest, Leases apart',
      value: writes.length,
      bound: 0,
      how: `${real.claims.size} settled claims in namespace ${namespace}, ${seconds} s; audit log; all identities`,
    },
  ]
}

/** Resolves when for a second nothing was written: events and the controller manager come after the claims are Ready. */
export async function untilQuiet({ real, signal }: Run): Promise<void> {
  for (;;) {
    const { audit } = await audited(real.plane, () => systemClock.sleep(1000, signal))
    if (writesIn(audit).length === 0) return
  }
}
