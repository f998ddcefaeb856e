/** What rows of the race table do and wait for, as the administrator. */
import assert from 'node:assert/strict'
import {
  AddressLease,
  DataPlane,
  finalizers,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  type Subnet,
} from '@nso/api'
import { apiVersionOf, type Kind, type KubeObject, keyFor } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from '../toy-plane.ts'
import { aContext, aSubnet, claimSays, create, find, listed, merge, remove, said } from '../world.ts'
import type { RaceWorld } from './world.ts'

/** The claim, its interface and its attachment. */
export const web = 'web-0'
export const otherFinalizer = 'example.dev/other'

type At = Pick<RaceWorld, 'client' | 'namespace' | 'trespass'>

const signal = () => AbortSignal.timeout(30_000)

export const read = <S, T>({ client, namespace }: At, kind: Kind<S, T>, name: string) => find(client, kind, namespace, name)

export const change = ({ client, namespace }: At, kind: Kind, name: string, patch: unknown) =>
  merge(client, kind, namespace, name, patch)

/** A change of what belongs to a controller; `path` as in the ownership table. */
export async function interfere(world: At, kind: Kind, name: string, path: string, patch: unknown): Promise<void> {
  world.trespass(kind.kind, name, path)
  await change(world, kind, name, patch)
}

export const setFinalizers = (world: At, kind: Kind, name: string, list: readonly string[] | null) =>
  interfere(world, kind, name, 'metadata.finalizers', { metadata: { finalizers: list } })

/** Asks for deletion and lets the finalizers' owners do their work. */
export async function end(world: At, kind: Kind, name: string): Promise<void> {
  const { uid } = (await read(world, kind, name))?.metadata ?? {}
  await remove(world.client, kind, world.namespace, name)
  await isOver(world, kind, name, uid)
}

/** Makes it gone whatever finalizers hold it. */
export async function strip(world: At, kind: Kind, name: string): Promise<void> {
  const { uid } = (await read(world, kind, name))?.metadata ?? {}
  await remove(world.client, kind, world.namespace, name)
  const stands = await read(world, kind, name)
  if (stands?.metadata.uid === uid) await setFinalizers(world, kind, name, null)
  await isOver(world, kind, name, uid)
}

/** The very object is gone; another one may have its name by now. */
async function isOver(world: At, kind: Kind, name: string, uid: string | undefined): Promise<void> {
  await eventually(`${kind.kind} ${name} is gone`, async () => (await read(world, kind, name))?.metadata.uid !== uid)
}

export const ready = ({ client, namespace }: At, name = web) => claimSays(client, namespace, name, 'Ready', 'True Ready')

export async function planeIsInOrder({ client, planeName }: RaceWorld): Promise<void> {
  await eventually('the DataPlane is in order', async () => {
    const plane = await find(client, DataPlane, undefined, planeName)
    for (const type of ['Accepted', 'Installed', 'Permitted']) assert.match(said(plane, type) ?? '', /^True/)
    return true
  })
}

/** A place where claims can become Ready without a wait that would end a row of failures. */
export async function place(world: RaceWorld): Promise<void> {
  await world.plane()
  await planeIsInOrder(world)
  await world.context()
}

export async function readyClaim(world: RaceWorld): Promise<void> {
  await place(world)
  await world.claim()
  await ready(world)
}

export async function nothing({ client, namespace }: At): Promise<void> {
  await eventually('claim, interface, attachment and lease are gone', async () => {
    for (const kind of [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, AddressLease] as Kind[]) {
      const left = await listed(client, kind, namespace)
      assert.deepEqual(
        left.map(({ metadata }) => metadata),
        [],
        kind.kind,
      )
    }
    return true
  })
}

export async function oneOfEach({ client, namespace }: At): Promise<void> {
  for (const kind of [NetworkInterface, AddressLease, ToyAttachment] as Kind[]) {
    assert.equal((await listed(client, kind, namespace)).length, 1, kind.kind)
  }
}

/** The object is gone, or does not carry the finalizer any more. */
export async function letGo(world: At, kind: Kind, name: string, finalizer: string): Promise<void> {
  await eventually(`${kind.kind} ${name} is let go`, async () => {
    const stands = await read(world, kind, name)
    return !stands?.metadata.finalizers?.includes(finalizer)
  })
}

export async function holds(world: At, kind: Kind, name: string, finalizer: string): Promise<void> {
  await eventually(`${kind.kind} ${name} carries ${finalizer}`, async () => {
    const stands = await read(world, kind, name)
    return stands?.metadata.finalizers?.includes(finalizer)
  })
}

const namespaceKind: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** From now on the server refuses creates there. */
export async function endNamespace({ client, namespace }: At): Promise<void> {
  await client.remove(namespaceKind, { name: namespace }, {}, signal())
}

export async function namespaceIsGone({ client, namespace }: At): Promise<void> {
  await eventually('the namespace is gone', async () => !(await client.find(namespaceKind, { name: namespace }, signal())), {
    timeoutMs: 60_000,
    everyMs: 200,
  })
}

const uids = new Map<string, string>()
const memo = ({ namespace }: At, name: string) => keyFor(name, namespace)

