/** Carries out what was decided about a network. */
import { finalizers, type Network, NetworkContext, ServingLocation } from '@nso/api'
import { type Client, type Outcome, settled, together, waiting } from 'kube-control-loop'
import { isDeleting, isOwnedBy } from '../objects.ts'
import type { NetworkCaches, NetworkWriters } from '../parts.ts'
import type { Decision } from './decide.ts'
import { networkStatus } from './status.ts'

export type NetworkActors = { caches: NetworkCaches; client: Client; writers: NetworkWriters }

/**
 * The status goes out before the contexts: the prefix must be on record before anything is carved out of it.
 * Crash at any line: names follow from the network and the location, so the next pass finds what this one made.
 */
export async function serve(
  { client, writers }: NetworkActors,
  found: Network,
  decision: Extract<Decision, { do: 'serve' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const network = await writers.finalizer.addFinalizer(found, finalizers.network, signal)
  await writers.status.status(network, networkStatus(network, decision.ranges, decision.tooLong), signal)
  await together([
    ...decision.create.map((context) => writers.contexts.create(context, signal)),
    ...decision.change.map(({ context, operations }) => writers.contexts.patch(context, operations, signal)),
    ...decision.retire.map((context) => retire({ client, writers }, context, signal)),
  ])
  return settled
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

/** Deletes the contexts made for the network, waits until a live read finds none, then lets the network go. */
export async function release(
  { caches, client, writers }: NetworkActors,
  network: Network,
  decision: Extract<Decision, { do: 'release' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!network.metadata.finalizers?.includes(finalizers.network)) return settled
  await together(decision.remove.map((context) => writers.contexts.remove(context, signal)))
  const options = network.metadata.namespace === undefined ? {} : { namespace: network.metadata.namespace }
  const left = (await client.list(NetworkContext, options, signal)).items.filter((context) => isOwnedBy(context, network))
  for (const context of left) caches.contexts.absorb(context)
  if (left.length > 0) return waiting(`network contexts ${left.map((context) => context.metadata.name).join(', ')}`)
  await writers.finalizer.removeFinalizer(network, finalizers.network, signal)
  return settled
}
