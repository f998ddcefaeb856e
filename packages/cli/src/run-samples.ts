/** Brings the sample claims to Ready on a running system, times each hop, and removes them again. */
import { Network, NetworkContext, NetworkInterfaceClaim, ServingLocation, Subnet } from '@nso/api'
import { type Change, type Kind, type KubeObject, keyOf, systemClock } from 'kube-control-loop'
import { type AddressSource, projectLabels } from './address-service.ts'
import { childHopOf, claimHopsOf, type Hop } from './follow.ts'
import type { Prepared } from './planes/data-plane.ts'
import type { ClaimTimes } from './report.ts'
import {
  claims,
  ipv4Subnet,
  isSample,
  network,
  sampleLabels,
  sampleLocation,
  sampleNamespace,
  servingLocation,
} from './samples.ts'
import { conditionsOf } from './tree.ts'
import { until } from './until.ts'
import { interfaceKeyOf, type World } from './world.ts'

const namespaceKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const
const asUser = { fieldManager: 'nso-cli' }
const inSamples = (name: string) => ({ name, namespace: sampleNamespace })

export function isTrue(object: KubeObject | undefined, type: string): boolean {
  return object !== undefined && conditionsOf(object).some((one) => one.type === type && one.status === 'True')
}

/** With the labels that an address service needs, where addresses come from one. */
export async function ensureNamespace(
  { client }: Pick<World, 'client'>,
  name: string,
  signal: AbortSignal,
  addresses: AddressSource = 'builtin',
): Promise<void> {
  const ofProject = addresses === 'ipam' ? projectLabels(name) : {}
  const standing = await client.find(namespaceKind, { name }, signal)
  if (standing) {
    const lacks = Object.entries(ofProject).some(([label, value]) => standing.metadata.labels?.[label] !== value)
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: ofProject } }
    if (lacks) await client.apply(namespaceKind, { name }, body, { ...asUser, force: true }, signal)
    return
  }
  const metadata = { name, labels: { ...sampleLabels, ...ofProject } }
  await client.create(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} }, asUser, signal)
}

/** The networks at this location, usable: their contexts stand and the data plane's network objects are Ready. */
export async function ensureNetworks(world: World, signal: AbortSignal, addresses: AddressSource = 'builtin'): Promise<void> {
  const { client, contexts, networkObjects } = world
  const locations = await client.list(ServingLocation, {}, signal)
  if (locations.items.length === 0) await client.create(ServingLocation, servingLocation() as never, asUser, signal)
  const location = locations.items.map(({ metadata }) => metadata.name).sort()[0] ?? sampleLocation
  const { samples, kinds } = world.dataPlane
  for (const name of samples.networks) {
    if (!(await client.find(Network, inSamples(name), signal)))
      await client.create(Network, network(name) as never, asUser, signal)
  }
  for (const name of samples.networks) {
    const context = keyOf({ metadata: inSamples(`${name}-${location}`) })
    const what = `${NetworkContext.kind} ${context}`
    if (addresses === 'ipam') {
      await until([contexts], () => contexts.get(context) !== undefined, { what, signal })
      const subnet = ipv4Subnet(`${name}-${location}`, location)
      if (!(await client.find(Subnet, subnet.metadata, signal))) await client.create(Subnet, subnet as never, asUser, signal)
    }
    await until([contexts, networkObjects], () => isTrue(networkObjects.get(context), 'Ready'), {
      what: `${what} and its ${kinds.networkObject.kind}`,
      signal,
    })
  }
}

/** Deletes claims that an earlier run left, unless told otherwise all of the namespace, and waits until they are gone. */
export async function removeOldClaims(
  world: World,
  signal: AbortSignal,
  isOld: (claim: KubeObject) => boolean = () => true,
): Promise<void> {
  const old = () => [...world.claims.values()].filter(isOld)
  await Promise.all(
    old().map(({ metadata: { name, namespace, uid } }) =>
      world.client.remove(NetworkInterfaceClaim, { name, namespace }, uid ? { uid } : {}, signal),
    ),
  )
  await until([world.claims], () => old().length === 0, { what: 'the claims of an earlier run are gone', signal })
}

/**
 * Deletes the sample claims, their networks and namespace, and waits until nothing of them needs a controller any more. What
 * lacks the samples' label stays.
 */
export async function removeSamples(world: World, signal: AbortSignal): Promise<void> {
  const { client, dataPlane } = world
  await removeOldClaims(world, signal, isSample)
  for (const name of dataPlane.samples.networks) await removeNetwork(world, name, signal)
  await removeSample(client, ServingLocation, { name: sampleLocation }, signal)
  await removeSample(client, namespaceKind, { name: sampleNamespace }, signal)
}

async function removeNetwork({ client, contexts, networkObjects }: World, name: string, signal: AbortSignal): Promise<void> {
  const standing = await client.find(Network, inSamples(name), signal)
  if (!standing || !isSample(standing)) return
  const keys = [...contexts.values()].filter(({ spec }) => isOf(spec, name)).map(keyOf)
  const subnets = await client.list(Subnet, { namespace: sampleNamespace }, signal)
  for (const { metadata } of subnets.items.filter(isSample)) await client.remove(Subnet, metadata, {}, signal)
  await client.remove(Network, inSamples(name), {}, signal)
  while (await client.find(Network, inSamples(name), signal)) await systemClock.sleep(100, signal)
  // The garbage collector would, up to half a minute later, when nobody is left to remove the finalizers.
  const { kind } = networkObjects
  const orphans = () => keys.flatMap((key) => networkObjects.get(key) ?? [])
  for (const { metadata } of orphans()) await client.remove(kind, metadata, {}, signal)
  await until([networkObjects], () => orphans().length === 0, { what: `the ${kind.kind} of the samples is gone`, signal })
}

