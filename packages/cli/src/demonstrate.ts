/** What `nso start` does on a running system: a network, sample claims brought to Ready, their trees, the report. */
import { writeFileSync } from 'node:fs'
import { styleText } from 'node:util'
import { keyOf } from 'kube-control-loop'
import { beginCounting } from './counting.ts'
import { Explained, reasonOf } from './failure.ts'
import { complaintsAbout, type Report } from './report.ts'
import { bringToReady, ensureNamespace, ensureNetwork, isTrue, removeOldClaims, removeSamples } from './run-samples.ts'
import { claims, isSample, sampleNamespace } from './samples.ts'
import type { System } from './system.ts'
import { type Paint, plain, renderTree } from './tree.ts'
import { StillWaiting } from './until.ts'
import { followWorld, type World } from './world.ts'

export type DemonstrateOptions = {
  claims: number
  report?: string | undefined
  print: (line: string) => void
  signal: AbortSignal
}

const shownTrees = 3
/** Up to so many claims each one's hops are shown. */
const shownHops = 12

/** Resolves when all claims are Ready, nothing went wrong on the way and the report is written; else rejects and says what. */
export async function demonstrate(system: System, options: DemonstrateOptions): Promise<void> {
  const { print, signal } = options
  const world = await followWorld(system.kubeconfigPath, sampleNamespace, signal)
  try {
    await ensureNamespace(world, sampleNamespace, signal)
    await removeOldClaims(world, signal, isSample)
    refuseForeignClaims(world, options.claims)
    await ensureNetwork(world, signal)
    print(`network default is usable; creating ${options.claims} claims in namespace ${sampleNamespace}`)
    const finishCounting = await beginCounting(system)
    const times = await bringToReady(world, options.claims, { ...progress(options), signal }).catch((error: unknown) => {
      if (error instanceof StillWaiting) showTrees(world, options.claims, print, 'unready')
      throw error
    })
    showTrees(world, options.claims, print, 'any')
    const report = await finishCounting(times)
    summarise(report, print)
    if (options.report) writeReport(options.report, report)
    const complaints = complaintsAbout(report)
    if (complaints.length > 0) throw new Explained(`All claims are Ready, but not all is well:\n  ${complaints.join('\n  ')}`)
  } finally {
    await world.close()
  }
}

/** A namespace of this name on a given cluster may be somebody's own, with claims of the same names. */
function refuseForeignClaims(world: World, count: number): void {
  const names = new Set(claims(count).map(({ metadata }) => metadata.name))
  const foreign = [...world.claims.values()].find(({ metadata }) => names.has(metadata.name))
  if (foreign)
    throw new Explained(
      `Namespace ${sampleNamespace} already has a NetworkInterfaceClaim ${foreign.metadata.name} that nso did not make. Nothing was changed there; ` +
        'remove it, or use another cluster.',
    )
}

/** Every hop of few claims; of many, those of the first ones, and how many are Ready at each tenth. */
function progress({ claims: count, print }: DemonstrateOptions) {
  if (count <= shownHops) return { show: print }
  const shown = new Set(claims(shownTrees).map(({ metadata }) => metadata.name))
  const step = Math.ceil(count / 10)
  print(`showing the hops of ${[...shown].join(', ')}`)
  return {
    show: (line: string, name: string) => {
      if (shown.has(name)) print(line)
    },
    ready: (ready: number) => {
      if (ready % step === 0 || ready === count) print(`${ready} of ${count} claims are Ready`)
    },
  }
}

function showTrees(world: World, count: number, print: (line: string) => void, which: 'any' | 'unready'): void {
  const tones = { good: 'green', bad: 'red', dim: 'dim', strong: 'bold' } as const
  const paint: Paint = process.stdout.isTTY ? (text, tone) => styleText(tones[tone], text) : plain
  const samples = claims(count)
    .flatMap((claim) => world.claims.get(keyOf(claim)) ?? [])
    .filter((claim) => which === 'any' || !isTrue(claim, 'Ready'))
  for (const claim of samples.slice(0, shownTrees)) print(['', ...renderTree(world.treeOf(claim), paint)].join('\n'))
  const more = samples.length - shownTrees
  if (more > 0) print(`\n… and ${more} more claims, ${which === 'any' ? 'all Ready' : 'not Ready either'}`)
}

function writeReport(file: string, report: Report): void {
  try {
    writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`)
  } catch (cause) {
    throw new Explained(`The report could not be written to ${file}: ${reasonOf(cause)}`, { cause })
  }
}

function summarise(report: Report, print: (line: string) => void): void {
  const { claims, writes, conflicts, ownershipConflicts, reconcileErrors, countedFrom } = report
  const sorted = claims.map(({ readyMs }) => readyMs ?? Number.NaN).sort((a, b) => a - b)
  const median = sorted[Math.floor((sorted.length - 1) / 2)]
  const counted = {
    audit: 'counted from the API server’s audit log, with which NSO’s and Galactic’s own metrics agree',
    metrics:
      'counted by NSO and Galactic themselves, since the audit log of a given cluster cannot be read: without the writes of others',
  }[countedFrom]
  print(
    `\n${claims.length} claims Ready, the median after ${median?.toFixed(0)} ms, the last after ${sorted.at(-1)?.toFixed(0)} ms; ` +
      `${writes.perClaim} API writes per claim; conflicts ${conflicts}, ownership conflicts ${ownershipConflicts}, reconcile errors ${reconcileErrors}\n(${counted})`,
  )
}

const cleaningMs = 60_000

/** On a given cluster, before NSO stops: nobody else could remove the samples' finalizers. Says what stays, whether it succeeds or not. */
export async function cleanUp(kubeconfigPath: string, print: (line: string) => void): Promise<void> {
  print('\nremoving the sample claims and their network from the cluster …')
  const limit = AbortSignal.timeout(cleaningMs)
  try {
    const world = await followWorld(kubeconfigPath, sampleNamespace, limit)
    try {
      await removeSamples(world, limit)
    } finally {
      await world.close()
    }
  } catch (error) {
    const why = limit.aborted ? `not done within ${cleaningMs / 1000} s` : reasonOf(error)
    print(`Namespace ${sampleNamespace} could not be emptied (${why}). The next \`npm start -- --kubeconfig …\` removes it.`)
  }
  print(
    'What stays on the cluster: the CRDs, the namespaces nso-system and galactic-system, the roles, the admission policy, the DataPlane galactic. ' +
      'None of it runs. While NSO does not run, claims that somebody makes wait, and deleted ones wait for their finalizer.',
  )
}
