/** Galactic in the world of the race tests. */
import { type RaceSite, startRaceSite } from 'kube-multus/testing/planes'
import { startWorld } from '../harness.ts'

export async function startSite(): Promise<RaceSite> {
  const world = await startWorld()
  return startRaceSite({
    world,
    kubeconfig: world.galacticKubeconfig,
    start(options) {
      const { galactic, stop } = world.start(options)
      return { manager: galactic.manager, caches: galactic.caches, stop }
    },
  })
}
