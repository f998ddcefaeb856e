/** Reads what a pass over a network context decides on. Caches only. */
import type { Network, NetworkContext, Subnet } from '@nso/api'
import { type Key, keyFor, keyOf } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import type { ProjectAnswer } from '../../addresses/ipam/project.ts'
import { rangeOf } from '../../addresses/subnet-range.ts'
import type { NetworkCaches } from '../parts.ts'
import { projectOfRange, type RangeService } from '../range-claim.ts'
import type { Ahead } from './ahead.ts'

export type Taken = {
  readonly range: Block
  readonly by: string
  /**
   * It may be of another network, whose context does not stand yet. Good for keeping clear of it, not for telling of it: whose it
   * is shows when that context comes.
   */
  readonly maybe?: boolean
}

export type Seen = {
  context: NetworkContext
  network: Network | undefined
  /** Subnets of the context, whoever made them, by name. */
  subnets: readonly Subnet[]
  /** Subnets that stand under the names that this controller gives, of whichever context. */
  named: (name: string) => Subnet | undefined
  /** Ranges of the other contexts of the network, as stored and as passes that run now are about to write. */
  taken: readonly Taken[]
  /** Absent: ranges are carved here. */
  service?: ServiceSeen
}

/** What an address service could be asked for the context. */
export type ServiceSeen = {
  readonly className: string | undefined
  readonly project: ProjectAnswer
  /** Whether Networks have ranges of the service too, out of which it carves. */
  readonly isNetworkAsked: boolean
}

export type Carving = ReadonlyMap<Key, readonly Block[]>

export type Sources = { caches: NetworkCaches; ahead: Ahead; carving: Carving; ranges: RangeService | undefined }

export function observe({ caches, ahead, carving, ranges }: Sources, context: NetworkContext): Seen {
  const { namespace } = context.metadata
  const networkKey = keyFor(context.spec.network.name, namespace)
  const own = keyOf(context)
  const others = caches.contexts.by('network', networkKey).filter((other) => keyOf(other) !== own)
  return {
    context,
    network: caches.networks.get(networkKey),
    subnets: [...caches.subnets.by('context', own)].sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1)),
    named: (name) => caches.subnets.get(keyFor(name, namespace)),
    taken: [
      ...others.flatMap((other) => [
        ...caches.subnets.by('context', keyOf(other)).flatMap(takenBy),
        ...(carving.get(keyOf(other)) ?? []).map((range) => ({ range, by: `NetworkContext ${other.metadata.name}` })),
      ]),
      ...ahead.of(networkKey).flatMap((subnet) => takenBy(subnet).map((each) => ({ ...each, maybe: true }))),
    ],
    ...(ranges ? { service: serviceSeen(ranges, context) } : {}),
  }
}

function serviceSeen(ranges: RangeService, { metadata, status }: NetworkContext): ServiceSeen {
  const { network, subnet } = ranges.classes
  const project = projectOfRange(ranges, metadata.namespace ?? '', status?.ipam?.ipv6ClaimRef)
  return { className: subnet, project, isNetworkAsked: Boolean(network) }
}

function takenBy(subnet: Subnet): Taken[] {
  const range = rangeOf(subnet)
  return range ? [{ range, by: `Subnet ${subnet.metadata.name}` }] : []
}
