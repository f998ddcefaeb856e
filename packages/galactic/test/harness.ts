/** A control plane with Galactic's kinds and no others, Galactic under its own identity, and calls as the administrator. */
import { randomInt } from 'node:crypto'
import { apiVersionOf, type Client, type KubeObject } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { by, conditionOf, never, type PlaneWorld, runHere, startPlaneWorld } from 'kube-multus/testing/planes'
import { BGPAdvertisement, BGPRouter, type NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { createGalactic, type Galactic, type GalacticOptions } from '../src/app.ts'
import { galacticAccount, galacticManifests } from '../src/manifests.ts'
import { standInNodeAccount, standInNodeManifests } from '../testing/stand-in-node/index.ts'
import { recording } from './support/record.ts'

export { by, conditionOf, never }

export const systemNamespace = 'galactic-system'

export type World = PlaneWorld & {
  readonly galacticKubeconfig: string
  readonly nodeKubeconfig: string
  /** Identifiers that are chosen next; when none is left, random ones. */
  readonly chosen: number[]
  start(options?: Partial<GalacticOptions>): Running
}

export type Running = { galactic: Galactic; stop(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

export async function startWorld(): Promise<World> {
  const { crds, rbac, local } = galacticManifests()
  const world = await startPlaneWorld({
    name: 'galactic',
    manifests: [...crds, ...local, ...rbac, ...standInNodeManifests()],
    accounts: [galacticAccount, standInNodeAccount],
    recording,
  })
  const [galacticKubeconfig = '', nodeKubeconfig = ''] = world.kubeconfigs
  const chosen: number[] = []
  return {
    ...{ ...world, galacticKubeconfig, nodeKubeconfig, chosen },
    start(options = {}) {
      const { process, ...running } = runHere(
        createGalactic({
          kubeconfig: galacticKubeconfig,
          random: (from, below) => chosen.shift() ?? randomInt(from, below),
          log: world.logger,
          server: { port: 0 },
          ...options,
        }),
      )
      return { galactic: process, ...running }
    },
  }
}

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
