/** What the command line sees of a running system: caches of the chain's kinds, and trees made from them. */
import { NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import {
  type Client,
  createAccessSource,
  createCache,
  createClient,
  createHttpTransport,
  type FollowedCache,
  type Key,
  type Kind,
  type KubeObject,
  keyOf,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import { NetworkAttachmentDefinition } from 'kube-multus'
import type { DataPlaneUse } from './planes/data-plane.ts'
import { defaultDataPlane } from './planes/index.ts'
import type { TreeNode } from './tree.ts'

export type World = {
  readonly dataPlane: DataPlaneUse
  readonly client: Client
  readonly claims: FollowedCache
  readonly interfaces: FollowedCache
  readonly attachments: FollowedCache
  readonly definitions: FollowedCache
  readonly contexts: FollowedCache
  readonly networkObjects: FollowedCache
  /** The claim and all that stands for it. */
  treeOf(claim: KubeObject): TreeNode
  close(): Promise<void>
}

/** Follows the chain's kinds in one namespace; resolves when all are known. */
export async function followWorld(
  kubeconfigPath: string,
  namespace: string,
  signal: AbortSignal,
  dataPlane = defaultDataPlane,
): Promise<World> {
  const access = createAccessSource({ clock: systemClock, kubeconfig: kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso-cli/0.1.0' })
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const ending = new AbortController()
  const caches: FollowedCache[] = []
  const running: Promise<void>[] = []
  const follow = (kind: Kind): FollowedCache => {
    const cache = createCache(client, kind, { namespace }, parts)
    caches.push(cache)
    running.push(cache.run(ending.signal))
    return cache
  }
  const world = {
    dataPlane,
    client,
    claims: follow(NetworkInterfaceClaim),
    interfaces: follow(NetworkInterface),
    attachments: follow(dataPlane.kinds.attachment),
    definitions: follow(NetworkAttachmentDefinition),
    contexts: follow(NetworkContext),
    networkObjects: follow(dataPlane.kinds.networkObject),
  }
  await Promise.all(caches.map((cache) => cache.ready(signal)))
  return {
    ...world,
    treeOf: (claim) => treeOf(world, claim),
    async close() {
      ending.abort(new Error('done'))
      await Promise.allSettled(running)
      await transport.close()
    },
  }
}

type Parts = Pick<World, 'dataPlane' | 'interfaces' | 'attachments' | 'definitions'>

function treeOf({ dataPlane, interfaces, attachments, definitions }: Parts, claim: KubeObject): TreeNode {
  const key = interfaceKeyOf(claim)
  const node = (object: KubeObject | undefined, children: TreeNode[], notes: string[] = []): TreeNode[] =>
    object ? [{ object, children, notes }] : []
  const attachment = attachments.get(key)
  return {
    object: claim,
    notes: addressNotes(claim),
    children: node(
      interfaces.get(key),
      node(
        attachment,
        node(definitions.get(key), [], definitionNotes(definitions.get(key))),
        attachment ? dataPlane.attachmentNotes(attachment) : [],
      ),
      interfaceNotes(interfaces.get(key), dataPlane.networkWord),
    ),
  }
}

/** Of the claim's interface, whose name its attachment and definition have too. */
export function interfaceKeyOf({ metadata: { name, namespace }, status }: KubeObject): Key {
  const { networkInterfaceRef } = (status ?? {}) as { networkInterfaceRef?: { name: string } }
  return keyOf({ metadata: { name: networkInterfaceRef?.name ?? name, namespace } })
}

function addressNotes(claim: KubeObject): string[] {
  const { addresses = [] } = (claim.status ?? {}) as { addresses?: { address: string; gateway?: string; primary?: boolean }[] }
  return addresses.map(
    ({ address, gateway, primary }) => `${address}${gateway ? ` via ${gateway}` : ''}${primary ? ' (primary)' : ''}`,
  )
}

function interfaceNotes(nic: KubeObject | undefined, networkWord: string): string[] {
  const { phase, vpc } = (nic?.status ?? {}) as { phase?: string; vpc?: string }
  return phase ? [`phase ${phase}${vpc ? `, ${networkWord} ${vpc}` : ''}`] : []
}

/** The plugins that a node will run for it. */
function definitionNotes(definition: KubeObject | undefined): string[] {
  const { config } = (definition?.spec ?? {}) as { config?: string }
  const { type, plugins = [{ type }] } = JSON.parse(config || '{}') as { type?: string; plugins?: { type?: string }[] }
  const names = plugins.flatMap((plugin) => plugin.type ?? [])
  return names.length > 0 ? [`CNI plugin ${names.join(', ')}`] : []
}
