/**
 * One case’s namespace: its owner object, the journals of the data plane’s kinds, and what the requester does there. It does as
 * NSO does: creates by name, changes by JSON patch that tests uid and old values, deletes by uid; it never writes a status.
 */
import { randomUUID } from 'node:crypto'
import { difference, type PlaneReport, type Rendered } from '@nso/operator'
import { ApiError, type JsonPatchOperation, type Kind, type KubeObject, linkedSignal } from 'kube-control-loop'
import { attachmentKindOf, type Bench } from './bench.ts'
import { malformedIn } from './cases/well-formed.ts'
import { type Journal, keepJournal } from './journal.ts'
import { attachmentFor, networkFor, type Owner, ordinary, scopeOf, type Wish } from './requester.ts'
import { CaseFailed } from './verdict.ts'
import { quiet, until, type Waiting } from './wait.ts'

export type World = {
  readonly bench: Bench
  readonly owner: Owner
  readonly signal: AbortSignal
  readonly attachments: Journal
  readonly networks: Journal | undefined
  /** What the templates make of a wish, as it would be sent. */
  rendering(wish: Wish): Rendered
  networkBody(name?: string): KubeObject | undefined
  /** Makes the network object under this name, if the data plane has one. */
  makeNetwork(name?: string): Promise<KubeObject | undefined>
  make(wish: Wish): Promise<KubeObject>
  /** Changes the attachment to what the wish renders; answers it as it is afterwards, undefined when the schema refuses. */
  change(attachment: KubeObject, wish: Wish): Promise<KubeObject | undefined>
  /** Asks for the deletion of exactly this object. */
  remove(object: KubeObject): Promise<void>
  /** What the report says of this version. */
  report(attachment: KubeObject, wish: Wish): PlaneReport
  until<T>(what: string, look: () => T | undefined, limitMs?: number): Promise<T>
  /** False when something still changed after the patience was over. */
  quiet(quietMs: number): Promise<boolean>
  untilPrepared(wish: Wish): Promise<KubeObject>
  /** Until exactly this object is gone; another may have its name by then. */
  untilGone(object: KubeObject, limitMs?: number): Promise<void>
  /** Adds what was seen here to what the bench has seen; done at the end in any case. */
  learn(): void
}

const configMaps: Kind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', scope: 'Namespaced' }
export const namespaces: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

const farewellMs = 5000

/** Runs `inside` in a namespace of its own, which is removed afterwards with all that is in it. */
export async function inWorld<T>(
  bench: Bench,
  name: string,
  inside: (world: World) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const follow = linkedSignal(signal)
  const owner = await makeNamespace(bench, name, signal)
  try {
    const world = await open(bench, owner, follow.signal)
    try {
      return await inside(world)
    } finally {
      world.learn()
      if (!signal.aborted) await clear(world)
    }
  } finally {
    follow.abort(new Error('the case is over'))
    follow.release()
    if (!bench.keepsNamespaces) await removeNamespace(bench, owner, signal)
  }
}

async function removeNamespace({ client }: Bench, { namespace }: Owner, signal: AbortSignal): Promise<void> {
  // Also when the run was broken off: nothing of it stays on somebody’s cluster.
  const last = signal.aborted ? AbortSignal.timeout(farewellMs) : signal
  await client.remove(namespaces, { name: namespace }, {}, last).catch((error: unknown) => {
    // Gone already, or going: a case may have had it removed.
    const isGone = error instanceof ApiError && (error.status === 404 || error.status === 409)
    if (!signal.aborted && !isGone) throw error
  })
}

async function makeNamespace({ client, by }: Bench, name: string, signal: AbortSignal): Promise<Owner> {
  const namespace = `conformance-${name.slice(0, 40)}-${randomUUID().slice(0, 8)}`
  const labels = { 'app.kubernetes.io/managed-by': 'nso-conformance' }
  await client.create(
    namespaces,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels }, spec: {} },
    by,
    signal,
  )
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'requester', namespace }, spec: undefined }
  const owner = await client.create(configMaps, body, by, signal)
  return { namespace, name: 'requester', uid: owner.metadata.uid ?? '' }
}

async function open(bench: Bench, owner: Owner, signal: AbortSignal): Promise<World> {
  const { client, clock, view, dataPlane, by, networkKind, limits } = bench
  const kind = attachmentKindOf(bench)
  const following = { client, clock, namespace: owner.namespace, signal }
  const [attachments, networks] = await Promise.all([
    keepJournal(kind, following),
    networkKind ? keepJournal(networkKind, following) : undefined,
  ])
  const scope = (wish: Wish) => scopeOf(wish, owner, dataPlane)
  const waiting = (limitMs = limits.patienceMs): Waiting => ({
    ...{ clock, limitMs, signal },
    onChange(handler) {
      const undo = [attachments.onChange(handler), networks?.onChange(handler)]
      return () => {
        for (const each of undo) each?.()
      }
    },
    evidence: () => attachments.present.slice(0, 3).map(shown),
  })
  const world: World = {
    ...{ bench, owner, signal, attachments, networks },
    rendering: (wish) => attachmentFor(view, scope(wish), owner),
    networkBody: (name = ordinary.network) => networkFor(view, scope({ name: 'any', network: name }), owner),
    async makeNetwork(name) {
      const body = networkKind && world.networkBody(name)
      return body && (await client.create(networkKind, body, by, signal))
    },
    make: (wish) => client.create(kind, world.rendering(wish).body, by, signal),
    change: (attachment, wish) => change(world, attachment, wish),
    remove: (object) => remove(world, object),
    report: (attachment, wish) => {
      const { interface: nic, ...rest } = scope(wish)
      return view.translate({ interface: nic, attachment, scope: rest })
    },
    until(what, look, limitMs) {
      bench.waitsFor.what = what
      return until(what, look, waiting(limitMs))
    },
    quiet: (quietMs) => quiet(quietMs, waiting()),
    untilPrepared: (wish) => untilPrepared(world, wish),
    untilGone: async ({ kind: of, metadata: { name, uid } }, limitMs) => {
      const journal = of === networkKind?.kind ? networks : attachments
      const isGone = () => (journal?.get(name)?.metadata.uid === uid ? undefined : true)
      await world.until(`${of} ${name} is gone`, isGone, limitMs)
    },
    learn: () => learn(world),
  }
  return world
}

