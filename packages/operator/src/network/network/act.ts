/** Carries out what was decided about a network. */
import { finalizers, type Network, NetworkContext, ServingLocation } from '@nso/api'
import { again, type Client, keyOf, type Outcome, settled, together, waiting } from 'kube-control-loop'
import { isDeleting, isOwnedBy } from '../objects.ts'
import type { NetworkCaches, NetworkWriters } from '../parts.ts'
import { askAgainMs, type GivenBack, networkClaimName, noService, type RangeAsker, untilGone } from '../range-claim.ts'
import type { Decision, Ranges } from './decide.ts'
import { networkStatus, type RangesKnown } from './status.ts'

export type NetworkActors = {
  caches: NetworkCaches
  client: Client
  writers: NetworkWriters
  /** Absent: ranges are chosen here. */
  ranges: RangeAsker | undefined
}

/**
 * The status goes out before the contexts: the prefix must be on record before anything is carved out of it. The finalizer
 * that gives a prefix back comes before the prefix.
 * Crash at any line: names follow from the network and the location, so the next pass finds what this one made.
 */
export async function serve(
  { client, writers, ranges }: NetworkActors,
  found: Network,
  decision: Extract<Decision, { do: 'serve' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const asks = decision.ranges.kind === 'ask'
  const reserved = asks ? await writers.finalizer.addFinalizer(found, finalizers.networkPrefix, signal) : found
  const network = await writers.finalizer.addFinalizer(reserved, finalizers.network, signal)
  const { known, outcome } = await ask(ranges, network, decision.ranges, signal)
  if (known) await writers.status.status(network, networkStatus(network, known, decision.tooLong), signal)
  await together([
    ...decision.create.map((context) => writers.contexts.create(context, signal)),
    ...decision.change.map(({ context, operations }) => writers.contexts.patch(context, operations, signal)),
    ...decision.retire.map((context) => retire({ client, writers }, context, signal)),
  ])
  return outcome
}

/** `known` undefined: the service does not answer, and what is on record stays as it is. */
type Asked = { known: RangesKnown | undefined; outcome: Outcome }

async function ask(service: RangeAsker | undefined, network: Network, ranges: Ranges, signal: AbortSignal): Promise<Asked> {
  if (ranges.kind !== 'ask' || !service) {
    const known: RangesKnown = ranges.kind === 'ask' ? { kind: 'none' } : ranges
    const retries = known.kind === 'refused' && known.retry && service
    return { known, outcome: retries ? again(service.retryRefusedMs, known.message) : settled }
  }
  const answer = await service.hold(ranges, signal)
  switch (answer.kind) {
    case 'held':
      return { known: { kind: 'held', prefix: answer.range, ref: answer.ref }, outcome: settled }
    case 'refused':
      return { known: answer, outcome: again(answer.againMs, answer.message) }
    case 'away': {
      const known: RangesKnown = { kind: 'refused', reason: 'AllocationFailed', message: answer.message }
      const isOnRecord = network.status?.ipam?.ipv6PrefixRef?.claimName === ranges.claim.metadata.name
      return { known: isOnRecord ? undefined : known, outcome: again(askAgainMs, answer.message) }
    }
  }
}

/** A cache that lost sight of a location is no reason to take a network away from it: a live read decides. */
async function retire(
  { client, writers }: Pick<NetworkActors, 'client' | 'writers'>,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const location = await client.find(ServingLocation, { name: context.spec.location.name }, signal)
  if (!location || isDeleting(location)) await writers.contexts.remove(context, signal)
}

/**
 * Deletes the contexts made for the network, waits until a live read finds none, gives the prefix back, then lets the network
 * go. Crash at any line: every step asks what is left of it.
 */
export async function release(
  actors: NetworkActors,
  network: Network,
  decision: Extract<Decision, { do: 'release' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, client, writers } = actors
  const held = [finalizers.network, finalizers.networkPrefix].filter((each) => network.metadata.finalizers?.includes(each))
  if (held.length === 0) return settled
  await together(decision.remove.map((context) => writers.contexts.remove(context, signal)))
  const options = network.metadata.namespace === undefined ? {} : { namespace: network.metadata.namespace }
  const left = (await client.list(NetworkContext, options, signal)).items.filter((context) => isOwnedBy(context, network))
  for (const context of left) caches.contexts.absorb(context)
  if (left.length > 0) return waiting(`network contexts ${left.map((context) => context.metadata.name).join(', ')}`)
  if (held.includes(finalizers.networkPrefix)) {
    const end = await releasePrefix(actors, network, signal)
    if (end) return end
    await writers.finalizer.removeFinalizer(network, finalizers.networkPrefix, signal)
  }
  const standing = caches.networks.get(keyOf(network))
  const isSame = standing !== undefined && standing.metadata.uid === network.metadata.uid
  if (isSame) await writers.finalizer.removeFinalizer(standing, finalizers.network, signal)
  return settled
}

/** Undefined: a live answer of the service says that the network holds nothing there. */
async function releasePrefix(
  { ranges, writers }: NetworkActors,
  network: Network,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const back: GivenBack = ranges ? await ranges.giveBack(networkClaimName(network.metadata.uid ?? ''), signal) : noService
  if (back.kind === 'gone') return undefined
  if (back.kind === 'going') return untilGone(back)
  const reason = back.kind === 'occupied' ? 'RangeOccupied' : 'AllocationFailed'
  await writers.status.status(network, networkStatus(network, { kind: 'refused', reason, message: back.message }, []), signal)
  if (!ranges) return waiting(back.message)
  return again(back.kind === 'occupied' ? ranges.retryRefusedMs : askAgainMs, back.message)
}
