/** Whom news of the address service concern: through what claims and interfaces said that they wait for. */
import { backoff, type Change, type Clock, type Jitter, type KubeObject, keyFor } from 'kube-control-loop'
import type { IPClaim } from 'kube-ipam'
import type { Caches } from '../../caches.ts'
import { holderKeyOf, isDeleting } from '../../interface/holder.ts'
import type { AllocationNews } from '../port.ts'
import type { IpamConnection } from './connection.ts'
import { type Interests, topics } from './interests.ts'
import { sourceOf } from './ip-claim.ts'
import { listedIn } from './names.ts'
import { projectOf } from './project.ts'

export type News = {
  onChange(listener: (news: AllocationNews) => void): () => void
  /** A pool has room again: whoever waited longest tries. */
  freed(pool: string | undefined): void
  /** What whoever was failed by the service waits for: its first answer, or, where it answers, a while. */
  whenBack(): readonly string[]
  /** What whoever may have missed its news waits for: a while. Not at once, since the news may be of the pass's own doing. */
  inAWhile(): readonly string[]
}

type Sources = {
  service: IpamConnection
  caches: Pick<Caches, 'claims' | 'interfaces'>
  interests: Interests
  clock: Clock
  jitter: Jitter
}

/** First and longest time until something that failed is tried again. */
const laterMs = [1_000, 30_000] as const
/** Nothing failed for so long: the delays begin anew. */
const calmMs = 60_000

/** Follows for as long as the process lives. */
export function createNews({ service, caches, interests, clock, jitter }: Sources): News {
  const listeners = new Set<(news: AllocationNews) => void>()
  const tell = (news: AllocationNews) => {
    for (const listener of listeners) listener(news)
  }
  const fire = (topic: string, most?: number) => {
    const { claims, interfaces, size } = interests.of(topic, most)
    if (size > 0) tell({ claims: withHolders(caches, claims, interfaces), interfaces })
  }
  service.claims.subscribe((change) => {
    const { key, before, after } = change
    if (isNews(change)) fire(topics.ipClaim(key))
    if (before && !after) freed(before.status?.poolRef?.name)
    const strays = !before && after ? unexpected(caches, after) : []
    if (strays.length > 0) tell({ claims: strays, interfaces: [] })
  })
  service.namespaces.subscribe(({ key, before, after }) => {
    if (textOf(key, before) !== textOf(key, after)) fire(topics.namespace(key))
  })
  service.onBack(() => fire(topics.service))
  service.onKnowledge(() => fire(topics.service))
  const later = createLater(clock, jitter, () => fire(topics.later))
  caches.claims.subscribe(({ key, after }) => after ?? interests.drop(`claim ${key}`))
  caches.interfaces.subscribe(({ key, after }) => {
    if (!after || isDeleting(after)) fire(topics.going(key))
    if (!after) interests.drop(`interface ${key}`)
  })

  function freed(pool: string | undefined) {
    if (pool !== undefined) fire(topics.room(pool), 1)
  }

  function inAWhile() {
    later()
    return [topics.later]
  }

  return {
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    freed,
    whenBack() {
      return service.isAway ? [topics.service] : [topics.service, ...inAWhile()]
    },
    inAWhile,
  }
}

function createLater(clock: Clock, jitter: Jitter, call: () => void): () => void {
  const delay = backoff(...laterMs, jitter)
  let rounds = 0
  let last = clock.monotonic()
  let isSet = false
  return () => {
    const now = clock.monotonic()
    rounds = now - last > calmMs ? 0 : rounds
    last = now
    if (isSet) return
    isSet = true
    rounds += 1
    clock.after(delay(rounds), () => {
      isSet = false
      call()
    })
  }
}

/** Its first answer, and what does not concern an address, are no news. */
function isNews({ before, after }: Change<IPClaim>): boolean {
  const said = (one: IPClaim | undefined) =>
    one && JSON.stringify([one.metadata.uid, one.metadata.deletionTimestamp, one.status?.allocatedCIDR, one.spec.scope])
  return said(before) !== said(after)
}

const textOf = (name: string, namespace: KubeObject | undefined) => JSON.stringify(namespace && projectOf(name, namespace))

/** A claim says of its interface's addresses what the interface does. */
function withHolders(caches: Sources['caches'], claims: Iterable<string>, interfaces: Iterable<string>): Set<string> {
  const holders = [...interfaces].flatMap((key) => {
    const nic = caches.interfaces.get(key)
    return (nic && holderKeyOf(nic)) ?? []
  })
  return new Set([...claims, ...holders])
}

/** An IPClaim of a claim that is not there, or whose interface does not list it: a request that was late, a crash. */
function unexpected({ claims, interfaces }: Sources['caches'], ipClaim: IPClaim): string[] {
  const source = sourceOf(ipClaim)
  if (!source) return []
  const key = keyFor(source.claim, source.namespace)
  const nics = interfaces.by('allocation', key)
  const isListed = nics.some((nic) => listedIn(nic).some((one) => one.ipClaim === ipClaim.metadata.name))
  const claim = claims.get(key)
  const isExpected = isListed || (claim?.metadata.uid === source.uid && nics.length === 0)
  return isExpected ? [] : [key]
}