function untilPrepared(world: World, wish: Wish): Promise<KubeObject> {
  let last = 'there is no such object'
  const look = () => {
    const attachment = world.attachments.get(wish.name)
    if (!attachment) return undefined
    const { prepared } = world.report(attachment, wish)
    last = `${prepared.status} ${prepared.reason}: ${prepared.message}`
    return prepared.status === 'True' ? attachment : undefined
  }
  const overdue = (error: unknown) => {
    if (error instanceof CaseFailed) throw new CaseFailed(`${error.message}; it is ${last}`, error.evidence)
    throw error
  }
  return world.until(`Prepared of ${wish.name} is True`, look).catch(overdue)
}

async function change(world: World, attachment: KubeObject, wish: Wish): Promise<KubeObject | undefined> {
  const { bench, signal, rendering } = world
  const operations = difference(rendering(wish), attachment)
  if (operations.length === 0) return attachment
  const tests: JsonPatchOperation[] = [{ op: 'test', path: '/metadata/uid', value: attachment.metadata.uid }]
  try {
    const at = { name: wish.name, namespace: attachment.metadata.namespace }
    const kind = attachmentKindOf(bench)
    const changed = await bench.client.jsonPatch(kind, at, [...tests, ...operations], bench.by, signal)
    // What was said before the change, and is still the last that was told, must not be taken for an answer to it.
    await world.until(`the change of ${wish.name} is told`, () => (isTold(world, changed) ? true : undefined))
    return changed
  } catch (error) {
    if (error instanceof ApiError && error.status === 422 && error.causes.length > 0) return undefined
    throw error
  }
}

function isTold({ attachments }: World, { metadata: { name, uid, generation = 0 } }: KubeObject): boolean {
  const last = attachments.get(name)?.metadata
  return last === undefined || last.uid !== uid || (last.generation ?? 0) >= generation
}

async function remove({ bench, attachments, networks, signal }: World, object: KubeObject): Promise<void> {
  const kind = networks?.kind.kind === object.kind ? networks.kind : attachments.kind
  const { name, namespace, uid } = object.metadata
  try {
    await bench.client.remove(kind, { name, namespace }, uid === undefined ? {} : { uid }, signal)
  } catch (error) {
    // Gone already, or another object has the name.
    if (!(error instanceof ApiError && (error.status === 404 || error.status === 409))) throw error
  }
}

/** What every case sees in passing, and other ones need to know. */
function learn({ bench: { seen }, attachments, networks }: World): void {
  for (const { object } of [...attachments.versions, ...(networks?.versions ?? [])]) {
    for (const each of object.metadata.finalizers ?? []) seen.finalizers.add(each)
    const problems = malformedIn(object.status)
    if (problems.length > 0) seen.malformed.push({ problem: problems.join('; '), evidence: shown(object) })
  }
}

/**
 * Nothing of one case may be at work in the next. A data plane that does not let go is asked for once: then its finalizers are
 * taken off, here and at the end of every later case.
 */
async function clear(world: World): Promise<void> {
  const { bench, attachments, networks } = world
  const standing = () => [...attachments.present, ...(networks?.present ?? [])]
  await Promise.all(attachments.present.map(world.remove))
  await Promise.all((networks?.present ?? []).map(world.remove))
  const limitMs = bench.seen.holdsOn ? 0 : bench.plane.detachGraceMs + bench.limits.patienceMs
  try {
    await world.until('all is gone', () => (standing().length === 0 ? true : undefined), limitMs)
  } catch (error) {
    if (!(error instanceof CaseFailed)) throw error
    bench.seen.holdsOn = true
    await Promise.all(standing().map((object) => strip(world, object)))
  }
}

async function strip({ bench, attachments, networks, signal }: World, object: KubeObject): Promise<void> {
  const kind = networks?.kind.kind === object.kind ? networks.kind : attachments.kind
  const { name, namespace, finalizers = [] } = object.metadata
  if (finalizers.length === 0) return
  const patch: JsonPatchOperation[] = [
    { op: 'test', path: '/metadata/finalizers', value: finalizers },
    { op: 'remove', path: '/metadata/finalizers' },
  ]
  await bench.client.jsonPatch(kind, { name, namespace }, patch, bench.by, signal).catch(() => {})
}

/** An object as evidence: without what nobody reads. */
export function shown({ kind, metadata, spec, status }: KubeObject) {
  const { name, uid, generation, deletionTimestamp, finalizers } = metadata
  return JSON.parse(JSON.stringify({ kind, metadata: { name, uid, generation, deletionTimestamp, finalizers }, spec, status }))
}
