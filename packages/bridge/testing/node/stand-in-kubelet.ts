/**
 * Stands in for kubelet and Multus on one node: gives each Pod that is bound to the node a network namespace, attaches it by the
 * real plugins to the networks that it names, writes what they have answered as Multus does, and takes all of it away when the
 * Pod is deleted. There is no container in it. For local runs and tests.
 */
import { randomUUID } from 'node:crypto'
import {
  createAccessSource,
  createHttpTransport,
  createManager,
  type FollowedCache,
  type Key,
  type Kind,
  type KubeObject,
  keyOf,
  type Logger,
  type Manager,
  type Outcome,
  settled,
  silentLogger,
  systemClock,
  type Transport,
  waiting,
  watch,
} from 'kube-control-loop'
import { NetworkAttachmentDefinition, podAnnotations } from 'kube-multus'
import type { CniTools } from './cni.ts'
import { type Attached, type Node, openNode, type Workload } from './node.ts'
import { type StatusEntry, statusEntry, type WantedNetwork, wantedNetworks } from './pod-networks.ts'

export type StandInKubeletOptions = {
  transport?: Transport
  kubeconfig?: string
  tools: CniTools
  /** Name of the node, as in `spec.nodeName` of its Pods. */
  node?: string
  /** Hears why a Pod could not be attached; it is tried again. */
  failed?: (pod: Key, why: string) => void
  log?: Logger
}

export type StandInKubelet = {
  readonly node: Node
  /** Follows and attaches until stopped; rejects when it could not. */
  readonly running: Promise<void>
  /** The running workload of a Pod. */
  workloadOf(pod: Key): Workload | undefined
  /** Ends all workloads. Their Pods stay as they are. */
  stop(): Promise<void>
}

export const standInNodeName = 'stand-in-node'

const Pod: Kind<{ nodeName?: string }, { phase?: string }> = {
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods' },
  scope: 'Namespaced',
}
type PodObject = KubeObject<{ nodeName?: string }, { phase?: string }>

type Held = { uid: string | undefined; workload: Workload; attached: Attached[] }

type Parts = Pick<StandInKubeletOptions, 'failed'> & {
  node: Node
  manager: Manager
  pods: FollowedCache<{ nodeName?: string }, { phase?: string }>
  definitions: FollowedCache<{ config?: string | undefined }>
  held: Map<Key, Held>
}

/** Resolves when the node stands; rejects where the machine gives no namespaces. */
export async function startStandInKubelet(options: StandInKubeletOptions): Promise<StandInKubelet> {
  const { tools, node: name = standInNodeName, kubeconfig, failed, log = silentLogger } = options
  const access = () => createAccessSource({ clock: systemClock, ...(kubeconfig === undefined ? {} : { kubeconfig }) })
  const userAgent = 'stand-in-kubelet/0.1.0'
  const node = await openNode(tools)
  const manager = createManager({
    name: 'stand-in-kubelet',
    transport: options.transport ?? createHttpTransport({ access: access(), clock: systemClock, userAgent }),
    metricPrefix: 'stand_in_kubelet_',
    eventController: 'example.com/stand-in-kubelet',
    identity: `${name}_${randomUUID()}`,
    log,
  })
  const pods = manager.cache(Pod, {
    fieldSelector: `spec.nodeName=${name}`,
    indexes: { definition: (pod) => readable(pod).map(({ definition }) => definition) },
  })
  const parts: Parts = {
    ...{ node, manager, pods, held: new Map() },
    definitions: manager.cache(NetworkAttachmentDefinition) as Parts['definitions'],
    ...(failed ? { failed } : {}),
  }
  manager.add(controllerOf(parts))
  const stopping = new AbortController()
  const running = manager.run(stopping.signal)
  return {
    node,
    running,
    workloadOf: (pod) => parts.held.get(pod)?.workload,
    async stop() {
      stopping.abort(new Error('the stand-in kubelet was stopped'))
      await running.finally(() => node.close())
    },
  }
}

