/**
 * The world of race tests: one control plane, and for each test a namespace and a process of its own that sees no other
 * objects, with its wire scripted, its log kept and its metrics its own.
 */
import type { Cache, Classify, Client, Logger, Manager, RegisteredWrite, Transport } from 'kube-control-loop'
import { createRecordingLog, narrowTransport, type RaceBed, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import type { PlaneWorld } from './world.ts'

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
  /** `classify`: what refused writes mean to this process. */
  open(options?: { classify?: Classify }): Promise<RaceWorld>
  [Symbol.asyncDispose](): Promise<void>
}

export type RacingProcess = {
  readonly manager: Manager
  readonly caches: Readonly<Record<string, Pick<Cache, 'state'>>>
  stop(): Promise<void>
}

export type RaceSiteOptions = {
  readonly world: Pick<PlaneWorld, 'plane' | 'client' | 'recorder' | 'namespace' | 'transport'> & {
    [Symbol.asyncDispose](): Promise<void>
  }
  /** Of the process. */
  readonly kubeconfig: string
  start(options: { transport: Transport; log: Logger; classify?: Classify }): RacingProcess
}

export async function startRaceSite({ world: site, kubeconfig, start }: RaceSiteOptions): Promise<RaceSite> {
  await site.plane.restartControllers()
  return {
    async open(options = {}) {
      const namespace = await site.namespace(`races-${crypto.randomUUID().slice(0, 8)}`)
      const wire = scriptTransport(narrowTransport(site.transport(kubeconfig), namespace, {}))
      const { log, lines } = createRecordingLog()
      const { manager, caches, stop } = start({ transport: wire, log, ...options })
      await eventually('the process has listed everything', () => Object.values(caches).every(({ state }) => state === 'synced'))
      return {
        bed: { wire, lines, registry: manager.metrics.registry },
        client: site.client,
        namespace,
        registered: () => manager.registry.registeredWrites(),
        newTerm: () => manager.registry.newTerm(),
        trespass: (kind, name, path) =>
          site.recorder.expect({ kind, namespace, name, path, why: 'the administrator brings a race about', maybe: true }),
        async [Symbol.asyncDispose]() {
          wire.reset()
          await stop()
        },
      }
    },
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  }
}
