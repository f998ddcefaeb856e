/** What data planes make for attachments: objects of a namespace, of whatever kind the server serves. */
import { ApiError, ConnectionBroken, type JsonPatchOperation, type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import type { Bench } from './bench.ts'
import type { World } from './world.ts'

export type Found = { readonly kind: Kind; readonly object: KubeObject }

/** Everything but events, and what is asked for itself. */
export async function objectsIn({ bench, owner, attachments, networks, signal }: World): Promise<readonly Found[]> {
  const asked = [attachments.kind.plural, networks?.kind.plural]
  const kinds = (await bench.servedKinds(signal)).filter(
    ({ scope, group, plural }) =>
      scope === 'Namespaced' && plural !== 'events' && !(group === attachments.kind.group && asked.includes(plural)),
  )
  const found = await Promise.all(
    kinds.map(async (kind) => (await listed(bench, kind, owner.namespace, signal)).map((object): Found => ({ kind, object }))),
  )
  return found.flat()
}

/**
 * What tells of this case outside of its namespace, in the data plane’s own group: without a namespace, or in another. The name of the
 * namespace is this run’s alone.
 */
export async function tellingOf({ bench, owner, attachments, signal }: World): Promise<readonly Found[]> {
  const kinds = (await bench.servedKinds(signal)).filter(({ group }) => group === attachments.kind.group)
  const found = await Promise.all(
    kinds.map(async (kind) => (await listed(bench, kind, undefined, signal)).map((object) => ({ kind, object }))),
  )
  return found
    .flat()
    .filter(({ object }) => object.metadata.namespace !== owner.namespace && JSON.stringify(object).includes(owner.namespace))
}

async function listed(
  { client }: Bench,
  kind: Kind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    const answer = await client.raw({ method: 'GET', path: pathOf(kind, namespace === undefined ? {} : { namespace }) }, signal)
    return (answer as { items?: readonly KubeObject[] }).items ?? []
  } catch (error) {
    // A kind that went meanwhile, or of a server that does not answer, holds nothing of interest.
    if (signal.aborted || error instanceof ConnectionBroken) throw error
    return []
  }
}

const ownManagers: readonly unknown[] = ['kube-controller-manager', 'kube-apiserver', 'kube-scheduler']

/** What Kubernetes itself puts into each namespace comes in its own time. */
export function isOfKubernetes({ kind, object: { metadata } }: Found): boolean {
  const { managedFields = [] } = metadata
  const isAccount = kind.plural === 'serviceaccounts' && metadata.name === 'default'
  return isAccount || (managedFields.length > 0 && managedFields.every(({ manager }) => ownManagers.includes(manager)))
}

export const named = ({ kind, object }: Found): string => `${kind.kind} ${object.metadata.name}`

/** Of the suite. */
export const holdingFinalizer = 'conformance.example.com/stay'

/** Has these objects stay after their deletion, until they are let go; answers those for which the server allowed it. */
export async function hold(world: World, found: readonly Found[]): Promise<readonly Found[]> {
  const held: Found[] = []
  for (const each of found) {
    const { finalizers } = each.object.metadata
    const add = finalizers
      ? { path: '/metadata/finalizers/-', value: holdingFinalizer }
      : { path: '/metadata/finalizers', value: [holdingFinalizer] }
    if (await patched(world, each, [{ op: 'add', ...add }])) held.push(each)
  }
  return held
}

/** Others may have finalizers there too, which come and go: the place of this one is looked for each time. */
export async function letGo(world: World, held: readonly Found[]): Promise<void> {
  const { bench, owner, signal } = world
  for (const each of held) {
    const at = { name: each.object.metadata.name, namespace: owner.namespace }
    for (let isHeld = true; isHeld; ) {
      const now = await bench.client.find(each.kind, at, signal)
      const index =
        now?.metadata.uid === each.object.metadata.uid ? (now?.metadata.finalizers?.indexOf(holdingFinalizer) ?? -1) : -1
      const path = `/metadata/finalizers/${index}`
      isHeld =
        index >= 0 &&
        !(await patched(world, each, [
          { op: 'test', path, value: holdingFinalizer },
          { op: 'remove', path },
        ]))
    }
  }
}

/** False where the server does not take it: the object has gone or changed, or a policy guards it. */
async function patched(
  { bench, owner, signal }: World,
  { kind, object }: Found,
  patch: readonly JsonPatchOperation[],
): Promise<boolean> {
  const at = { name: object.metadata.name, namespace: owner.namespace }
  const tests: JsonPatchOperation[] = [{ op: 'test', path: '/metadata/uid', value: object.metadata.uid }]
  try {
    await bench.client.jsonPatch(kind, at, [...tests, ...patch], bench.by, signal)
    return true
  } catch (error) {
    if (error instanceof ApiError && [403, 404, 409, 422].includes(error.status)) return false
    throw error
  }
}
