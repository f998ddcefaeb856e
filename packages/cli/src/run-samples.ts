/** Brings the sample claims to Ready on a running system, times each hop, and removes them again. */
import { Network, NetworkContext, NetworkInterfaceClaim, ServingLocation } from '@nso/api'
import { VPC } from 'galactic/api'
import { type Change, type Kind, type KubeObject, keyOf, systemClock } from 'kube-control-loop'
import { childHopOf, claimHopsOf, type Hop } from './follow.ts'
import type { ClaimTimes } from './report.ts'
import {
  claims,
  isSample,
  network,
  sampleLabels,
  sampleLocation,
  sampleNamespace,
  sampleNetwork,
  servingLocation,
} from './samples.ts'
import { conditionsOf } from './tree.ts'
import { until } from './until.ts'
import type { World } from './world.ts'

const namespaceKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const
const asUser = { fieldManager: 'nso-cli' }
const inSamples = { name: sampleNetwork, namespace: sampleNamespace }

export function isTrue(object: KubeObject | undefined, type: string): boolean {
  return object !== undefined && conditionsOf(object).some((one) => one.type === type && one.status === 'True')
}

export async function ensureNamespace(world: Pick<World, 'client'>, name: string, signal: AbortSignal): Promise<void> {
  if (await world.client.find(namespaceKind, { name }, signal)) return
  const metadata = { name, labels: sampleLabels }
  await world.client.create(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} }, asUser, signal)
}

/** The network at this location, usable: its context stands and the data plane's network object has its identifier. */
export async function ensureNetwork(world: World, signal: AbortSignal): Promise<void> {
  const locations = await world.client.list(ServingLocation, {}, signal)
  if (locations.items.length === 0) await world.client.create(ServingLocation, servingLocation() as never, asUser, signal)
  const location = locations.items.map(({ metadata }) => metadata.name).sort()[0] ?? sampleLocation
  if (!(await world.client.find(Network, inSamples, signal)))
    await world.client.create(Network, network() as never, asUser, signal)
  const context = keyOf({ metadata: { name: `${sampleNetwork}-${location}`, namespace: sampleNamespace } })
  await until([world.contexts, world.networkObjects], () => isTrue(world.networkObjects.get(context), 'Ready'), {
    what: `${NetworkContext.kind} ${context} and its VPC`,
    signal,
  })
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
 * Deletes the sample claims, their network and namespace, and waits until nothing of them needs a controller any more. What
 * lacks the samples' label stays.
 */
export async function removeSamples(world: World, signal: AbortSignal): Promise<void> {
  const { client, networkObjects } = world
  await removeOldClaims(world, signal, isSample)
  const standing = await client.find(Network, inSamples, signal)
  if (standing && isSample(standing)) {
    const contexts = [...world.contexts.values()].filter(({ spec }) => isOfSamples(spec)).map(keyOf)
    await client.remove(Network, inSamples, {}, signal)
    while (await client.find(Network, inSamples, signal)) await systemClock.sleep(100, signal)
    // The garbage collector would, up to half a minute later, when nobody is left to remove the finalizers.
    const orphans = () => contexts.flatMap((key) => networkObjects.get(key) ?? [])
    for (const { metadata } of orphans()) await client.remove(VPC, metadata, {}, signal)
    await until([networkObjects], () => orphans().length === 0, { what: 'the VPC of the samples is gone', signal })
  }
  await removeSample(client, ServingLocation, { name: sampleLocation }, signal)
  await removeSample(client, namespaceKind, { name: sampleNamespace }, signal)
}

function isOfSamples(spec: unknown): boolean {
  return (spec as { network?: { name?: string } } | undefined)?.network?.name === sampleNetwork
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
  signal: AbortSignal
}

/** Creates the claims at once and resolves when each is Ready (or rejects at the limit) with the times since each one's creation. */
export async function bringToReady(world: World, count: number, options: BringOptions): Promise<ClaimTimes[]> {
  const { show, ready = () => {}, signal } = options
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
    if (change.after && note(times, change.key, change.after, sinceSent(change.key))) ready(++readyCount)
  }
  const onChild = (change: Change<KubeObject>) => tell(childHopOf(change, sent.has(change.key) ? change.key : undefined))
  const ends = [
    world.claims.subscribe(onClaim),
    ...[world.interfaces, world.attachments, world.definitions].map((cache) => cache.subscribe(onChild)),
  ]
  try {
    const wanted = claims(count)
    await Promise.all(
      wanted.map((claim) => {
        sent.set(keyOf(claim), performance.now())
        return world.client.create(NetworkInterfaceClaim, claim as never, asUser, signal)
      }),
    )
    await untilSettled(world, [...sent.keys()], signal)
    return [...sent.keys()].map((key) => times.get(key) ?? { name: key, boundMs: null, preparedMs: null, readyMs: null })
  } finally {
    for (const end of ends) end()
  }
}

/** Ready on the claim comes beside the interface's own status: what is counted afterwards shall have both. */
function untilSettled(world: World, keys: readonly string[], signal: AbortSignal): Promise<void> {
  const unready = () =>
    keys.filter((key) => !isTrue(world.claims.get(key), 'Ready') || !isTrue(world.interfaces.get(key), 'Programmed'))
  return until([world.claims, world.interfaces], () => unready().length === 0, {
    what: () => `${unready().length} of ${keys.length} claims to be Ready (first: ${unready()[0]})`,
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
