/** A control plane with the kinds of the bridge data plane and no others, and its controllers under their own identity. */
import { ApiError, apiVersionOf, type Client, type Kind, type KubeObject } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { type AttachedNetwork, Pod, podAnnotations } from 'kube-multus'
import { attachedEntry, podNaming } from 'kube-multus/testing'
import { by, conditionOf, never, type PlaneWorld, recordingOf, runHere, startPlaneWorld } from 'kube-multus/testing/planes'
import { BridgeAttachment, BridgeNetwork, conditionsByKind, finalizer, ownership } from '../src/api/index.ts'
import { type BridgeOptions, createBridge } from '../src/app.ts'
import { bridgeAccount, bridgeManifests, kinds, localKinds } from '../src/manifests.ts'
import { standInMultusAccount, standInMultusManifests } from '../testing/index.ts'

export { by, conditionOf, never }

const account = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`

export const recording = recordingOf({
  kinds: [...kinds, ...localKinds],
  table: ownership,
  conditions: conditionsByKind,
  identities: { bridge: [account(bridgeAccount)] },
})

export type World = PlaneWorld & {
  readonly bridgeKubeconfig: string
  readonly multusKubeconfig: string
  /** Settings in force unless said: a grace that no test waits for. */
  start(options?: BridgeOptions): ReturnType<typeof runHere<ReturnType<typeof createBridge>>>
}

export async function startWorld({ local = true }: { local?: boolean } = {}): Promise<World> {
  const manifests = bridgeManifests()
  const world = await startPlaneWorld({
    name: 'bridge',
    manifests: [...manifests.crds, ...(local ? manifests.local : []), ...manifests.rbac, ...standInMultusManifests()],
    accounts: [bridgeAccount, standInMultusAccount],
    recording,
  })
  const [bridgeKubeconfig = '', multusKubeconfig = ''] = world.kubeconfigs
  return {
    ...world,
    bridgeKubeconfig,
    multusKubeconfig,
    start: (options = {}) =>
      runHere(createBridge({ kubeconfig: bridgeKubeconfig, log: world.logger, server: { port: 0 }, ...options })),
  }
}

type Meta = { labels?: Record<string, string>; finalizers?: string[] }
const held: Meta = { finalizers: [finalizer] }

export const networkOf = (
  namespace: string,
  name: string,
  spec: Partial<BridgeNetwork['spec']> = {},
  meta = held,
): BridgeNetwork => ({
  apiVersion: apiVersionOf(BridgeNetwork),
  kind: BridgeNetwork.kind,
  metadata: { namespace, name, ...meta },
  spec: { ranges: ['10.128.0.0/20', 'fd20:1::/64'], hostGateway: false, ...spec },
})

export const attachmentOf = (
  namespace: string,
  name: string,
  network: string,
  link: Partial<BridgeAttachment['spec']['interface']> = {},
  meta = held,
): BridgeAttachment => ({
  apiVersion: apiVersionOf(BridgeAttachment),
  kind: BridgeAttachment.kind,
  metadata: { namespace, name, ...meta },
  spec: { network: { name: network }, interface: { name: 'eth0', ...link } },
})

type At = { namespace: string; name: string }

/** Waits until the object is as wanted, and answers it. */
export const until = <S, T>(
  client: Client,
  kind: Kind<S, T>,
  at: At,
  what: string,
  wanted: (object: KubeObject<S, T>) => boolean,
) =>
  eventually(`${kind.kind} ${at.name} ${what}`, async () => {
    const found = await client.find(kind, at, never)
    return found && wanted(found) ? found : undefined
  })

export const says =
  (type: string, wanted: string) =>
  (object: { status?: { conditions?: { type: string; status: string; reason: string; message: string }[] } }) =>
    conditionOf(object, type) === wanted

export const messageOf = (object: BridgeAttachment | BridgeNetwork | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)?.message ?? ''

export const isReady = says('Ready', 'True DefinitionReady')

export const gone = <S, T>(client: Client, kind: Kind<S, T>, at: At) =>
  eventually(`${kind.kind} ${at.name} is gone`, async () => !(await client.find(kind, at, never)))

/** A Pod that asks for definitions. The service account of a new namespace is made in a moment, and Pods need it. */
export const makePod = (client: Client, namespace: string, name: string, ...definitions: string[]) =>
  eventually(`Pod ${name} is made`, () =>
    client.create(Pod, podNaming(namespace, name, ...definitions) as Pod, by, never).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return undefined
      throw error
    }),
  )

/** What Multus writes on a Pod; null takes it away. */
export async function report(client: Client, at: At, entries: readonly AttachedNetwork[] | string | null): Promise<void> {
  const text = entries === null || typeof entries === 'string' ? entries : JSON.stringify(entries)
  const body = { metadata: { annotations: { [podAnnotations.networkStatus]: text } } }
  const path = `/api/v1/namespaces/${at.namespace}/pods/${at.name}`
  await client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', query: by, body }, never)
}

export const attached = (definition: string, ...ips: string[]) => attachedEntry(definition, 'net1', ips)

/** Ends a Pod's life as the kubelet does: no kubelet runs here. */
export async function endPod(client: Client, at: At): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 }
  await client.raw({ method: 'DELETE', path: `/api/v1/namespaces/${at.namespace}/pods/${at.name}`, body }, never)
}

/** As the kubelet says at the end of a Pod's life. */
export async function setPhase(client: Client, at: At, phase: string): Promise<void> {
  const path = `/api/v1/namespaces/${at.namespace}/pods/${at.name}/status`
  await client.raw(
    { method: 'PATCH', path, contentType: 'application/merge-patch+json', query: by, body: { status: { phase } } },
    never,
  )
}

/** A network with its bridge, and an attachment on it that is Ready. */
export async function readyAttachment(
  client: Client,
  namespace: string,
  name: string,
  link: Partial<BridgeAttachment['spec']['interface']> = {},
): Promise<BridgeAttachment> {
  const at = { namespace, name: 'blue' }
  if (!(await client.find(BridgeNetwork, at, never))) await client.create(BridgeNetwork, networkOf(namespace, 'blue'), by, never)
  await client.create(BridgeAttachment, attachmentOf(namespace, name, 'blue', link), by, never)
  return until(client, BridgeAttachment, { namespace, name }, 'is Ready', isReady)
}