/** Makes an object that nobody of ours made, and remembers which it was. */
export async function makeForeign(world: At, object: KubeObject): Promise<void> {
  world.trespass(object.kind, object.metadata.name, 'spec')
  const stands = await create(world.client, object)
  uids.set(memo(world, object.metadata.name), stands.metadata.uid ?? '')
}

/** The very object that `makeForeign` made still stands and is not being deleted. */
export async function foreignStands<S, T>(world: At, kind: Kind<S, T>, name: string): Promise<KubeObject<S, T>> {
  const stands = await read(world, kind, name)
  assert.equal(stands?.metadata.uid, uids.get(memo(world, name)))
  assert.equal(stands?.metadata.deletionTimestamp, undefined)
  assert.deepEqual(stands?.metadata.ownerReferences ?? [], [])
  assert.ok(stands)
  return stands
}

/** A free interface on another network. */
export const strangeInterface = ({ namespace }: At): KubeObject => ({
  apiVersion: apiVersionOf(NetworkInterface),
  kind: 'NetworkInterface',
  metadata: { name: web, namespace },
  spec: { network: { name: 'elsewhere' }, addresses: [{ family: 'IPv6', address: 'fd20:0:0:9::/96', primary: true }] },
})

export const strangeAttachment = ({ namespace }: At): KubeObject => ({
  apiVersion: apiVersionOf(ToyAttachment),
  kind: 'ToyAttachment',
  metadata: { name: web, namespace },
  spec: {},
})

/** A claim that is never served, and so never lets go of a lease that is held in its name. */
export async function thief({ client, namespace }: At): Promise<string> {
  const claim = {
    apiVersion: apiVersionOf(NetworkInterfaceClaim),
    kind: 'NetworkInterfaceClaim',
    metadata: { name: 'thief', namespace },
    spec: { network: { name: 'elsewhere' } },
  }
  return (await create(client, claim as unknown as NetworkInterfaceClaim)).metadata.uid ?? ''
}

/** The lease of an address, in the name of whoever. */
export function leaseOf({ namespace }: At, name: string, address: string, claimName: string, claimUID: string): AddressLease {
  return {
    apiVersion: apiVersionOf(AddressLease),
    kind: 'AddressLease',
    metadata: { name, namespace },
    spec: {
      network: { name: 'net' },
      networkContext: { name: 'net-here' },
      family: 'IPv6',
      address,
      holder: { claimName, claimUID, family: 'IPv6' },
    },
  } as AddressLease
}

/** The one lease that stands, once there is one. */
export function theLease({ client, namespace }: At): Promise<AddressLease> {
  return eventually('a lease stands', async () => (await listed(client, AddressLease, namespace))[0])
}

/** The object in the first create of this kind that was sent. */
export function firstPosted(world: RaceWorld, kind: Kind): KubeObject {
  const body = world.bed.wire.sent({ method: 'POST', path: new RegExp(`/${kind.plural}$`) })[0]?.request.body
  assert.ok(body, `a ${kind.kind} was sent`)
  return body as KubeObject
}

/** A create of this kind was sent and answered well. */
export async function wasMade({ bed }: RaceWorld, kind: Kind): Promise<void> {
  const match = { method: 'POST', path: new RegExp(`/${kind.plural}$`) } as const
  await eventually(`a ${kind.kind} was made`, () => bed.wire.sent(match).some(({ response }) => response?.status === 201))
}

/** The network that standalone controllers bring here. */
export function network({ client, namespace }: At): Promise<Network> {
  return create(client, {
    apiVersion: apiVersionOf(Network),
    kind: 'Network',
    metadata: { name: 'net', namespace },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'] },
  } as unknown as Network)
}

const says = (object: Parameters<typeof said>[0], what: Record<string, string>) => {
  for (const [type, wanted] of Object.entries(what)) assert.equal(said(object, type), wanted)
  return true
}

/** The network is here: its context and that one's Subnet stand and are right. */
export async function networkIsHere(world: At): Promise<void> {
  await eventually('the network is here', async () => {
    const context = await read(world, NetworkContext, 'net-here')
    assert.ok(context && context.metadata.deletionTimestamp === undefined)
    assert.ok(context.metadata.finalizers?.includes(finalizers.contextSubnet))
    says(context, { Ready: 'True Ready', IPAMAllocated: 'True Allocated' })
    return says(await read(world, Network, 'net'), { Ready: 'True Ready', IPAMAllocated: 'True Allocated' })
  })
}

export async function noNetwork({ client, namespace }: At): Promise<void> {
  await eventually('network and contexts are gone', async () => {
    assert.equal(await find(client, Network, namespace, 'net'), undefined)
    assert.equal((await listed(client, NetworkContext, namespace)).length, 0)
    return true
  })
}

export const strangeContext = ({ namespace }: At): KubeObject => aContext(namespace)

export const strangeSubnet = ({ namespace }: At, name: string): Subnet => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'Subnet',
  metadata: { name, namespace },
  spec: { ...aSubnet('IPv6'), networkContext: { name: 'elsewhere' } },
})
