/** Reads from a live cluster all that a chain may have: gets and lists only. What may not be read is noted, and the rest goes on. */
import {
  AddressLease,
  DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { type Kind, type KubeObject, pathOf, systemClock } from 'kube-control-loop'
import { type Cluster, unreadBecause } from '../cluster.ts'
import { groupOf, pick, textAt } from '../owners/stored.ts'
import { collect } from '../pages.ts'
import { servedKind } from '../served-kind.ts'
import { addressesOf, type Chain, chainOf, type Target, type Wanted } from './chain.ts'
import { leaderLeases, leaseRef } from './leaders.ts'
import { madeBy } from './made.ts'
import { type Gap, type KindRef, kindOf, type Snapshot, sameKind } from './snapshot.ts'

type At = { namespace?: string | undefined; name: string }

/** What was read so far, a snapshot at each moment, and the ways to read more of it. */
type Reading = {
  snapshot(at: Date): Snapshot
  get(kind: Kind, at: At): Promise<void>
  /** Page by page; only what `keep` wants is kept. */
  list(kind: Kind, namespace?: string, keep?: (object: KubeObject) => boolean): Promise<void>
  /** An object of a kind that only its data plane knows. */
  getUnknown(wanted: Wanted): Promise<void>
}

/** Objects by kind and name, kinds that could be read, and kinds that could not. */
function createNotes() {
  const objects = new Map<string, KubeObject>()
  const read: KindRef[] = []
  const gaps: Gap[] = []
  return {
    add(object: KubeObject): void {
      const { group, kind } = kindOf(object)
      const key = [group, kind, object.metadata.namespace, object.metadata.name].join('/')
      if (!objects.has(key)) objects.set(key, object)
    },
    gap(gap: Gap): void {
      if (!gaps.some((each) => sameKind(each, gap))) gaps.push(gap)
    },
    /** Runs a reading of a kind: afterwards its absence means something, or it is known why not. */
    async during(kind: KindRef, reading: () => Promise<void>): Promise<void> {
      const ref = { group: kind.group, kind: kind.kind }
      try {
        await reading()
        if (!read.some((each) => sameKind(each, ref))) read.push(ref)
      } catch (error) {
        const unread = unreadBecause(error)
        const message = unread.why === 'not served' ? `the API server does not serve ${ref.kind}` : unread.message
        this.gap({ ...ref, ...unread, message })
      }
    },
    snapshot: (at: Date): Snapshot => ({ origin: 'live', at, objects: [...objects.values()], read: [...read], gaps: [...gaps] }),
  }
}

function createReading({ client }: Cluster, signal: AbortSignal): Reading {
  const notes = createNotes()
  const ask = (path: string) => client.raw({ method: 'GET', path }, signal)
  const get: Reading['get'] = (kind, at) =>
    notes.during(kind, async () => {
      const found = await client.find(kind, at, signal)
      if (found) notes.add(found)
    })
  return {
    snapshot: notes.snapshot,
    get,
    list: (kind, namespace, keep = () => true) =>
      notes.during(kind, async () => {
        const kept = await collect({ client, kind, namespace }, (object) => (keep(object) ? [object] : []), signal)
        kept.forEach(notes.add)
      }),
    async getUnknown({ apiVersion, kind, ...at }) {
      const ref = { group: groupOf(apiVersion), kind }
      let served: Kind | undefined
      await notes.during(ref, async () => {
        const version = apiVersion.slice(ref.group.length + 1) || preferredVersion(await ask(`/apis/${ref.group}`))
        served = servedKind(await ask(`/apis/${ref.group}/${version}`), ref.group, version, kind)
        if (!served) notes.gap({ ...ref, why: 'not served', message: `the API server does not serve ${kind} of ${apiVersion}` })
      })
      if (served) await get(served, at)
    },
  }
}

/** Clock of the server, so that ages do not depend on this machine's. */
async function serverTime({ transport }: Cluster, signal: AbortSignal): Promise<Date> {
  const { headers } = await transport.send({ method: 'GET', path: '/version' }, signal).catch((error: unknown) => {
    unreadBecause(error)
    throw error
  })
  const at = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
  return Number.isNaN(at) ? systemClock.now() : new Date(at)
}

const preferredVersion = (group: unknown): string => textAt(group, 'preferredVersion', 'version') ?? ''

/** Follows the chain hop by hop, since each object names the next. Rejects with `Explained` when the server does not answer. */
export async function gather(cluster: Cluster, target: Target, signal: AbortSignal): Promise<Snapshot> {
  const reading = createReading(cluster, signal)
  const { namespace, name } = target
  const chain = () => chainOf(reading.snapshot(new Date(0)), target)
  await Promise.all([
    reading.get(target.kind === 'claim' ? NetworkInterfaceClaim : NetworkInterface, { namespace, name }),
    reading.list(DataPlane),
    reading.list(ServingLocation),
    ...leaderLeases.map((lease) => reading.get(leaseRef, lease)),
  ])
  await reading.get(NetworkInterface, { namespace, name: chain().interface.wanted.name })
  const known = chain()
  await Promise.all([...surroundings(reading, known), ...addressing(reading, known)])
  await Promise.all(madeFor(reading, chain()))
  return reading.snapshot(await serverTime(cluster, signal))
}

function surroundings(reading: Reading, { claim, attachment, networkObject, network, context }: Chain): Promise<void>[] {
  const known = [
    [NetworkInterfaceClaim, claim],
    [Network, network],
    [NetworkContext, context],
  ] as const
  return [
    ...known.flatMap(([kind, link]) => (link ? [reading.get(kind, link.wanted)] : [])),
    ...[attachment, networkObject].flatMap((link) => (link ? [reading.getUnknown(link.wanted)] : [])),
  ]
}

/** A namespace may have thousands of leases: those of an interface are known by name, and else only the claim's are kept. */
function addressing(reading: Reading, { target: { namespace }, interface: nic, claim, context, leases }: Chain): Promise<void>[] {
  const ofContext = ({ spec }: KubeObject) => textAt(spec, 'networkContext', 'name') === context?.wanted.name
  const ofClaim = ({ spec }: KubeObject) => textAt(spec, 'holder', 'claimName') === claim?.wanted.name
  return [
    ...(context ? [reading.list(Subnet, namespace, ofContext)] : []),
    ...(addressesOf(nic.object).length === 0 && claim ? [reading.list(AddressLease, namespace, ofClaim)] : []),
    ...leases.map(({ wanted }) => reading.get(AddressLease, wanted)),
  ]
}

function madeFor(reading: Reading, { attachment, plane }: Chain): Promise<void>[] {
  if (!attachment?.object) return []
  return madeBy(attachment.object, plane.object).flatMap(({ kind, at }) => at.map((each) => reading.get(kind, each)))
}

/** Some names of the kind that there are, `namespace/name`, those of the namespace first; none when they may not be listed. */
export async function namesThereAre(cluster: Cluster, kind: Kind, namespace: string, signal: AbortSignal): Promise<string[]> {
  const ask = async (path: string): Promise<string[]> => {
    try {
      const list = await cluster.client.raw({ method: 'GET', path, query: { limit: '50' } }, signal)
      const items = pick(list, 'items')
      const objects = Array.isArray(items) ? (items as KubeObject[]) : []
      return objects.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)
    } catch {
      return []
    }
  }
  const [near, far] = await Promise.all([ask(pathOf(kind, { namespace })), ask(pathOf(kind, {}))])
  return [...new Set([...near, ...far])]
}
