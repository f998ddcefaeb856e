/** Brings the sample claims to Ready on a running system and times each hop. */
import { Network, NetworkContext, NetworkInterfaceClaim, ServingLocation } from '@nso/api'
import { type Change, type KubeObject, keyOf, systemClock } from 'kube-control-loop'
import { childHopOf, claimHopsOf, type Hop } from './follow.ts'
import type { ClaimTimes } from './report.ts'
import { claims, network, sampleLocation, sampleNamespace, sampleNetwork, servingLocation } from './samples.ts'
import { conditionsOf } from './tree.ts'
import type { World } from './world.ts'

const namespaceKind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const
const asUser = { fieldManager: 'nso-cli' }

export function isTrue(object: KubeObject | undefined, type: string): boolean {
  return object !== undefined && conditionsOf(object).some((one) => one.type === type && one.status === 'True')
}

export async function ensureNamespace(world: Pick<World, 'client'>, name: string, signal: AbortSignal): Promise<void> {
  if (await world.client.find(namespaceKind, { name }, signal)) return
  await world.client.create(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: {} }, asUser, signal)
}

/** The network at this location, usable: its context stands and the data plane's network object has its identifier. */
export async function ensureNetwork(world: World, signal: AbortSignal): Promise<void> {
  const locations = await world.client.list(ServingLocation, {}, signal)
  if (locations.items.length === 0) await world.client.create(ServingLocation, servingLocation() as never, asUser, signal)
  const location = locations.items[0]?.metadata.name ?? sampleLocation
  if (!(await world.client.find(Network, { name: sampleNetwork, namespace: sampleNamespace }, signal)))
    await world.client.create(Network, network() as never, asUser, signal)
  const context = keyOf({ metadata: { name: `${sampleNetwork}-${location}`, namespace: sampleNamespace } })
  await until([world.contexts, world.networkObjects], () => isTrue(world.networkObjects.get(context), 'Ready'), {
    what: `${NetworkContext.kind} ${context} and its VPC`,
    signal,
  })
}

/** Deletes sample claims that an earlier run left on this cluster, and waits until they are gone. */
export async function removeOldClaims(world: World, signal: AbortSignal): Promise<void> {
  for (const claim of world.claims.values()) {
    const { name, namespace, uid } = claim.metadata
    await world.client.remove(NetworkInterfaceClaim, { name, namespace }, uid ? { uid } : {}, signal)
  }
  await until([world.claims], () => world.claims.size === 0, { what: 'the claims of an earlier run are gone', signal })
}

/** Creates the claims at once and resolves when each is Ready (or at the limit) with the times since each one's creation. */
export async function bringToReady(
  world: World,
  count: number,
  options: { show: (line: string) => void; signal: AbortSignal },
): Promise<ClaimTimes[]> {
  const { show, signal } = options
  const started = performance.now()
  const sent = new Map<string, number>()
  const times = new Map<string, ClaimTimes>()
  const tell = (hops: readonly Hop[]) => {
    for (const { claim, text, good } of hops) {
      const ms = performance.now() - (sent.get(claim) ?? started)
      show(`${good ? ' ' : '!'} ${`${ms.toFixed(0)} ms`.padStart(9)}  ${claim.split('/').at(-1)?.padEnd(8)} ${text}`)
    }
  }
  const onClaim = (change: Change<KubeObject>) => {
    const since = performance.now() - (sent.get(change.key) ?? started)
    if (change.after) note(times, change.key, change.after, since)
    tell(claimHopsOf(change))
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
  })
}

function note(times: Map<string, ClaimTimes>, key: string, claim: KubeObject, sinceMs: number): void {
  const entry = times.get(key) ?? { name: key.split('/').at(-1) ?? key, boundMs: null, preparedMs: null, readyMs: null }
  const ms = Math.round(sinceMs * 10) / 10
  if (isTrue(claim, 'Bound')) entry.boundMs ??= ms
  if (isTrue(claim, 'Prepared')) entry.preparedMs ??= ms
  if (isTrue(claim, 'Ready')) entry.readyMs ??= ms
  times.set(key, entry)
}

/** Resolves when `holds`, which is asked again after each change of the caches; rejects after two minutes, saying what is missing. */
async function until(
  caches: readonly World['claims'][],
  holds: () => boolean,
  { what, signal, limitMs = 120_000 }: { what: string | (() => string); signal: AbortSignal; limitMs?: number },
): Promise<void> {
  if (holds()) return
  const done = Promise.withResolvers<void>()
  const look = () => {
    if (holds()) done.resolve()
  }
  const ends = caches.map((cache) => cache.subscribe(look))
  const aborted = () => done.reject(signal.reason)
  signal.addEventListener('abort', aborted, { once: true })
  const cancel = systemClock.after(limitMs, () =>
    done.reject(new Error(`still waiting after ${limitMs / 1000} s for ${typeof what === 'string' ? what : what()}`)),
  )
  try {
    await done.promise
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
    for (const end of ends) end()
  }
}
