/** What `nso start` does on a running system: networks, sample claims brought to Ready, workloads that use them, the report. */
import { writeFileSync } from 'node:fs'
import { styleText } from 'node:util'
import { type Key, keyOf } from 'kube-control-loop'
import { beginCounting } from './counting.ts'
import { Explained, reasonOf } from './failure.ts'
import { packetLines } from './packets.ts'
import type { Prepared, Workloads } from './planes/data-plane.ts'
import { type ClaimTimes, complaintsAbout, type Report } from './report.ts'
import {
  bringToReady,
  ensureNamespace,
  ensureNetworks,
  type Goal,
  isTrue,
  removeOldClaims,
  removeSamples,
} from './run-samples.ts'
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

/**
 * Resolves when the claims are as far as they get here, nothing went wrong on the way and the report is written; else rejects and
 * says what. False: they stop at Prepared because of what this machine lacks, which was said.
 */
export async function demonstrate(system: System, options: DemonstrateOptions): Promise<boolean> {
  const { print, signal } = options
  const world = await followWorld(system.kubeconfigPath, sampleNamespace, signal, system.use)
  try {
    await prepare(world, system, options)
    const { missing, workloads } = { missing: undefined, workloads: undefined, ...system.standIn }
    const goal: Goal = missing ? 'Prepared' : 'Ready'
    const finishCounting = await beginCounting(system)
    const used = usedBy(world, workloads, signal)
    const bring = { ...progress(world, options), prepared: used.start, goal, signal }
    const times = await bringToReady(world, options.claims, bring).catch((error: unknown) => {
      if (error instanceof StillWaiting) showTrees(world, options.claims, print, goal, 'others')
      throw error
    })
    showTrees(world, options.claims, print, goal, 'any')
    const report = {
      ...(await finishCounting(times)),
      ...(workloads ? { packets: await workloads.prove(used.inOrder(options.claims)) } : {}),
    }
    summarise(report, goal, system, print)
    if (options.report) writeReport(options.report, report)
    const complaints = complaintsAbout(report)
    if (complaints.length > 0) throw new Explained(`All claims are ${goal}, but not all is well:\n  ${complaints.join('\n  ')}`)
    if (missing) sayWhyNotReady(system, missing, print)
    return !missing || missing.length === 0
  } finally {
    await world.close()
  }
}

async function prepare(world: World, system: System, { claims: count, print, signal }: DemonstrateOptions): Promise<void> {
  const addresses = system.addressService ? 'ipam' : 'builtin'
  await ensureNamespace(world, sampleNamespace, signal, addresses)
  await removeOldClaims(world, signal, isSample)
  refuseForeignClaims(world, count)
  await ensureNetworks(world, signal, addresses)
  const { networks } = world.dataPlane.samples
  const usable = networks.length === 1 ? `network ${networks[0]} is` : `networks ${networks.join(' and ')} are`
  print(`${usable} usable; creating ${count} claims in namespace ${sampleNamespace}`)
}

/** Starts a workload for each claim that is Prepared, and remembers which. */
function usedBy({ client, claims: cache, dataPlane }: World, workloads: Workloads | undefined, signal: AbortSignal) {
  const used = new Map<Key, Prepared>()
  return {
    start: workloads
      ? async (prepared: Prepared) => {
          used.set(keyOf(prepared.claim), prepared)
          await workloads.start(client, prepared, signal)
        }
      : undefined,
    /** With the claims as they are now, in the order of the samples. */
    inOrder: (count: number) =>
      claims(dataPlane.samples.shapes, count).flatMap((sample) => {
        const prepared = used.get(keyOf(sample))
        return prepared ? [{ ...prepared, claim: cache.get(keyOf(sample)) ?? prepared.claim }] : []
      }),
  }
}

/** Why claims stop at Prepared, what runs all the same, and how they would go on. */
function sayWhyNotReady({ use }: System, missing: readonly string[], print: (line: string) => void): void {
  if (missing.length === 0) {
    print(
      '\nThe claims are Prepared. They become Ready when Pods that name their network definitions run: kubelet and Multus of this ' +
        'cluster attach them, and nso makes no Pods there.',
    )
    return
  }
  print(
    [
      `\nThe claims are Prepared and stop there: Ready takes Pods that are attached, and this machine cannot play ${use.standIn.title}:`,
      ...missing.map((sentence) => `  - ${sentence.replaceAll('\n', '\n    ')}`),
      `What runs all the same: the control plane, NSO and ${use.title}, with the network definitions rendered ` +
        '(npx nso kubectl get network-attachment-definitions -A). As root, on Linux, the claims become Ready.',
    ].join('\n'),
  )
}

