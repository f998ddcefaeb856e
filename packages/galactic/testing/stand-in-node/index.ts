/**
 * Stands in for a node: publishes the BGPAdvertisement of each attachment that is ready, as a CNI plugin and a router would,
 * and withdraws it when the definition goes. For local runs and tests; no kernel is touched. Two writes for each attachment.
 */
import { randomUUID } from 'node:crypto'
import {
  type Cache,
  type Clock,
  createAccessSource,
  createHttpTransport,
  createLogger,
  createManager,
  createStatusWriter,
  createWriter,
  type Key,
  type Kind,
  keyFor,
  type Logger,
  type Manager,
  type Outcome,
  settled,
  systemClock,
  type Transport,
  watch,
} from 'kube-control-loop'
import { BGPAdvertisement, BGPRouter, NetworkAttachmentDefinition, VPCAttachment } from '../../src/api/index.ts'
import { labelledIdentity } from '../../src/caches.ts'
import { advertisementName, advertisementOf, type NameForm, publishedFor, routerOf } from './advertise.ts'

export type { NameForm } from './advertise.ts'
export { standInNodeAccount, standInNodeManifests } from './manifests.ts'

export type StandInNodeOptions = {
  transport?: Transport
  kubeconfig?: string
  node?: string
  systemNamespace?: string
  nameForm?: NameForm
  /**
   * `ready` (default): when the attachment reports Ready, as a workload that waits for it would be started. `defined`: as soon as
   * the definition stands, before any report.
   */
  publishesWhen?: 'ready' | 'defined'
  /** Whether the workload of an attachment runs here; every one unless said otherwise. */
  carries?: (attachment: Key) => boolean
  clock?: Clock
  log?: Logger
}

export type StandInNode = {
  /** `carries` answers otherwise now: what is published of this attachment is put right. */
  lookAgain(attachment: Key): void
  /** Follows and publishes until stopped; rejects when it could not. */
  readonly running: Promise<void>
  stop(): Promise<void>
}

const routerStatus = {
  writer: 'stand-in-router',
  identity: 'stand-in-node',
  owns: ['observedGeneration', 'advertisedPrefixes', 'conditions/Ready', 'conditions/Advertised'],
  when: 'when it has published an advertisement',
} as const

type CacheOf<K> = K extends Kind<infer S, infer T> ? Cache<S, T> : never

type Node = {
  manager: Manager
  attachments: CacheOf<typeof VPCAttachment>
  definitions: CacheOf<typeof NetworkAttachmentDefinition>
  advertisements: CacheOf<typeof BGPAdvertisement>
  name: string
  systemNamespace: string
  nameForm: NameForm
  publishesWhen: 'ready' | 'defined'
  carries: (attachment: Key) => boolean
  /** Who wants to hear of attachments that must be looked at again. */
  wake: Set<(attachment: Key) => void>
}

/** Starts it at once. Its router object is made if it is missing. */
export function startStandInNode(options: StandInNodeOptions): StandInNode {
  const node = createNode(options)
  const controller = new AbortController()
  node.manager.add(nodeController(node))
  const running = node.manager.run(controller.signal)
  return {
    running,
    lookAgain(attachment) {
      for (const enqueue of node.wake) enqueue(attachment)
    },
    async stop() {
      controller.abort(new Error('the stand-in node was stopped'))
      await running
    },
  }
}

function createNode(options: StandInNodeOptions): Node {
  const { clock = systemClock, node: name = 'node-1', systemNamespace = 'galactic-system' } = options
  const { kubeconfig } = options
  const access = () => createAccessSource({ clock, ...(kubeconfig === undefined ? {} : { kubeconfig }) })
  const manager = createManager({
    name: 'stand-in-node',
    transport: options.transport ?? createHttpTransport({ access: access(), clock, userAgent: 'stand-in-node/0.1.0' }),
    metricPrefix: 'stand_in_node_',
    eventController: 'example.com/stand-in-node',
    identity: `${name}_${randomUUID()}`,
    clock,
    log: options.log ?? createLogger({ name: 'stand-in-node', level: 'warn' }),
  })
  return {
    manager,
    attachments: manager.cache(VPCAttachment),
    definitions: manager.cache(NetworkAttachmentDefinition),
    advertisements: manager.cache(BGPAdvertisement, {
      namespace: systemNamespace,
      indexes: { attachment: ({ metadata }) => [metadata.annotations?.[publishedFor] ?? ''].filter(Boolean) },
    }),
    name,
    systemNamespace,
    nameForm: options.nameForm ?? 'hex',
    publishesWhen: options.publishesWhen ?? 'ready',
    carries: options.carries ?? (() => true),
    wake: new Set(),
  }
}

