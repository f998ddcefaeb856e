/** Reads what a pass over a network context decides on. Caches only. */
import { contextName, type Network, type NetworkContext, type Subnet } from '@nso/api'
import { type Key, keyFor, keyOf } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import { rangeOf } from '../../addresses/subnet-range.ts'
import type { NetworkCaches } from '../parts.ts'

export type Taken = { readonly range: Block; readonly by: string }

export type Seen = {
  context: NetworkContext
  network: Network | undefined
  /** Subnets of the context, whoever made them, by name. */
  subnets: readonly Subnet[]
  /** Subnets that stand under the names that this controller gives, of whichever context. */
  named: (name: string) => Subnet | undefined
  /** Ranges of the other contexts of the network, as stored and as passes that run now are about to write. */
  taken: readonly Taken[]
}

export type Carving = ReadonlyMap<Key, readonly Block[]>

export function observe(caches: NetworkCaches, context: NetworkContext, carving: Carving): Seen {
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
      ...[...caches.subnets.values()].filter((subnet) => isAhead(caches, subnet, context)).flatMap(takenBy),
    ],
  }
}

/**
 * A Subnet made by hand may stand before its context does; that its context's name begins with the network's is all that tells. One
 * that turns out to be of another network has cost this one a free block, no more.
 */
function isAhead(
  caches: NetworkCaches,
  { metadata, spec }: Subnet,
  { metadata: own, spec: { network } }: NetworkContext,
): boolean {
  const { name } = spec.networkContext
  const isOfNetwork = metadata.namespace === own.namespace && name.startsWith(contextName(network.name, ''))
  return isOfNetwork && name !== own.name && !caches.contexts.get(keyFor(name, metadata.namespace))
}

function takenBy(subnet: Subnet): Taken[] {
  const range = rangeOf(subnet)
  return range ? [{ range, by: `Subnet ${subnet.metadata.name}` }] : []
}
