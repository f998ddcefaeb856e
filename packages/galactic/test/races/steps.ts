/** What rows of the race table do and wait for, as the administrator. */
import assert from 'node:assert/strict'
import { apiVersionOf, type Kind, type KubeObject, keyFor, pathOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { finalizer, managers, NetworkAttachmentDefinition, VPC, VPCAttachment } from '../../src/api/index.ts'
import { attachmentIs, attachmentOf, by, conditionOf, isReady, never, vpcOf } from '../harness.ts'
import type { RaceWorld } from './world.ts'

export const otherFinalizer = 'example.dev/other'
/** Of the VPC, and of the attachment with its definition. */
export const net = 'net'
export const web = 'web-0'

type At = Pick<RaceWorld, 'client' | 'namespace' | 'trespass'>
type Meta = { finalizers?: string[] }

export const read = <S, T>({ client, namespace }: At, kind: Kind<S, T>, name: string) =>
  client.find(kind, { name, namespace }, never)

export async function change({ client, namespace }: At, kind: Kind, name: string, patch: unknown): Promise<void> {
  const path = pathOf(kind, { name, namespace })
  const contentType = 'application/merge-patch+json'
  await client.raw({ method: 'PATCH', path, query: by, contentType, body: patch }, never)
}

export async function setFinalizers(world: At, kind: Kind, name: string, finalizers: readonly string[] | null): Promise<void> {
  world.trespass(kind.kind, name, `metadata.finalizers/${finalizer}`)
  await change(world, kind, name, { metadata: { finalizers } })
}

export async function setConfig(world: At, config: string): Promise<void> {
  world.trespass('NetworkAttachmentDefinition', web, 'spec')
  await change(world, NetworkAttachmentDefinition, web, { spec: { config } })
}

export const remove = ({ client, namespace }: At, kind: Kind, name: string) => client.remove(kind, { name, namespace }, {}, never)

/** A status as another leader would have written it. */
export async function writeStatus(world: At, kind: Kind, name: string, status: object): Promise<void> {
  const { client, namespace } = world
  world.trespass(kind.kind, name, 'status')
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace }, status }
  const fieldManager = kind.kind === 'VPC' ? managers.vpc : managers.attachment
  await client.apply(kind, { name, namespace, subresource: 'status' }, body, { fieldManager, force: true }, never)
}

const theirs = 'as earlier software says'

/** Writes `Ready` as software that knows no apply. */
export async function writeAsEarlier(world: At, kind: Kind, name: string): Promise<void> {
  const { client, namespace } = world
  world.trespass(kind.kind, name, 'status')
  const { conditions = [] } = ((await read(world, kind, name))?.status ?? {}) as { conditions?: { type: string }[] }
  const status = { conditions: conditions.map((each) => (each.type === 'Ready' ? { ...each, message: theirs } : each)) }
  const path = pathOf(kind, { name, namespace, subresource: 'status' })
  const query = { fieldManager: 'vpc-controller' }
  await client.raw({ method: 'PATCH', path, query, contentType: 'application/merge-patch+json', body: { status } }, never)
}

/** The status is the documented writer's alone. */
export async function isTakenOver(world: At, kind: Kind, name: string): Promise<void> {
  await eventually(`${kind.kind} ${name} is taken over`, async () => {
    const object = await read(world, kind, name)
    assert.ok(!JSON.stringify(object?.status).includes(theirs))
    assert.ok(!object?.metadata.managedFields?.some(({ manager }) => manager === 'vpc-controller'))
    return object !== undefined
  })
}

/** Makes it gone whatever finalizers hold it. Another one may have its name then. */
export async function strip(world: At, kind: Kind, name: string): Promise<void> {
  const { uid } = (await read(world, kind, name))?.metadata ?? {}
  await remove(world, kind, name)
  const stands = await read(world, kind, name)
  if (stands?.metadata.uid === uid) await setFinalizers(world, kind, name, null)
  await eventually(`${kind.kind} ${name} is gone`, async () => (await read(world, kind, name))?.metadata.uid !== uid)
}

