/** One mode: the system of `npm start`, the scenarios on it, and what its processes count afterwards. */
import { startSystem } from '@nso/cli/system'
import { complaintsOf } from './counts.ts'
import { watchOwners } from './owners.ts'
import { type Played, playAll } from './play.ts'
import type { AddressMode, Scenario } from './scenario.ts'
import { openStage, type Stage } from './world.ts'

export type SceneOptions = {
  readonly mode: AddressMode
  /** Working folder of the system, with its logs. */
  readonly dir: string
  /** An existing cluster's; absent: a local control plane. */
  readonly kubeconfig?: string | undefined
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

/** The system of one mode with a stage on it. */
export type Scene = {
  readonly stage: Stage
  /** Rejects when a part of the system ends that nobody stopped. */
  readonly failed: Promise<never>
  /** What NSO or the data plane count and should not, after these were played, and what was stored by another than its writer. */
  complaints(played: readonly Scenario[]): Promise<readonly string[]>
  stop(): Promise<void>
}

/** NSO and Galactic as two processes, with the ownership policies in Deny. What was started is ended when it rejects. */
export async function startScene({ mode, dir, kubeconfig, log, signal }: SceneOptions): Promise<Scene> {
  const system = await startSystem({ dir, kubeconfig, ownership: 'Deny', addresses: mode, log, signal })
  const failed = system.failed.then((sentence) => Promise.reject(new Error(sentence)))
  // Nobody may be waiting for it.
  failed.catch(() => {})
  try {
    const stage = await openStage({
      mode,
      kubeconfig: system.kubeconfigPath,
      serviceKubeconfig: system.addressService?.kubeconfigPath,
      signal,
    })
    const owners = watchOwners(system.kubeconfigPath)
    const stop = async () => {
      await owners.end().catch(() => {})
      await stage.close()
      await system.stop()
    }
    const complaints = async (played: readonly Scenario[]) => [
      ...(await complaintsOf([system.nso, system.dataPlane], played)),
      ...(await owners.end()),
    ]
    return { stage, failed, stop, complaints }
  } catch (error) {
    await system.stop()
    throw error
  }
}

export type RunOptions = SceneOptions & { readonly scenarios: readonly Scenario[]; readonly told: (played: Played) => void }

export type RunResult = { readonly played: readonly Played[]; readonly complaints: readonly string[] }

/** Those of the scenarios that are played in the mode; everything has ended when it settles. */
export async function runMode({ scenarios, told, ...options }: RunOptions): Promise<RunResult> {
  const chosen = scenarios.filter(({ modes }) => modes.includes(options.mode))
  const scene = await startScene(options)
  try {
    const played = await Promise.race([playAll(scene.stage, chosen, told), scene.failed])
    options.signal.throwIfAborted()
    return { played, complaints: await scene.complaints(chosen) }
  } finally {
    await scene.stop()
  }
}
