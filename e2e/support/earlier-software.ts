/**
 * The software that was here before, as far as its writes go: its definitions, in which a list of conditions is one value, and
 * its two processes, which write whole objects by PUT, without a field manager, from a typed copy, in every pass, and ask again
 * after a conflict.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { finalizers, NetworkInterface, NetworkInterfaceClaim, nsoManifests } from '@nso/api'
import { galacticManifests } from 'galactic/manifests'
import {
  ApiError,
  apiVersionOf,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type KubeObject,
  pathOf,
  systemClock,
} from 'kube-control-loop'

const cloud = { group: 'cloud.datumapis.com', version: 'v1alpha1', scope: 'Namespaced' } as const
export const Vpc: Kind = { ...cloud, kind: 'VPC', plural: 'vpcs' }
export const Attachment: Kind = { ...cloud, kind: 'VPCAttachment', plural: 'vpcattachments' }
export const Definition: Kind = {
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  scope: 'Namespaced',
}

type Schema = { properties?: Record<string, Schema>; [keyword: string]: unknown }
type Definitions = { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }

/** Today's, with conditions of one piece and without what was added. */
export function earlierDefinitions(): object[] {
  const { crds } = nsoManifests()
  const then = structuredClone(crds) as unknown as Definitions[]
  for (const { spec } of then) {
    const status = spec.versions[0]?.schema.openAPIV3Schema.properties?.status?.properties
    if (!status?.conditions) continue
    delete status.conditions['x-kubernetes-list-map-keys']
    status.conditions['x-kubernetes-list-type'] = 'atomic'
    delete status.conditionSources
  }
  return [...then, ...galacticManifests().crds, ...galacticManifests().local]
}

type Condition = { type: string; status: string; reason: string; message: string; lastTransitionTime: string }
type Status = Record<string, unknown> & { conditions?: Condition[] }

/** The fields that the copy knows; what was added since is lost with every write. */
const known: Record<string, readonly string[]> = {
  networkinterfaces: ['phase', 'networkContextRef', 'attachmentRef', 'vpc', 'conditions'],
  networkinterfaceclaims: ['networkInterfaceRef', 'addresses', 'externalAddresses', 'conditions'],
}

const name = 'web-0'
const address = { family: 'IPv6', address: 'fd20:0:0:1:0:5::/96', gateway: 'fd20:0:0:1::1', primary: true }
export const identity = { vpc: 'dK3f9', attachment: 'b7' }
const labelKeys = { vpc: 'cloud.datumapis.com/vpc', attachment: 'cloud.datumapis.com/vpc-attachment' } as const
export const labelsOf = (of: typeof identity) => ({ [labelKeys.vpc]: of.vpc, [labelKeys.attachment]: of.attachment })

type Address = { family: string; address: string; gateway?: string; primary?: boolean }

/** As the data-plane controller renders it; today's rendering of the same is the same text, or the two would overwrite each other. */
function configOf(of: typeof identity, { address: cidr, gateway }: Address): string {
  const shared = { vpc: of.vpc, vpcattachment: of.attachment, namespace: 'galactic-system' }
  const ipam = { type: 'galactic-ipam', addresses: [{ address: cidr, gateway }] }
  const plugins = [
    { type: 'galactic-veth', ...shared, mtu: 1460, ipam },
    { type: 'galactic-bgp', ...shared },
  ]
  return JSON.stringify({ cniVersion: '1.0.0', name, plugins })
}

const truth = (type: string, reason: string, message: string) => ({ type, status: 'True', reason, message })

type Change = (status: Status) => Status

function saying(...conditions: Omit<Condition, 'lastTransitionTime'>[]): Change {
  return (status) => {
    const before = status.conditions ?? []
    const now = conditions.map((each): Condition => {
      const standing = before.find(({ type }) => type === each.type)
      const isSame = standing?.status === each.status
      return { ...each, lastTransitionTime: isSame ? standing.lastTransitionTime : '2029-01-01T00:00:00Z' }
    })
    const others = before.filter(({ type }) => !conditions.some((each) => each.type === type))
    return { ...status, conditions: [...others, ...now] }
  }
}

