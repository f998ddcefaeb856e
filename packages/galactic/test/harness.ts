/** A control plane with Galactic's kinds and no others, Galactic under its own identity, and calls as the administrator. */
import { randomInt } from 'node:crypto'
import {
  apiVersionOf,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  createLogger,
  type KubeObject,
  type LineSink,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import type { Recorder } from 'kube-control-loop/testing'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { BGPAdvertisement, BGPRouter, type NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { createGalactic, type Galactic, type GalacticOptions } from '../src/app.ts'
import { galacticAccount, galacticManifests } from '../src/manifests.ts'
import { standInNodeAccount, standInNodeManifests } from '../testing/stand-in-node/index.ts'
import { auditBodies, record } from './support/record.ts'

export const systemNamespace = 'galactic-system'

export type World = {
  readonly plane: Plane
  /** Holds every version of every object against the tables, and fails the disposal where one is not as documented. */
  readonly recorder: Recorder
  readonly client: Client
  readonly galacticKubeconfig: string
  readonly nodeKubeconfig: string
  /** All that Galactic has logged, as lines of JSON. */
  readonly log: string[]
  /** Identifiers that are chosen next; when none is left, random ones. */
  readonly chosen: number[]
  start(options?: Partial<GalacticOptions>): Running
  transport(kubeconfig: string): Transport
  namespace(name: string): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

export type Running = { galactic: Galactic; stop(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

export async function startWorld(): Promise<World> {
  const plane = await startPlane({ name: 'galactic-test', auditBodies })
  const { crds, rbac, local } = galacticManifests()
  await plane.apply([...crds, ...local, ...rbac, ...standInNodeManifests()])
  const [galacticKubeconfig, nodeKubeconfig] = await Promise.all(
    [galacticAccount, standInNodeAccount].map((serviceAccount) => plane.kubeconfigFor({ serviceAccount })),
  )
  if (!galacticKubeconfig || !nodeKubeconfig) throw new Error('no kubeconfig')
  const transport = (kubeconfig: string) =>
    createHttpTransport({
      access: createAccessSource({ clock: systemClock, kubeconfig }),
      clock: systemClock,
      userAgent: 'galactic-test',
    })
  const admin = transport(plane.kubeconfigPath)
  const recorder = await record(plane)
  const log: string[] = []
  const chosen: number[] = []
  const sink: LineSink = { write: (line) => void log.push(line) }
  const client = createClient(admin, { clock: systemClock, jitter: Math.random })
  return {
    plane,
    recorder,
    client,
    galacticKubeconfig,
    nodeKubeconfig,
    log,
    chosen,
    transport,
    start(options = {}) {
      const stop = new AbortController()
      const galactic = createGalactic({
        kubeconfig: galacticKubeconfig,
        random: (from, below) => chosen.shift() ?? randomInt(from, below),
        log: createLogger({ name: 'galactic', level: 'debug', to: sink }),
        server: { port: 0 },
        ...options,
      })
      const running = galactic.run(stop.signal)
      const end = async () => {
        stop.abort(new Error('the test stops it'))
        await running
      }
      return { galactic, stop: end, [Symbol.asyncDispose]: end }
    },
    async namespace(name) {
      await client.create(
        { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: {} },
        { fieldManager: 'test' },
        never,
      )
      return name
    },
    async [Symbol.asyncDispose]() {
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await admin.close()
        await plane.stop()
      }
    },
  }
}

/** A signal that nobody aborts. */
export const never = new AbortController().signal
export const by = { fieldManager: 'test' }

type Meta = { labels?: Record<string, string>; finalizers?: string[] }

export function vpcOf(namespace: string, name: string, meta: Meta = {}): VPC {
  return {
    apiVersion: apiVersionOf(VPC),
    kind: 'VPC',
    metadata: { namespace, name, ...meta },
    spec: { networks: ['10.128.0.0/20'] },
  }
}

export function attachmentOf(
  namespace: string,
  name: string,
  vpc: string,
  link: Partial<VPCAttachment['spec']['interface']> = {},
  meta: Meta = {},
): VPCAttachment {
  return {
    apiVersion: apiVersionOf(VPCAttachment),
    kind: 'VPCAttachment',
    metadata: { namespace, name, ...meta },
    spec: { vpc: { name: vpc }, interface: { name: 'eth0', mode: 'Netns', ...link } },
  }
}

export function advertisementOf(name: string, router = 'router-1', annotations: Record<string, string> = {}): BGPAdvertisement {
  return {
    apiVersion: apiVersionOf(BGPAdvertisement),
    kind: 'BGPAdvertisement',
    metadata: { namespace: systemNamespace, name, annotations },
    spec: { routerRef: { name: router }, addressFamily: { afi: 'l2vpn', safi: 'evpn' }, prefixes: ['10.128.0.7/32'] },
  }
}

export function routerOf(name: string, node: string): BGPRouter {
  return {
    apiVersion: apiVersionOf(BGPRouter),
    kind: 'BGPRouter',
    metadata: { namespace: systemNamespace, name },
    spec: {
      targetRef: { kind: 'Node', name: node },
      localASN: 65_001,
      routerID: '192.0.2.7',
      addressFamilies: [{ afi: 'l2vpn', safi: 'evpn' }],
    },
  }
}

/** Reports on an advertisement as its router does. */
export async function advertise(
  client: Client,
  name: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message = `${reason} says the router`,
): Promise<void> {
  const condition = {
    type: 'Advertised',
    status,
    reason,
    message,
    lastTransitionTime: new Date().toISOString().replace(/\.\d+Z/, 'Z'),
  }
  const body = {
    apiVersion: apiVersionOf(BGPAdvertisement),
    kind: 'BGPAdvertisement',
    metadata: { namespace: systemNamespace, name },
    status: { conditions: [condition] },
  }
  const at = { namespace: systemNamespace, name, subresource: 'status' }
  await client.apply(BGPAdvertisement, at, body, { fieldManager: 'router', force: true }, never)
}

export const conditionOf = (
  object: { status?: { conditions?: { type: string; status: string; reason: string; message: string }[] } } | undefined,
  type: string,
) => {
  const found = object?.status?.conditions?.find((condition) => condition.type === type)
  return found && `${found.status} ${found.reason}`
}

/** Waits until the attachment is as wanted, and answers it. */
export function attachmentIs(
  client: Client,
  at: { namespace: string; name: string },
  what: string,
  wanted: (attachment: VPCAttachment) => boolean,
): Promise<VPCAttachment> {
  return eventually(`VPCAttachment ${at.name} is ${what}`, async () => {
    const found = await client.find(VPCAttachment, at, never)
    return found && wanted(found) ? found : undefined
  })
}

export const isReady = (attachment: VPCAttachment) => conditionOf(attachment, 'Ready') === 'True AttachmentDefinitionReady'
export const isProgrammed = (attachment: VPCAttachment) => conditionOf(attachment, 'Programmed')?.startsWith('True') ?? false

export function gone(
  client: Client,
  kind: typeof VPC | typeof VPCAttachment | typeof NetworkAttachmentDefinition,
  at: { namespace: string; name: string },
) {
  return eventually(
    `${kind.kind} ${at.name} is gone`,
    async () => !(await client.find<unknown, unknown>(kind as never, at, never)),
  )
}

export const configOf = (object: KubeObject<{ config?: string }> | undefined) => object?.spec.config
