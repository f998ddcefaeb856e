/** What only the rows of Galactic do and wait for, as the administrator. */
import assert from 'node:assert/strict'
import { apiVersionOf, type Kind, pathOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { type RacePlace, read, strip as stripOf } from 'kube-multus/testing/planes'
import { finalizer, managers, VPC, VPCAttachment } from '../../src/api/index.ts'
import { attachmentIs, attachmentOf, by, conditionOf, isReady, never, vpcOf } from '../harness.ts'

/** Of the VPC, and of the attachment with its definition. */
export const net = 'net'
export const web = 'web-0'

type Meta = { finalizers?: string[] }

/** A status as another leader would have written it. */
export async function writeStatus(world: RacePlace, kind: Kind, name: string, status: object): Promise<void> {
  const { client, namespace } = world
  world.trespass(kind.kind, name, 'status')
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace }, status }
  const fieldManager = kind.kind === 'VPC' ? managers.vpc : managers.attachment
  await client.apply(kind, { name, namespace, subresource: 'status' }, body, { fieldManager, force: true }, never)
}

const theirs = 'as earlier software says'

/** Writes `Ready` as software that knows no apply. */
export async function writeAsEarlier(world: RacePlace, kind: Kind, name: string): Promise<void> {
  const { client, namespace } = world
  world.trespass(kind.kind, name, 'status')
  const { conditions = [] } = ((await read(world, kind, name))?.status ?? {}) as { conditions?: { type: string }[] }
  const status = { conditions: conditions.map((each) => (each.type === 'Ready' ? { ...each, message: theirs } : each)) }
  const path = pathOf(kind, { name, namespace, subresource: 'status' })
  const query = { fieldManager: 'vpc-controller' }
  await client.raw({ method: 'PATCH', path, query, contentType: 'application/merge-patch+json', body: { status } }, never)
}

/** The status is the documented writer's alone. */
export async function isTakenOver(world: RacePlace, kind: Kind, name: string): Promise<void> {
  await eventually(`${kind.kind} ${name} is taken over`, async () => {
    const object = await read(world, kind, name)
    assert.ok(!JSON.stringify(object?.status).includes(theirs))
    assert.ok(!object?.metadata.managedFields?.some(({ manager }) => manager === 'vpc-controller'))
    return object !== undefined
  })
}

/** Makes it gone whatever finalizers hold it. */
export const strip = (world: RacePlace, kind: Kind, name: string) => stripOf(world, kind, name, finalizer)

export const makeVpc = ({ client, namespace }: RacePlace, meta: Meta = {}) =>
  client.create(VPC, vpcOf(namespace, net, meta), by, never)

export const makeAttachment = ({ client, namespace }: RacePlace, meta: Meta = {}) =>
  client.create(VPCAttachment, attachmentOf(namespace, web, net, {}, meta), by, never)

export async function vpcIsReady(world: RacePlace): Promise<void> {
  await eventually('the VPC has its identifier', async () => {
    return conditionOf(await read(world, VPC, net), 'Ready') === 'True IdentifierAllocated'
  })
}

export async function readyVpc(world: RacePlace): Promise<void> {
  await makeVpc(world)
  await vpcIsReady(world)
}

export async function attachmentIsReady({ client, namespace }: RacePlace): Promise<void> {
  await attachmentIs(client, { namespace, name: web }, 'ready', isReady)
}