function isOf(spec: unknown, name: string): boolean {
  return (spec as { network?: { name?: string } } | undefined)?.network?.name === name
}

async function removeSample(client: World['client'], kind: Kind, at: { name: string }, signal: AbortSignal): Promise<void> {
  const found = await client.find(kind, at, signal)
  if (found && isSample(found)) await client.remove(kind, at, {}, signal)
}

export type BringOptions = {
  /** Called with each hop of a claim, as a line; the name is the claim's. */
  show: (line: string, name: string) => void
  /** Called when a claim is Ready, with how many are. */
  ready?: (count: number) => void
  /** Called once for each claim that has become Prepared, with the attachment. What it rejects with fails the run. */
  prepared?: ((prepared: Prepared) => Promise<void>) | undefined
  /** Condition that ends the wait; Ready unless said otherwise. */
  goal?: Goal
  signal: AbortSignal
}

export type Goal = 'Prepared' | 'Ready'

/** Creates the claims at once and resolves when each has reached the goal (or rejects at the limit) with the times since each one's creation. */
export async function bringToReady(world: World, count: number, options: BringOptions): Promise<ClaimTimes[]> {
  const { show, ready = () => {}, goal = 'Ready', signal } = options
  const using = useOnce(world, options)
  const started = performance.now()
  const sent = new Map<string, number>()
  const times = new Map<string, ClaimTimes>()
  let readyCount = 0
  const sinceSent = (key: string) => performance.now() - (sent.get(key) ?? started)
  const tell = (hops: readonly Hop[]) => {
    for (const { claim, text, good } of hops) {
      const name = claim.split('/').at(-1) ?? claim
      show(`${good ? ' ' : '!'} ${`${sinceSent(claim).toFixed(0)} ms`.padStart(9)}  ${name.padEnd(8)} ${text}`, name)
    }
  }
  const onClaim = (change: Change<KubeObject>) => {
    if (!sent.has(change.key)) return
    tell(claimHopsOf(change))
    if (!change.after) return
    using.see(change.after)
    if (note(times, change.key, change.after, sinceSent(change.key))) ready(++readyCount)
  }
  const onChild = (change: Change<KubeObject>) => {
    tell(childHopOf(change, sent.has(change.key) ? change.key : undefined))
    const claim = world.claims.get(change.key)
    if (claim && sent.has(change.key)) using.see(claim)
  }
  const ends = [
    world.claims.subscribe(onClaim),
    ...[world.interfaces, world.attachments, world.definitions].map((cache) => cache.subscribe(onChild)),
  ]
  try {
    const wanted = claims(world.dataPlane.samples.shapes, count)
    await Promise.all(
      wanted.map((claim) => {
        sent.set(keyOf(claim), performance.now())
        return world.client.create(NetworkInterfaceClaim, claim as never, asUser, signal)
      }),
    )
    await Promise.race([untilSettled(world, [...sent.keys()], goal, signal), using.failed])
    return [...sent.keys()].map((key) => times.get(key) ?? { name: key, boundMs: null, preparedMs: null, readyMs: null })
  } finally {
    for (const end of ends) end()
  }
}

/** Calls `prepared` for each claim, the first time that it is Prepared. */
function useOnce(world: World, { prepared }: BringOptions): { see(claim: KubeObject): void; failed: Promise<never> } {
  const used = new Set<string | undefined>()
  const failure = Promise.withResolvers<never>()
  // Nobody may be waiting for it.
  failure.promise.catch(() => {})
  return {
    failed: failure.promise,
    see(claim) {
      const attachment = world.attachments.get(interfaceKeyOf(claim))
      // One of the two may be seen before the other.
      const isPrepared = isTrue(claim, 'Prepared') && isTrue(attachment, 'Ready')
      if (!prepared || !attachment || !isPrepared || used.has(claim.metadata.uid)) return
      used.add(claim.metadata.uid)
      prepared({ claim, attachment }).catch(failure.reject)
    },
  }
}

/** The condition on the claim comes beside the interface's own status: what is counted afterwards shall have both. */
function untilSettled(world: World, keys: readonly string[], goal: Goal, signal: AbortSignal): Promise<void> {
  const ofInterface = goal === 'Ready' ? 'Programmed' : 'Prepared'
  const isThere = (key: string) => isTrue(world.claims.get(key), goal) && isTrue(world.interfaces.get(key), ofInterface)
  const unready = () => keys.filter((key) => !isThere(key))
  return until([world.claims, world.interfaces], () => unready().length === 0, {
    what: () => `${unready().length} of ${keys.length} claims to be ${goal} (first: ${unready()[0]})`,
    signal,
    limitMs: 120_000 + 200 * keys.length,
  })
}

/** True when this change made the claim Ready for the first time. */
function note(times: Map<string, ClaimTimes>, key: string, claim: KubeObject, sinceMs: number): boolean {
  const entry = times.get(key) ?? { name: key.split('/').at(-1) ?? key, boundMs: null, preparedMs: null, readyMs: null }
  const wasReady = entry.readyMs !== null
  const ms = Math.round(sinceMs * 10) / 10
  if (isTrue(claim, 'Bound')) entry.boundMs ??= ms
  if (isTrue(claim, 'Prepared')) entry.preparedMs ??= ms
  if (isTrue(claim, 'Ready')) entry.readyMs ??= ms
  times.set(key, entry)
  return !wasReady && entry.readyMs !== null
}