/** A namespace of this name on a given cluster may be somebody's own, with claims of the same names. */
function refuseForeignClaims(world: World, count: number): void {
  const names = new Set(claims(world.dataPlane.samples.shapes, count).map(({ metadata }) => metadata.name))
  const foreign = [...world.claims.values()].find(({ metadata }) => names.has(metadata.name))
  if (foreign)
    throw new Explained(
      `Namespace ${sampleNamespace} already has a NetworkInterfaceClaim ${foreign.metadata.name} that nso did not make. Nothing was changed there; ` +
        'remove it, or use another cluster.',
    )
}

/** Every hop of few claims; of many, those of the first ones, and how many are Ready at each tenth. */
function progress({ dataPlane }: World, { claims: count, print }: DemonstrateOptions) {
  if (count <= shownHops) return { show: print }
  const shown = new Set(claims(dataPlane.samples.shapes, shownTrees).map(({ metadata }) => metadata.name))
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

function showTrees(world: World, count: number, print: (line: string) => void, goal: Goal, which: 'any' | 'others'): void {
  const tones = { good: 'green', bad: 'red', dim: 'dim', strong: 'bold' } as const
  const paint: Paint = process.stdout.isTTY ? (text, tone) => styleText(tones[tone], text) : plain
  const samples = claims(world.dataPlane.samples.shapes, count)
    .flatMap((claim) => world.claims.get(keyOf(claim)) ?? [])
    .filter((claim) => which === 'any' || !isTrue(claim, goal))
  for (const claim of samples.slice(0, shownTrees)) print(['', ...renderTree(world.treeOf(claim), paint)].join('\n'))
  const more = samples.length - shownTrees
  if (more > 0) print(`\n… and ${more} more claims, ${which === 'any' ? `all ${goal}` : `not ${goal} either`}`)
}

function writeReport(file: string, report: Report): void {
  try {
    writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`)
  } catch (cause) {
    throw new Explained(`The report could not be written to ${file}: ${reasonOf(cause)}`, { cause })
  }
}

function summarise(report: Report, goal: Goal, { use }: System, print: (line: string) => void): void {
  const { claims, writes, conflicts, ownershipConflicts, reconcileErrors, countedFrom } = report
  const reached = (one: ClaimTimes) => (goal === 'Ready' ? one.readyMs : one.preparedMs) ?? Number.NaN
  const sorted = claims.map(reached).sort((a, b) => a - b)
  const median = sorted[Math.floor((sorted.length - 1) / 2)]
  const counted = {
    audit: `counted from the API server’s audit log, with which NSO’s and ${use.title}’s own metrics agree`,
    metrics: `counted by NSO and ${use.title} themselves, since the audit log of a given cluster cannot be read: without the writes of others`,
  }[countedFrom]
  print(
    `\n${claims.length} claims ${goal}, the median after ${median?.toFixed(0)} ms, the last after ${sorted.at(-1)?.toFixed(0)} ms; ` +
      `${writes.perClaim} API writes per claim; conflicts ${conflicts}, ownership conflicts ${ownershipConflicts}, reconcile errors ${reconcileErrors}\n(${counted})`,
  )
  if (report.packets)
    print(['\nReal packets, between network namespaces attached by the CNI plugins:', ...packetLines(report.packets)].join('\n'))
}

const cleaningMs = 60_000

/** On a given cluster, before NSO stops: nobody else could remove the samples' finalizers. Says what stays, whether it succeeds or not. */
export async function cleanUp({ kubeconfigPath, use, addressService }: System, print: (line: string) => void): Promise<void> {
  print('\nremoving the sample claims and their networks from the cluster …')
  const limit = AbortSignal.timeout(cleaningMs)
  try {
    const world = await followWorld(kubeconfigPath, sampleNamespace, limit, use)
    try {
      await removeSamples(world, limit)
    } finally {
      await world.close()
    }
  } catch (error) {
    const why = limit.aborted ? `not done within ${cleaningMs / 1000} s` : reasonOf(error)
    print(`Namespace ${sampleNamespace} could not be emptied (${why}). The next \`npm start -- --kubeconfig …\` removes it.`)
  }
  const ofService = addressService
    ? ', the classes and pools of the stand-in for an address service with namespace ipam-system'
    : ''
  print(
    `What stays on the cluster: the CRDs, the namespaces nso-system and ${use.account.namespace}${ofService}, the roles, the admission policy, the DataPlane ${use.name}. ` +
      'None of it runs. While NSO does not run, claims that somebody makes wait, and deleted ones wait for their finalizer.',
  )
}