export type EarlierSoftware = {
  /** Whole passes so far. */
  readonly passes: number
  /** Conflicts that it met. */
  readonly conflicts: number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Both processes, `manager` and `vpc-controller`, for one claim whose context and subnet stand. */
export function startEarlierSoftware(kubeconfig: string, namespace: string): EarlierSoftware {
  const nso = clientOf(kubeconfig, 'manager/v0.26.1')
  const vpcController = clientOf(kubeconfig, 'vpc-controller/v0.12.0')
  const stop = new AbortController()
  const state = { passes: 0, conflicts: 0 }
  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await nsoPass(nso, namespace, state)
      await vpcPass(vpcController, namespace, state)
      state.passes += 1
      await pause(50)
    }
  }
  const running = run()
  const end = async () => {
    stop.abort()
    await running
  }
  return {
    get passes() {
      return state.passes
    },
    get conflicts() {
      return state.conflicts
    },
    stop: end,
    [Symbol.asyncDispose]: end,
  }
}

const signal = () => AbortSignal.timeout(30_000)

function clientOf(kubeconfig: string, userAgent: string): Client {
  const transport = createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig }),
    clock: systemClock,
    userAgent,
  })
  return createClient(transport, { clock: systemClock, jitter: Math.random })
}

type State = { conflicts: number }

/** Made when it is not there; a client without a field manager sends none. */
async function ensure(client: Client, kind: Kind, namespace: string, of: string, body: object): Promise<KubeObject> {
  const found = await client.find(kind, { name: of, namespace }, signal())
  if (found) return found
  const { metadata, ...rest } = body as { metadata?: object }
  const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: of, namespace, ...metadata }, ...rest }
  return (await client.raw({ method: 'POST', path: pathOf(kind, { namespace }), body: object }, signal())) as KubeObject
}

async function putStatus(client: Client, kind: Kind, namespace: string, of: string, change: Change, state: State) {
  for (;;) {
    const object = await client.find(kind, { name: of, namespace }, signal())
    if (!object || object.metadata.deletionTimestamp) return
    const status = change((object.status ?? {}) as Status)
    const fields = known[kind.plural]
    const copy = fields ? Object.fromEntries(Object.entries(status).filter(([field]) => fields.includes(field))) : status
    const path = pathOf(kind, { name: of, namespace, subresource: 'status' })
    try {
      await client.raw({ method: 'PUT', path, body: { ...object, status: copy } }, signal())
      return
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404)) throw error
      state.conflicts += 1
    }
  }
}

const ownerOf = ({ apiVersion, kind, metadata }: KubeObject) => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true },
]

async function nsoPass(client: Client, namespace: string, state: State): Promise<void> {
  const claim = await client.find(NetworkInterfaceClaim, { name, namespace }, signal())
  if (!claim) return
  if (!claim.metadata.finalizers?.includes(finalizers.claim)) {
    const body = {
      ...claim,
      metadata: { ...claim.metadata, finalizers: [...(claim.metadata.finalizers ?? []), finalizers.claim] },
    }
    await client.raw({ method: 'PUT', path: pathOf(NetworkInterfaceClaim, { name, namespace }), body }, signal())
  }
  const spec = { network: { name: 'net' }, claimRef: { name }, mtu: 1460, addresses: [address] }
  const metadata = { finalizers: [finalizers.interface], annotations: { 'networking.datumapis.com/allocation-claim': name } }
  const nic = await ensure(client, NetworkInterface, namespace, name, { metadata, spec })
  const { addresses } = nic.spec as { addresses: Address[] }
  const allocated = truth('Allocated', 'Allocated', 'Every address is held')
  const seeds = ['Prepared', 'Programmed'].map((type) => ({
    ...truth(type, 'Pending', 'Waiting for controller'),
    status: 'Unknown',
  }))
  const seeded: Change = (status) =>
    status.conditions?.some(({ type }) => type === 'Prepared') ? status : saying(...seeds)(status)
  const bound: Change = (status) => ({ ...status, phase: 'Bound', networkContextRef: { name: 'net-here' } })
  await putStatus(client, NetworkInterface, namespace, name, (status) => saying(allocated)(bound(seeded(status))), state)
  const held: Change = (status) => ({ ...status, networkInterfaceRef: { name }, addresses })
  const said = [truth('Bound', 'Bound', `Bound to network interface ${name}`), allocated]
  const notReady = { type: 'Ready', status: 'Unknown', reason: 'NotProgrammed', message: 'Programmed is not True' }
  await putStatus(
    client,
    NetworkInterfaceClaim,
    namespace,
    name,
    (status) => saying(...said, notReady)(held(seeded(status))),
    state,
  )
}

