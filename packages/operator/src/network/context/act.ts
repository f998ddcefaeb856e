/** Carries out what was decided about a network context. */
import { finalizers, type NetworkContext, Subnet } from '@nso/api'
import { type Client, type Outcome, settled, together, waiting } from 'kube-control-loop'
import { isOwnedBy } from '../objects.ts'
import type { ContextWriters, NetworkCaches } from '../parts.ts'
import type { Decision } from './decide.ts'
import type { Seen } from './observe.ts'
import { contextStatus } from './status.ts'

export type ContextActors = { caches: NetworkCaches; client: Client; writers: ContextWriters }

/**
 * The finalizer comes before the first Subnet, so that no range is taken that nobody gives back.
 * Crash after a Subnet: it is found by its context and family, and the next pass makes no second one.
 */
export async function serve(
  { writers }: ContextActors,
  { context: found, subnets }: Seen,
  { create, standing, holds }: Extract<Decision, { do: 'serve' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const context = holds ? await writers.finalizer.addFinalizer(found, finalizers.contextSubnet, signal) : found
  const made = await together(create.map(({ subnet }) => writers.subnets.create(subnet, signal)))
  await writers.status.status(context, contextStatus(context, [...subnets, ...made], standing), signal)
  return standing.state === 'waiting' ? waiting(standing.on) : settled
}

/** Deletes the Subnets made for the context, waits until a live read finds none, then lets the context go. */
export async function release(
  { caches, client, writers }: ContextActors,
  context: NetworkContext,
  { remove }: Extract<Decision, { do: 'release' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!context.metadata.finalizers?.includes(finalizers.contextSubnet)) return settled
  await together(remove.map((subnet) => writers.subnets.remove(subnet, signal)))
  const options = context.metadata.namespace === undefined ? {} : { namespace: context.metadata.namespace }
  const left = (await client.list(Subnet, options, signal)).items.filter((subnet) => isOwnedBy(subnet, context))
  for (const subnet of left) caches.subnets.absorb(subnet)
  if (left.length > 0) return waiting(`subnets ${left.map((subnet) => subnet.metadata.name).join(', ')}`)
  await writers.finalizer.removeFinalizer(context, finalizers.contextSubnet, signal)
  return settled
}
