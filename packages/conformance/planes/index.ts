/** The data planes of this repository, brought to the suite: each on a control plane of its own. */
export type { PlaneUnderTest } from '../src/plane-under-test.ts'

import { type LocalPlane, type Recipe, startLocal } from './local.ts'

export type { LocalPlane } from './local.ts'

/** By the name under which they are asked for. What one needs is loaded with it. */
const recipes = {
  galactic: async () => (await import('./galactic.ts')).galacticRecipe(),
  bridge: async () => (await import('./bridge.ts')).bridgeRecipe(),
  'example-ts': async () => await (await import('./examples.ts')).exampleTsRecipe(),
  'example-script': async () => await (await import('./examples.ts')).exampleScriptRecipe(),
} as const satisfies Record<string, () => Promise<Recipe>>

export type PlaneName = keyof typeof recipes

export const planeNames = Object.keys(recipes) as readonly PlaneName[]
export const isPlaneName = (name: string): name is PlaneName => Object.hasOwn(recipes, name)

/**
 * Starts a control plane, installs the data plane there, and starts its process under its own account; resolves when that has been started.
 * Disposing ends all of it.
 */
export async function startLocalPlane(name: PlaneName, log: (line: string) => void, signal?: AbortSignal): Promise<LocalPlane> {
  return await startLocal(await recipes[name](), log, signal)
}
