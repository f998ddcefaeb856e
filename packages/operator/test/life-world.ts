// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** The world in which tests bring, change and delete DataPlanes: none stands at first, and each test leaves none behind. */
import { after, before, beforeEach } from 'node:test'
import { AddressLease, annotations, DataPlane, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { crdOf, type KubeObject } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { ToyNetwork } from './races/world.ts'
import { ToyAttachment, toyManifests } from './toy-plane.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  location,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane, ToyAttachment, ToyNetwork)

export const networkRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'nso-data-plane-toy-networks', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
  rules: [{ apiGroups: ['toy.example.dev'], resources: ['toynetworks'], verbs: ['get', 'list', 'watch', 'create', 'delete'] }],
}

/** What runs while the tests of one file do; NSO may be stopped and started in between. */
export const life = {} as { world: World; nso: Running }

/** Registers the hooks of one file of tests. */
export function startLife(): void {
  before(async () => {
    life.world = await startWorld()
    // The world's own plane serves nobody here: each test brings those that it is about.
    await remove(life.world.client, DataPlane, undefined, 'toy')
    await life.world.plane.apply([crdOf(ToyNetwork), networkRole] as never)
    life.nso = await life.world.startNso()
  })
  after(() => life.world[Symbol.asyncDispose]())
  beforeEach(cleared)
}

async function cleared(): Promise<void> {
  life.world.toy.behave({ prepares: true, programs: true, letsGo: true })
  // What a test that failed left would serve the next one too.
  for (const { metadata } of (await life.world.client.list(DataPlane, {}, AbortSignal.timeout(30_000))).items) {
    await drop(metadata.name)
    await strip(life.world, DataPlane, undefined, metadata.name).catch(() => undefined)
  }
  // A network is present for one test: a DataPlane makes an object for each that it finds.
  for (const namespace of places.splice(0)) {
    for (const { metadata } of await listed(life.world.client, NetworkInterfaceClaim, namespace)) {
      await remove(life.world.client, NetworkInterfaceClaim, namespace, metadata.name)
    }
    for (const { metadata } of await listed(life.world.client, NetworkContext, namespace)) {
      await remove(life.world.client, NetworkContext, namespace, metadata.name)
    }
  }
}

const places: string[] = []

export async function place(given: Parameters<World['place']>[0]): Promise<string> {
  const namespace = await life.world.place(given)
  places.push(namespace)
  return namespace
}

type Spec = Partial<DataPlane['spec']>
export const toySpec = (toyManifests().plane as unknown as DataPlane).spec
export const withNetwork = {
  network: {
    apiVersion: 'toy.example.dev/v1',
    kind: 'ToyNetwork',
    spec: { networks: '${subnets.map(s, s.cidr)}' },
  },
} satisfies Spec

export const planeOf = (name: string, spec: Spec = {}) =>
  ({
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name },
    spec: { ...toySpec, locations: [location], ...spec },
  }) as unknown as DataPlane

/** Made and in use. */
export async function bring(name: string, spec: Spec = {}): Promise<DataPlane> {
  await create(life.world.client, planeOf(name, spec))
  return planeSays(name, 'True Accepted')
}

export const planeAt = (name: string) => find(life.world.client, DataPlane, undefined, name)

export const acceptedOf = (plane: DataPlane | undefined) =>
  plane?.status?.conditions?.find(({ type }) => type === 'Accepted')?.message ?? ''

export const preparedOf = (one: NetworkInterfaceClaim | NetworkInterface | undefined) =>
  one?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? ''

export function planeSays(name: string, what: string, message = /./): Promise<DataPlane> {
  return eventually(`DataPlane ${name} says Accepted ${what} ${message}`, async () => {
    const plane = await planeAt(name)
    if (said(plane, 'Accepted') !== what || !message.test(acceptedOf(plane))) {
      throw new Error(JSON.stringify(plane?.status?.conditions ?? 'no such plane'))
    }
    return plane as DataPlane
  })
}

export const planeIsGone = (name: string) =>
  eventually(`DataPlane ${name} is gone`, async () => {
    const plane = await planeAt(name)
    if (plane) throw new Error(JSON.stringify(plane.status?.conditions))
    return true
  })

export const always = Number.MAX_SAFE_INTEGER

export const attachmentsOf = (name: string) => life.nso.operator.planes.get(name)?.plane.attachments

export const drop = (name: string) => remove(life.world.client, DataPlane, undefined, name)
export const change = (name: string, spec: object) => merge(life.world.client, DataPlane, undefined, name, { spec })
export const ready = (namespace: string, name = 'web-0') => claimSays(life.world.client, namespace, name, 'Ready', 'True Ready')

export async function claimed(namespace: string, name = 'web-0', spec: Parameters<typeof aClaim>[2] = {}) {
  await create(life.world.client, aClaim(namespace, name, spec))
  return ready(namespace, name)
}

export async function attachmentOf(namespace: string, name = 'web-0') {
  return (await find(life.world.client, ToyAttachment, namespace, name)) as
    | KubeObject<{ mtu?: number; note?: string }>
    | undefined
}

export async function choiceOf(namespace: string, name = 'web-0') {
  const nic = await find(life.world.client, NetworkInterface, namespace, name)
  return nic?.metadata.annotations?.[annotations.dataPlane]?.split('/')[0]
}

/** Deletes claims and waits for their interfaces' end. */
export async function release(namespace: string, ...names: string[]) {
  for (const name of names) await remove(life.world.client, NetworkInterfaceClaim, namespace, name)
  for (const name of names) await gone(life.world.client, NetworkInterfaceClaim, namespace, name)
}

/** What NSO did to attachments while `act` ran. */
export async function attachmentWritesDuring(namespace: string, act: () => Promise<unknown>): Promise<string[]> {
  const writes = await life.world.writesDuring(act)
  return writes
    .filter((each) => each.resource === 'toyattachments' && each.namespace === namespace && each.user.endsWith(':nso'))
    .map(({ verb, name, subresource }) => [verb, name, subresource].filter(Boolean).join(' '))
}

export function context(namespace: string): NetworkContext {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'NetworkContext',
    metadata: { name: 'net-here', namespace },
    spec: { network: { name: 'net' }, location: { name: location }, ipFamilies: ['IPv6'], mtu: 1460 },
  }
}

export function subnet(namespace: string): Subnet {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Subnet',
    metadata: { name: 'net-here-0', namespace },
    spec: {
      subnetClass: 'private',
      networkContext: { name: 'net-here' },
      location: { name: location },
      ipFamily: 'IPv6',
      startAddress: 'fd20:0:0:1::',
      prefixLength: 64,
    },
  } as Subnet
}