export const absent = (world: At, kind: Kind, name: string) =>
  eventually(`${kind.kind} ${name} is gone`, async () => !(await read(world, kind, name)))

/** The object is gone, or does not carry the finalizer any more. */
export async function letGo(world: At, kind: Kind, name: string, held: string): Promise<void> {
  await eventually(`${kind.kind} ${name} is let go`, async () => {
    return !(await read(world, kind, name))?.metadata.finalizers?.includes(held)
  })
}

export async function holds(world: At, kind: Kind, name: string, held: string): Promise<void> {
  await eventually(`${kind.kind} ${name} carries ${held}`, async () => {
    return (await read(world, kind, name))?.metadata.finalizers?.includes(held)
  })
}

export const makeVpc = ({ client, namespace }: At, meta: Meta = {}) => client.create(VPC, vpcOf(namespace, net, meta), by, never)

export const makeAttachment = ({ client, namespace }: At, meta: Meta = {}) =>
  client.create(VPCAttachment, attachmentOf(namespace, web, net, {}, meta), by, never)

export async function vpcIsReady(world: At): Promise<void> {
  await eventually('the VPC has its identifier', async () => {
    return conditionOf(await read(world, VPC, net), 'Ready') === 'True IdentifierAllocated'
  })
}

export async function readyVpc(world: At, meta: Meta = {}): Promise<void> {
  await makeVpc(world, meta)
  await vpcIsReady(world)
}

export async function attachmentIsReady(world: At): Promise<void> {
  await attachmentIs(world.client, { namespace: world.namespace, name: web }, 'ready', isReady)
  const definition = await read(world, NetworkAttachmentDefinition, web)
  assert.equal(definition?.metadata.deletionTimestamp, undefined)
}

export async function readyAttachment(world: At, meta: Meta = {}): Promise<void> {
  await readyVpc(world)
  await makeAttachment(world, meta)
  await attachmentIsReady(world)
}

/** Attachment and definition are gone. */
export async function detached(world: At): Promise<void> {
  await absent(world, VPCAttachment, web)
  await absent(world, NetworkAttachmentDefinition, web)
}

const namespaceKind: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** From now on the server refuses creates there. */
export async function endNamespace({ client, namespace }: At): Promise<void> {
  await client.remove(namespaceKind, { name: namespace }, {}, never)
}

export async function namespaceIsGone({ client, namespace }: At): Promise<void> {
  const slow = { timeoutMs: 60_000, everyMs: 200 }
  await eventually('the namespace is gone', async () => !(await client.find(namespaceKind, { name: namespace }, never)), slow)
}

/** A create of this kind was sent and answered well. */
export async function wasMade({ bed }: RaceWorld, kind: Kind): Promise<void> {
  const match = { method: 'POST', path: new RegExp(`/${kind.plural}$`) } as const
  await eventually(`a ${kind.kind} was made`, () => bed.wire.sent(match).some(({ response }) => response?.status === 201))
}

const strangers = new Map<string, string>()

/** A definition that nobody of ours made. */
export async function makeStranger(world: At): Promise<void> {
  const { client, namespace } = world
  world.trespass('NetworkAttachmentDefinition', web, 'spec')
  const definition: KubeObject<{ config?: string }> = {
    apiVersion: apiVersionOf(NetworkAttachmentDefinition),
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: web, namespace },
    spec: { config: '{}' },
  }
  const stands = await client.create(NetworkAttachmentDefinition, definition, by, never)
  strangers.set(keyFor(web, namespace), stands.metadata.uid ?? '')
}

/** It still stands, as it was made. */
export async function strangerStands(world: At): Promise<void> {
  const stands = await read(world, NetworkAttachmentDefinition, web)
  assert.equal(stands?.metadata.uid, strangers.get(keyFor(web, world.namespace)))
  assert.equal(stands?.metadata.deletionTimestamp, undefined)
  assert.equal(stands?.spec.config, '{}')
}
