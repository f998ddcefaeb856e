/** What rows of a race table do and wait for, as the administrator. */
import assert from 'node:assert/strict'
import { apiVersionOf, type Kind, type KubeObject, keyFor, pathOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { NetworkAttachmentDefinition } from '../src/index.ts'
import type { RaceWorld } from './race-world.ts'
import { by, never } from './world.ts'

export type RacePlace = Pick<RaceWorld, 'client' | 'namespace' | 'trespass'>

export const read = <S, T>({ client, namespace }: RacePlace, kind: Kind<S, T>, name: string) =>
  client.find(kind, { name, namespace }, never)

export async function change({ client, namespace }: RacePlace, kind: Kind, name: string, patch: unknown): Promise<void> {
  const path = pathOf(kind, { name, namespace })
  const contentType = 'application/merge-patch+json'
  await client.raw({ method: 'PATCH', path, query: by, contentType, body: patch }, never)
}

/** Sets all of them; `ours` is the one that the table documents. */
export async function setFinalizers(
  world: RacePlace,
  kind: Kind,
  name: string,
  finalizers: readonly string[] | null,
  ours: string,
): Promise<void> {
  world.trespass(kind.kind, name, `metadata.finalizers/${ours}`)
  await change(world, kind, name, { metadata: { finalizers } })
}

export async function setConfig(world: RacePlace, name: string, config: string): Promise<void> {
  world.trespass('NetworkAttachmentDefinition', name, 'spec')
  await change(world, NetworkAttachmentDefinition, name, { spec: { config } })
}

export const remove = ({ client, namespace }: RacePlace, kind: Kind, name: string) =>
  client.remove(kind, { name, namespace }, {}, never)

/** Makes it gone whatever finalizers hold it. Another one may have its name then. */
export async function strip(world: RacePlace, kind: Kind, name: string, ours: string): Promise<void> {
  const { uid } = (await read(world, kind, name))?.metadata ?? {}
  await remove(world, kind, name)
  const stands = await read(world, kind, name)
  if (stands?.metadata.uid === uid) await setFinalizers(world, kind, name, null, ours)
  await eventually(`${kind.kind} ${name} is gone`, async () => (await read(world, kind, name))?.metadata.uid !== uid)
}

export const absent = (world: RacePlace, kind: Kind, name: string) =>
  eventually(`${kind.kind} ${name} is gone`, async () => !(await read(world, kind, name)))

/** The object is gone, or does not carry the finalizer any more. */
export async function letGo(world: RacePlace, kind: Kind, name: string, held: string): Promise<void> {
  await eventually(`${kind.kind} ${name} is let go`, async () => {
    return !(await read(world, kind, name))?.metadata.finalizers?.includes(held)
  })
}

export async function holds(world: RacePlace, kind: Kind, name: string, held: string): Promise<void> {
  await eventually(`${kind.kind} ${name} carries ${held}`, async () => {
    return (await read(world, kind, name))?.metadata.finalizers?.includes(held)
  })
}

const namespaceKind: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** From now on the server refuses creates there. */
export async function endNamespace({ client, namespace }: RacePlace): Promise<void> {
  await client.remove(namespaceKind, { name: namespace }, {}, never)
}

export async function namespaceIsGone({ client, namespace }: RacePlace): Promise<void> {
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
export async function makeStranger(world: RacePlace, name: string): Promise<void> {
  const { client, namespace } = world
  world.trespass('NetworkAttachmentDefinition', name, 'spec')
  const definition: KubeObject<{ config?: string }> = {
    apiVersion: apiVersionOf(NetworkAttachmentDefinition),
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace },
    spec: { config: '{}' },
  }
  const stands = await client.create(NetworkAttachmentDefinition, definition, by, never)
  strangers.set(keyFor(name, namespace), stands.metadata.uid ?? '')
}

/** It still stands, as it was made. */
export async function strangerStands(world: RacePlace, name: string): Promise<void> {
  const stands = await read(world, NetworkAttachmentDefinition, name)
  assert.equal(stands?.metadata.uid, strangers.get(keyFor(name, world.namespace)))
  assert.equal(stands?.metadata.deletionTimestamp, undefined)
  assert.equal(stands?.spec.config, '{}')
}
