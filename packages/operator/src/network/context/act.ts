/** Carries out what was decided about a network context. */
import { finalizers, type NetworkContext, Subnet } from '@nso/api'
import { again, type Client, type Outcome, settled, together, waiting } from 'kube-control-loop'
import type { Away } from '../../addresses/ipam/service.ts'
import { isOwnedBy } from '../objects.ts'
import type { ContextWriters, NetworkCaches } from '../parts.ts'
import {
  askAgainMs,
  contextClaimName,
  type GivenBack,
  noService,
  type RangeAsker,
  type RangeRef,
  untilGone,
} from '../range-claim.ts'
import { type Answered, settle } from './ask.ts'
import type { Decision } from './decide.ts'
import type { Seen } from './observe.ts'
import { refused, type Standing } from './standing.ts'
import { contextStatus } from './status.ts'

export type ContextActors = {
  caches: NetworkCaches
  client: Client
  writers: ContextWriters
  /** Absent: ranges are carved here. */
  ranges: RangeAsker | undefined
}

/**
 * The finalizer comes before the first claim or Subnet, so that no range is taken that nobody gives back.
 * Crash after a claim: its name follows from the context's uid, and the next pass finds it. Crash after a Subnet: it is found
 * by its context and family, and the next pass makes no second one.
 */
export async function serve(
  { writers, ranges }: ContextActors,
  seen: Seen,
  decision: Extract<Decision, { do: 'serve' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const context = decision.holds
    ? await writers.finalizer.addFinalizer(seen.context, finalizers.contextSubnet, signal)
    : seen.context
  const say = (subnets: readonly Subnet[], standing: Standing, ref?: RangeRef) =>
    writers.status.status(context, contextStatus(context, subnets, standing, ref), signal)
  const answered = await ask(ranges, seen, decision, signal)
  if ('kind' in answered) {
    // What is on record stays as it is while nobody can be asked.
    const isOnRecord = context.status?.ipam?.ipv6ClaimRef?.claimName === decision.request?.claim.metadata.name
    if (!isOnRecord) await say(seen.subnets, refused('AllocationFailed', answered.message))
    return again(askAgainMs, answered.message)
  }
  const { create, standing, ref } = answered
  const made = await together(create.map((subnet) => writers.subnets.create(subnet, signal)))
  await say([...seen.subnets, ...made], standing, ref)
  if (standing.state === 'waiting') return waiting(standing.on)
  if (standing.state !== 'refused' || !standing.retry || !ranges) return settled
  return again(standing.againMs ?? ranges.retryRefusedMs, standing.message)
}

async function ask(
  service: RangeAsker | undefined,
  seen: Seen,
  { create, request, standing }: Extract<Decision, { do: 'serve' }>,
  signal: AbortSignal,
): Promise<Answered | Away> {
  if (!request || !service) return { create: create.map(({ subnet }) => subnet), standing }
  const answer = await service.hold(request, signal)
  return answer.kind === 'away' ? answer : settle(seen, standing, answer)
}

/**
 * Deletes the Subnets made for the context, waits until a live read finds none, gives the range back, then lets the context
 * go. Crash at any line: every step asks what is left of it.
 */
export async function release(
  actors: ContextActors,
  context: NetworkContext,
  { remove }: Extract<Decision, { do: 'release' }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, client, writers } = actors
  if (!context.metadata.finalizers?.includes(finalizers.contextSubnet)) return settled
  await together(remove.map((subnet) => writers.subnets.remove(subnet, signal)))
  const options = context.metadata.namespace === undefined ? {} : { namespace: context.metadata.namespace }
  const left = (await client.list(Subnet, options, signal)).items.filter((subnet) => isOwnedBy(subnet, context))
  for (const subnet of left) caches.subnets.absorb(subnet)
  if (left.length > 0) return waiting(`subnets ${left.map((subnet) => subnet.metadata.name).join(', ')}`)
  const end = await releaseRange(actors, context, signal)
  if (end) return end
  await writers.finalizer.removeFinalizer(context, finalizers.contextSubnet, signal)
  return settled
}

/** Undefined: the context holds nothing at an address service. */
async function releaseRange(
  { ranges, writers }: ContextActors,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  if (!ranges && !context.status?.ipam?.ipv6ClaimRef) return undefined
  const back: GivenBack = ranges ? await ranges.giveBack(contextClaimName(context.metadata.uid ?? ''), signal) : noService
  if (back.kind === 'gone') return undefined
  if (back.kind === 'going') return untilGone(back)
  const reason = back.kind === 'occupied' ? 'RangeOccupied' : 'AllocationFailed'
  await writers.status.status(context, contextStatus(context, [], refused(reason, back.message)), signal)
  if (!ranges) return waiting(back.message)
  return again(back.kind === 'occupied' ? ranges.retryRefusedMs : askAgainMs, back.message)
}
