/**
 * The world of the race tests: one control plane, and for each test a namespace and a Galactic of its own that sees no other
 * attachments, with its wire scripted, its log kept and its metrics its own.
 */
import type { Classify, Client, RegisteredWrite } from 'kube-control-loop'
import { createRecordingLog, narrowTransport, type RaceBed, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { startWorld, type World } from '../harness.ts'

export type RaceWorld = {
  readonly bed: RaceBed
  readonly client: Client
  readonly namespace: string
  registered(): readonly RegisteredWrite[]
  /** What the process remembers of its own writes is void, as when it begins to lead. */
  newTerm(): void
  /** Tells the recorder that the administrator is about to write what belongs to someone else. */
  trespass(kind: string, name: string, path: string): void
  [Symbol.asyncDispose](): Promise<void>
}

export type RaceSite = {
  /** `classify`: what refused writes mean to this Galactic. */
  open(options?: { classify?: Classify }): Promise<RaceWorld>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startSite(): Promise<RaceSite> {
  const world = await startWorld()
  await world.plane.restartControllers()
  return { open: (options) => open(world, options), [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function open(site: World, { classify }: { classify?: Classify } = {}): Promise<RaceWorld> {
  const namespace = await site.namespace(`races-${crypto.randomUUID().slice(0, 8)}`)
  const wire = scriptTransport(narrowTransport(site.transport(site.galacticKubeconfig), namespace, {}))
  const { log, lines } = createRecordingLog()
  const { galactic, stop } = site.start({ transport: wire, log, ...(classify ? { classify } : {}) })
  await eventually('Galactic has listed everything', () =>
    Object.values(galactic.caches).every(({ state }) => state === 'synced'),
  )
  return {
    bed: { wire, lines, registry: galactic.manager.metrics.registry },
    client: site.client,
    namespace,
    registered: () => galactic.manager.registry.registeredWrites(),
    newTerm: () => galactic.manager.registry.newTerm(),
    trespass: (kind, name, path) =>
      site.recorder.expect({ kind, namespace, name, path, why: 'the administrator brings a race about', maybe: true }),
    async [Symbol.asyncDispose]() {
      wire.reset()
      await stop()
    },
  }
}