function nodeController(node: Node) {
  const { manager, attachments, definitions, advertisements, name, systemNamespace } = node
  const env = { ...manager.writers, controller: 'stand-in-node', manager: 'stand-in-node' }
  const routerWriter = createWriter({ ...env, kind: BGPRouter, writes: ['create'] })
  const publisher = createWriter({ ...env, kind: BGPAdvertisement, cache: advertisements, writes: ['create', 'remove'] })
  const reporter = createStatusWriter({ ...env, kind: BGPAdvertisement, cache: advertisements, owner: routerStatus })
  let router: Promise<void> | undefined

  /** Once for all passes: two that both find it missing would both create it. One that failed is tried again by the next pass. */
  function ensureRouter(signal: AbortSignal): Promise<void> {
    router ??= findOrCreateRouter(signal).catch((error: unknown) => {
      router = undefined
      throw error
    })
    return router
  }

  async function findOrCreateRouter(signal: AbortSignal): Promise<void> {
    const found = await manager.client.find(BGPRouter, { name, namespace: systemNamespace }, signal)
    if (!found) await routerWriter.create(routerOf(name, systemNamespace), signal)
  }

  async function withdraw(key: Key, except: string | undefined, signal: AbortSignal): Promise<void> {
    for (const published of advertisements.by('attachment', key)) {
      if (published.metadata.name !== except) await publisher.remove(published, signal)
    }
  }

  async function pass(key: Key, signal: AbortSignal): Promise<Outcome> {
    const definition = definitions.get(key)
    const identity = definition && labelledIdentity(definition)
    const config = definition?.spec?.config
    const isCarried = definition?.metadata.deletionTimestamp === undefined && node.carries(key)
    if (!definition || !identity || config === undefined || !isCarried) {
      await withdraw(key, undefined, signal)
      return settled
    }
    const wanted = advertisementName(identity, node.nameForm)
    await withdraw(key, wanted, signal)
    const standing = advertisements.get(keyFor(wanted, systemNamespace))
    // Published by someone else: a test, say, that plays the node for this attachment.
    if (standing && standing.metadata.annotations?.[publishedFor] !== key) return settled
    if (!standing && !isReady(node, key)) return settled
    await ensureRouter(signal)
    const body = { identity, attachment: key, config, router: name, namespace: systemNamespace, form: node.nameForm }
    const published = standing ?? (await publisher.create(advertisementOf(body), signal))
    await reporter.status(published, reportOn(published), signal)
    return settled
  }

  return {
    name: 'stand-in-node',
    watches: [
      watch(definitions, ({ key }) => [key]),
      watch(attachments, ({ key }) => [key]),
      watch(advertisements, ({ before, after }) =>
        [(after ?? before)?.metadata.annotations?.[publishedFor] ?? ''].filter(Boolean),
      ),
      {
        subscribe(enqueue: (key: Key) => void) {
          node.wake.add(enqueue)
          return () => void node.wake.delete(enqueue)
        },
      },
    ],
    needs: [{ cache: definitions }, { cache: attachments }, { cache: advertisements }],
    reconcile: ({ key, signal }: { key: Key; signal: AbortSignal }) => pass(key, signal),
  }
}

function isReady({ attachments, publishesWhen }: Node, key: Key): boolean {
  const attachment = attachments.get(key)
  const ready = attachment?.status?.conditions?.find(({ type }) => type === 'Ready')
  return publishesWhen === 'defined' || (ready?.status === 'True' && ready.observedGeneration === attachment?.metadata.generation)
}

function reportOn({ metadata, spec }: BGPAdvertisement) {
  const observedGeneration = metadata.generation ?? 0
  const condition = <T extends string>(type: T, reason: string, message: string) =>
    ({ type, status: 'True', reason, message, observedGeneration }) as const
  return {
    observedGeneration,
    advertisedPrefixes: spec.prefixes?.length ?? 0,
    conditions: [
      condition('Ready', 'Accepted', 'accepted by the router'),
      condition('Advertised', 'Advertised', 'advertised to all peers'),
    ],
  }
}
