/** Reads what a pass over a network decides on. Caches only. */
import type { Network, NetworkContext, ServingLocation } from '@nso/api'
import { keyOf } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import { isDeleting } from '../objects.ts'
import type { NetworkCaches } from '../parts.ts'
import { heldPrefix, statedIpv6Range } from '../ranges.ts'

export type Seen = {
  network: Network
  /** All contexts of the network's name, whoever made them. */
  contexts: readonly NetworkContext[]
  /** Names of the locations that are served. */
  locations: readonly string[]
  /** IPv6 ranges of all other networks, by status, by spec, and as passes that run now are about to write. */
  heldByOthers: readonly Block[]
}

/** `choosing`: prefixes that passes over other networks have chosen and not yet written. */
export function observe(caches: NetworkCaches, network: Network, choosing: ReadonlyMap<string, Block>): Seen {
  const key = keyOf(network)
  const others = [...caches.networks.values()].filter((other) => keyOf(other) !== key)
  const chosen = [...choosing].filter(([chooser]) => chooser !== key).map(([, block]) => block)
  return {
    network,
    contexts: caches.contexts.by('network', key),
    locations: [...caches.servingLocations.values()]
      .filter((location: ServingLocation) => !isDeleting(location))
      .map((location) => location.metadata.name)
      .sort(),
    heldByOthers: [...others.flatMap(rangesOf), ...chosen],
  }
}

function rangesOf(network: Network): Block[] {
  const stated = statedIpv6Range(network)
  const held = heldPrefix(network)
  return [...(stated?.kind === 'range' ? [stated.range] : []), ...(held ? [held] : [])]
}
