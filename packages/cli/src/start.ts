/** `nso start`: the whole system, sample claims brought to Ready, trees, report. Also `nso up`, the same without samples. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { styleText } from 'node:util'
import { readAudit, tailAudit } from 'kube-localplane'
import { createInstances, type Instance, startTicksOf, stateFolder } from './instances.ts'
import {
  type AuditedRequest,
  type ClaimTimes,
  countConflicts,
  countWrites,
  disagreements,
  parseMetrics,
  type Report,
  type Sample,
  sumOf,
} from './report.ts'
import { bringToReady, ensureNamespace, ensureNetwork, removeOldClaims } from './run-samples.ts'
import { sampleNamespace } from './samples.ts'
import { type System, startSystem } from './system.ts'
import { type Paint, plain, renderTree } from './tree.ts'
import { followWorld, type World } from './world.ts'

export type StartOptions = {
  mode: 'start' | 'up'
  kubeconfig?: string | undefined
  port?: number | undefined
  claims: number
  exitWhenReady: boolean
  report?: string | undefined
  print: (line: string) => void
  /** Aborted by Ctrl-C or TERM. */
  signal: AbortSignal
}

const shownTrees = 3

/** Runs until told to stop, a part fails, or (with `exitWhenReady`) all is done. Resolves with the exit status. */
export async function runStart(options: StartOptions): Promise<number> {
  const { print, signal } = options
  const instances = createInstances()
  instances.live()
  const instance = describe(options)
  mkdirSync(instance.dir, { recursive: true, mode: 0o700 })
  instances.write(instance)
  let system: System | undefined
  try {
    system = await startSystem({ ...options, dir: instance.dir, log: print })
    instances.write({ ...instance, kubeconfigPath: system.kubeconfigPath, ready: true })
    const failure = system.failed.then((sentence) => Promise.reject(new Error(sentence)))
    const work = options.mode === 'start' ? demonstrate(system, options) : Promise.resolve()
    await Promise.race([work, failure])
    if (options.exitWhenReady) return 0
    print(
      `\nThe system is up. Look around with:\n  npx nso kubectl get networkinterfaceclaims -A\n  export KUBECONFIG=${system.kubeconfigPath}\nLogs: ${instance.dir}. Ctrl-C (or npx nso down) ends it.`,
    )
    await Promise.race([untilAborted(signal), failure])
    return 0
  } catch (error) {
    if (signal.aborted) return 0
    print(`\n${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    if (signal.aborted) print('\nStopping …')
    await system?.stop()
    if (!process.env.NSO_KEEP) rmSync(instance.dir, { recursive: true, force: true })
    instances.remove(instance.pid)
  }
}

function describe({ mode, kubeconfig }: StartOptions): Instance {
  const dir = path.join(stateFolder(), 'runs', String(process.pid))
  return {
    pid: process.pid,
    startTicks: startTicksOf(process.pid),
    mode,
    dir,
    kubeconfigPath: kubeconfig ?? path.join(dir, 'control-plane', 'admin.kubeconfig'),
    ready: false,
    startedAt: new Date().toISOString(),
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function demonstrate(system: System, options: StartOptions): Promise<void> {
  const { print, signal } = options
  const world = await followWorld(system.kubeconfigPath, sampleNamespace, signal)
  try {
    await ensureNamespace(world, sampleNamespace, signal)
    await removeOldClaims(world, signal)
    await ensureNetwork(world, signal)
    print(`network default is usable; creating ${options.claims} claims in namespace ${sampleNamespace}`)
    const from = system.plane ? await tailAudit(system.plane) : undefined
    const times = await bringToReady(world, options.claims, { show: options.claims > 20 ? () => {} : print, signal })
    showTrees(world, print)
    const report = await makeReport(system, times, from)
    summarise(report, print)
    if (options.report) writeFileSync(options.report, `${JSON.stringify(report, undefined, 2)}\n`)
  } finally {
    await world.close()
  }
}

function showTrees(world: World, print: (line: string) => void): void {
  const tones = { good: 'green', bad: 'red', dim: 'dim', strong: 'bold' } as const
  const paint: Paint = process.stdout.isTTY ? (text, tone) => styleText(tones[tone], text) : plain
  const claims = [...world.claims.values()].sort((a, b) => a.metadata.name.localeCompare(b.metadata.name))
  for (const claim of claims.slice(0, shownTrees)) print(['', ...renderTree(world.treeOf(claim), paint)].join('\n'))
  if (claims.length > shownTrees) print(`\n… and ${claims.length - shownTrees} more claims, all Ready`)
}

const processes = [
  { name: 'nso', user: 'system:serviceaccount:nso-system:nso' },
  { name: 'galactic', user: 'system:serviceaccount:galactic-system:galactic' },
] as const

/** Counts from the audit log, and asks both processes: rejects when they do not agree with it. */
async function makeReport(system: System, claims: ClaimTimes[], from: number | undefined): Promise<Report> {
  const { plane } = system
  if (!plane?.auditLogPath || from === undefined) return fromMetricsAlone(system, claims)
  for (let attempt = 1; ; attempt++) {
    const pages = await metricsOf(system)
    const to = await tailAudit(plane)
    const all = completed(await readAudit(plane.auditLogPath, { to }))
    const problems = processes.flatMap(({ name, user }) =>
      disagreements(
        pages[name],
        all.filter((request) => request.user === user),
      ).map((problem) => `${name}: ${problem}`),
    )
    const part = completed(await readAudit(plane.auditLogPath, { from, to }))
    const audited = countConflicts(part)
    const own = totals(pages)
    // A refused foreign apply leaves its trace on both sides; a theft without a conflict on ours only.
    if (own.ownershipConflicts < audited.ownershipConflicts)
      problems.push(
        `ownership conflicts: the processes count ${own.ownershipConflicts}, the audit log ${audited.ownershipConflicts}`,
      )
    // A Lease renewal between the two readings is no disagreement: it is gone at the next attempt.
    if (problems.length === 0) {
      const ownershipConflicts = Math.max(own.ownershipConflicts, audited.ownershipConflicts)
      return {
        claims,
        writes: countWrites(part, claims.length),
        conflicts: audited.conflicts,
        ownershipConflicts,
        reconcileErrors: own.reconcileErrors,
      }
    }
    if (attempt === 20) throw new Error(`our own metrics do not agree with the audit log:\n  ${problems.join('\n  ')}`)
  }
}

type Pages = Record<(typeof processes)[number]['name'], Sample[]>

function completed(audit: Awaited<ReturnType<typeof readAudit>>): AuditedRequest[] {
  return audit.filter(({ stage }) => stage === 'ResponseComplete' || stage === 'Panic')
}

async function metricsOf(system: System): Promise<Pages> {
  const page = async (url: string) => parseMetrics(await (await fetch(`${url}/metrics`)).text())
  return { nso: await page(system.nso.metricsUrl), galactic: await page(system.galactic.metricsUrl) }
}

function totals(pages: Pages): { ownershipConflicts: number; reconcileErrors: number; races: number } {
  const samples = [...pages.nso, ...pages.galactic]
  return {
    ownershipConflicts: sumOf(samples, 'status_ownership_conflicts_total'),
    reconcileErrors: sumOf(samples, 'controller_runtime_reconcile_errors_total'),
    races: sumOf(samples, 'write_race_requeues_total'),
  }
}

/** On a given cluster there is no audit log to read: writes stay uncounted, conflicts are what the processes say. */
async function fromMetricsAlone(system: System, claims: ClaimTimes[]): Promise<Report> {
  const { ownershipConflicts, reconcileErrors, races } = totals(await metricsOf(system))
  return { claims, writes: { total: 0, perClaim: 0, byWriter: [] }, conflicts: races, ownershipConflicts, reconcileErrors }
}

function summarise(
  { claims, writes, conflicts, ownershipConflicts, reconcileErrors }: Report,
  print: (line: string) => void,
): void {
  const sorted = claims.map(({ readyMs }) => readyMs ?? Number.NaN).sort((a, b) => a - b)
  const median = sorted[Math.floor((sorted.length - 1) / 2)]
  print(
    `\n${claims.length} claims Ready, the median after ${median?.toFixed(0)} ms, the last after ${sorted.at(-1)?.toFixed(0)} ms; ` +
      `${writes.perClaim} API writes per claim; conflicts ${conflicts}, ownership conflicts ${ownershipConflicts}, reconcile errors ${reconcileErrors}`,
  )
}
