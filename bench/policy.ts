/** What enforced ownership costs the API server: bursts with the policies in force and without any, in turn on one server. */
import { enforcement as nsoEnforcement, managers as nsoManagers, ownershipProbes as nsoProbes } from '@nso/api'
import { enforceOwnership } from '@nso/cli/ownership'
import { bringToReady, removeOldClaims } from '@nso/cli/run-samples'
import { managers as galacticManagers } from 'galactic/api'
import { enforcement as galacticEnforcement, ownershipProbes as galacticProbes } from 'galactic/manifests'
import { ApiError, ownershipPolicies, systemClock } from 'kube-control-loop'
import { cpuMs } from './cpu.ts'
import type { Figure } from './figures.ts'
import { type Run, untilQuiet } from './measures.ts'
import { median } from './stats.ts'

const claims = 150
const modes = ['without', 'Deny'] as const
type Mode = (typeof modes)[number]

/** Figure 6. Pairs in the order ABBA, so that a server that ages, and a noisy neighbour, count for both sides. */
export async function measurePolicy(run: Run): Promise<Figure[]> {
  const { quick, print } = run
  const pairs = quick ? 4 : 8
  const used: Record<Mode, number[]> = { without: [], Deny: [] }
  await burst(run)
  for (let pair = 0; pair < pairs; pair++) {
    for (const mode of pair % 2 === 0 ? modes : modes.toReversed()) {
      await change(run, mode)
      used[mode].push(await burst(run))
    }
  }
  await change(run, 'Deny')
  const ratios = used.Deny.map((ms, pair) => ms / (used.without[pair] ?? Number.NaN))
  const show = (samples: readonly number[]) => samples.map((ms) => ms.toFixed(1)).join(' ')
  print(`\nAPI server, ms of processor time a claim: without policies ${show(used.without)}; with them ${show(used.Deny)}`)
  print(`pair by pair: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`)
  return [
    {
      name: 'policy-cpu',
      says: 'processor time of the API server per claim to Ready with ownership enforced, over that without policies',
      value: median(ratios),
      bound: 1.15,
      how: `${pairs} bursts of ${claims} claims on either side, in turn (ABBA) on one server; median of the pairs’ ratios`,
    },
  ]
}

/** Milliseconds of the API server's processor time a claim, from the first POST until all are Ready and nothing more is written. */
async function burst(run: Run): Promise<number> {
  const { real, signal } = run
  const { server } = real.plane.pids()
  return await real.withWorld(async (world) => {
    await removeOldClaims(world, signal)
    await untilQuiet(run)
    const before = await cpuMs(server ?? 0)
    await bringToReady(world, claims, { show: () => {}, signal })
    await untilQuiet(run)
    return ((await cpuMs(server ?? 0)) - before) / claims
  })
}

const installed = () => [nsoEnforcement, galacticEnforcement].flatMap(ownershipPolicies)

/**
 * The controller manager checks each new policy's types and writes the result into it, upon which the API server compiles it once
 * more: work of an installation, not of a claim. Its own look at policies comes once a second.
 */
async function untilChecked({ real, signal }: Run): Promise<void> {
  for (const { apiVersion, metadata } of installed().filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')) {
    const path = `/apis/${apiVersion}/validatingadmissionpolicies/${metadata.name}`
    for (;;) {
      const policy = (await real.client.raw({ method: 'GET', path }, signal)) as Checked
      if (policy.status?.observedGeneration === policy.metadata.generation) break
      await systemClock.sleep(200, signal)
    }
  }
  await systemClock.sleep(3000, signal)
}

type Checked = { metadata: { generation: number }; status?: { observedGeneration?: number } }

/** Resolves when the policies are in force, or when none is any more. */
async function change(run: Run, mode: Mode): Promise<void> {
  const { real, signal } = run
  if (mode === 'Deny') {
    await enforceOwnership({ kubeconfigPath: real.system.kubeconfigPath, mode, log: () => {}, signal })
    await untilChecked(run)
    return
  }
  for (const { apiVersion, kind, metadata } of installed()) {
    const plural = kind.endsWith('Binding') ? 'validatingadmissionpolicybindings' : 'validatingadmissionpolicies'
    await unlessAbsent(real.client.raw({ method: 'DELETE', path: `/apis/${apiVersion}/${plural}/${metadata.name}` }, signal))
  }
  const probed = [
    ...nsoProbes.map((probe) => ({ ...probe, reserved: nsoManagers.claim })),
    ...galacticProbes.map((probe) => ({ ...probe, reserved: galacticManagers.vpc })),
  ]
  for (const { kind, object, reserved } of probed) {
    while (!(await passes(real.client.create(kind, object, { fieldManager: reserved, dryRun: true }, signal))))
      await systemClock.sleep(100, signal)
  }
}

async function passes(write: Promise<unknown>): Promise<boolean> {
  return await write.then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return false
      throw error
    },
  )
}

async function unlessAbsent(removal: Promise<unknown>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  })
}