async function vpcPass(client: Client, namespace: string, state: State): Promise<void> {
  const context = await client.raw(
    { method: 'GET', path: `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkcontexts/net-here` },
    signal(),
  )
  const nic = await client.find(NetworkInterface, { name, namespace }, signal())
  if (!nic) return
  const [held] = (nic.spec as { addresses?: Address[] }).addresses ?? []
  if (!held) return
  const networks = ['fd20:0:0:1::/64']
  await ensure(client, Vpc, namespace, 'net-here', {
    metadata: { ownerReferences: ownerOf(context as KubeObject) },
    spec: { networks },
  })
  const ready = (message: string, reason: string) => saying(truth('Ready', reason, message))
  const identified: Change = (status) => ({ ...status, vpc: status.vpc ?? identity.vpc })
  const named = ready('It has its identifier', 'IdentifierAllocated')
  await putStatus(client, Vpc, namespace, 'net-here', (status) => named(identified(status)), state)
  const { vpc } = ((await client.find(Vpc, { name: 'net-here', namespace }, signal()))?.status ?? {}) as { vpc?: string }
  if (vpc === undefined) return
  const link = { name: 'eth0', mode: 'Netns', mtu: 1460, addresses: [held.address], gateways: [held.gateway] }
  const attachment = await ensure(client, Attachment, namespace, name, {
    metadata: { ownerReferences: ownerOf(nic) },
    spec: { vpc: { name: 'net-here' }, interface: link },
  })
  const given = await define(client, attachment, { vpc, attachment: identity.attachment }, held)
  const attached: Change = (status) => ({
    ...status,
    ...{ vpc, vpcAttachment: given, networkAttachmentDefinition: name },
  })
  const defined = ready('It is attached', 'AttachmentDefinitionReady')
  await putStatus(client, Attachment, namespace, name, (status) => defined(attached(status)), state)
  const prepared = truth('Prepared', 'AttachmentReady', 'The attachment is ready')
  const attachmentRef = { apiGroup: cloud.group, kind: Attachment.kind, name }
  const referring: Change = (status) => saying(prepared)({ ...status, attachmentRef, vpc })
  await putStatus(client, NetworkInterface, namespace, name, referring, state)
  await putStatus(client, NetworkInterfaceClaim, namespace, name, saying(prepared), state)
}

/** The attachment's identifier: that of the definition's labels where it stands. Writes the definition where it differs. */
async function define(client: Client, attachment: KubeObject, of: typeof identity, held: Address): Promise<string> {
  const { namespace = '' } = attachment.metadata
  const metadata = { labels: labelsOf(of), ownerReferences: ownerOf(attachment) }
  const stands = await ensure(client, Definition, namespace, name, { metadata, spec: { config: configOf(of, held) } })
  const given = stands.metadata.labels?.[labelKeys.attachment] ?? of.attachment
  const config = configOf({ vpc: of.vpc, attachment: given }, held)
  if ((stands.spec as { config?: string }).config === config) return given
  const path = pathOf(Definition, { name, namespace })
  await client.raw({ method: 'PUT', path, body: { ...stands, spec: { config } } }, signal())
  return given
}

/** What users and propagation bring: the network here, its range, and the claim. */
export function userObjects(namespace: string): object[] {
  const of = (kind: string, called: string) => ({
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind,
    metadata: { name: called, ...(kind === 'ServingLocation' ? {} : { namespace }) },
  })
  const range = { ipFamily: 'IPv6', startAddress: 'fd20:0:0:1::', prefixLength: 64, subnetClass: 'private' }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { ...of('ServingLocation', 'here'), spec: { topology: { 'topology.datum.net/city-code': 'XXX' } } },
    {
      ...of('NetworkContext', 'net-here'),
      spec: { network: { name: 'net' }, location: { name: 'here' }, ipFamilies: ['IPv6'], mtu: 1460 },
    },
    { ...of('Subnet', 'net-here-ipv6'), spec: { ...range, networkContext: { name: 'net-here' }, location: { name: 'here' } } },
    { ...of('NetworkInterfaceClaim', name), spec: { network: { name: 'net' } } },
  ]
}
