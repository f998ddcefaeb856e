/** Plays scenarios on a running system, side by side, and tells how each went. */
import type { Scenario } from './scenario.ts'
import type { Stage } from './world.ts'

export type Played = {
  readonly scenario: Scenario
  readonly mode: Stage['mode']
  readonly ms: number
  readonly steps: readonly { readonly ms: number; readonly sentence: string }[]
  /** Absent: it held. */
  readonly error?: unknown
}

/** So many are played at once: more would only wait for each other on a small machine. */
export const sideBySide = 4

/** Never rejects: what went wrong is part of the answer. `told` gets each as it ends. */
export async function playAll(
  stage: Stage,
  scenarios: readonly Scenario[],
  told: (played: Played) => void = () => {},
): Promise<readonly Played[]> {
  const results: Played[] = []
  const waiting = scenarios.entries()
  const one = async () => {
    for (const [at, scenario] of waiting) {
      const played = await play(stage, scenario)
      results[at] = played
      told(played)
    }
  }
  await Promise.all(Array.from({ length: sideBySide }, one))
  return results
}

export async function play(stage: Stage, scenario: Scenario): Promise<Played> {
  const begun = performance.now()
  const since = () => performance.now() - begun
  const steps: { ms: number; sentence: string }[] = []
  const result = (more: { error?: unknown }) => ({ scenario, mode: stage.mode, ms: since(), steps, ...more })
  try {
    await stage.play(scenario, (sentence) => steps.push({ ms: since(), sentence }))
    return result({})
  } catch (error) {
    return result({ error })
  }
}