function controllerOf(parts: Parts) {
  const { pods, definitions, failed } = parts
  return {
    name: 'stand-in-kubelet',
    watches: [watch(pods, ({ key }) => [key]), watch(definitions, ({ key }) => pods.by('definition', key).map(keyOf))],
    needs: [{ cache: pods }, { cache: definitions, optional: true }],
    async reconcile({ key, signal }: { key: Key; signal: AbortSignal }): Promise<Outcome> {
      try {
        return await pass(parts, key, signal)
      } catch (error) {
        if (!signal.aborted) failed?.(key, error instanceof Error ? error.message : String(error))
        throw error
      }
    },
  }
}

async function pass(parts: Parts, key: Key, signal: AbortSignal): Promise<Outcome> {
  const { pods, held, definitions } = parts
  const pod = pods.get(key)
  const isLeaving = pod?.metadata.deletionTimestamp !== undefined
  const runs = held.get(key)
  if (runs && (isLeaving || pod?.metadata.uid !== runs.uid)) await takeDown(parts, key, runs)
  if (!pod) return settled
  if (isLeaving) return await letGo(parts, pod, signal)
  if (held.has(key)) return settled
  const networks = wantedNetworks(pod)
  const missing = networks.find(({ definition }) => definitions.get(definition)?.spec?.config === undefined)
  if (missing) return waiting(`NetworkAttachmentDefinition ${missing.definition}`)
  const entries = await bringUp(parts, pod, networks)
  await report(parts, pod, entries, signal)
  return settled
}

/** In the order of the annotation, as Multus does. What fails half-way leaves nothing behind. */
async function bringUp({ node, definitions, held }: Parts, pod: PodObject, networks: WantedNetwork[]): Promise<StatusEntry[]> {
  const workload = await node.workload(keyOf(pod))
  try {
    const attached: Attached[] = []
    for (const { definition, device } of networks) {
      const config = named(definitions.get(definition)?.spec?.config ?? '', definition)
      attached.push(await node.attach(workload, { config, device }))
    }
    held.set(keyOf(pod), { uid: pod.metadata.uid, workload, attached })
    return networks.map((network, index) => statusEntry(network, attached[index]?.result ?? { cniVersion: '' }))
  } catch (error) {
    await workload.close()
    throw error
  }
}

/** Multus gives a configuration without a name that of its definition. */
function named(config: string, definition: Key): string {
  const parsed = JSON.parse(config) as { name?: string }
  return parsed.name ? config : JSON.stringify({ ...parsed, name: definition.split('/').at(-1) })
}

async function takeDown(parts: Parts, key: Key, { workload, attached }: Held): Promise<void> {
  for (const each of [...attached].reverse()) await each.detach()
  await workload.close()
  parts.held.delete(key)
}

/** By the resource that Multus writes, whose updates may change annotations; the phase is kubelet's. */
async function report({ manager }: Parts, pod: PodObject, entries: StatusEntry[], signal: AbortSignal): Promise<void> {
  const { name, namespace, uid, annotations } = pod.metadata
  const path = `/metadata/annotations/${podAnnotations.networkStatus.replaceAll('/', '~1')}`
  const text = JSON.stringify(entries, undefined, 4)
  await manager.client.jsonPatch(
    Pod,
    { name, namespace, subresource: 'status' },
    [
      { op: 'test', path: '/metadata/uid', value: uid },
      ...(annotations ? [{ op: 'add', path, value: text } as const] : []),
      { op: 'add', path: '/status/phase', value: 'Running' },
    ],
    { fieldManager: 'stand-in-kubelet' },
    signal,
  )
}

/** As kubelet does when nothing of the Pod runs any more. */
async function letGo(
  { manager }: Parts,
  { metadata: { name, namespace, uid } }: PodObject,
  signal: AbortSignal,
): Promise<Outcome> {
  await manager.client
    .raw(
      {
        method: 'DELETE',
        path: `/api/v1/namespaces/${namespace}/pods/${name}`,
        body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } },
      },
      signal,
    )
    .catch((error: unknown) => {
      if ((error as { status?: number }).status !== 404) throw error
    })
  return settled
}

function readable(pod: Pick<KubeObject, 'metadata'>): WantedNetwork[] {
  try {
    return wantedNetworks(pod)
  } catch {
    // The pass says so.
    return []
  }
}
