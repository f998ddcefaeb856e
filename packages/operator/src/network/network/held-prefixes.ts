/** The IPv6 ranges of all networks, kept as the cache changes, so that a pass that needs a free one reads no other network. */
import type { Network } from '@nso/api'
import { type Cache, type Key, keyOf, type SpecOf, type StatusOf } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import { createOccupancy } from '../../addresses/occupancy.ts'
import { type HeldBlocks, heldPrefix, statedIpv6Range } from '../ranges.ts'

export type HeldPrefixes = HeldBlocks & {
  /** A pass has chosen this one and is about to write it: nobody else is to choose it. The returned function ends that. */
  choosing(network: Key, prefix: Block): () => void
}

type Networks = Cache<SpecOf<typeof Network>, StatusOf<typeof Network>>

/** Follows the cache for as long as the process lives. */
export function trackHeldPrefixes(networks: Networks): HeldPrefixes {
  const occupancy = createOccupancy()
  const take = (key: Key, network: Network | undefined) => occupancy.add(`held ${key}`, network ? rangesOf(network) : [])
  networks.subscribe(({ key, after }) => take(key, after))
  for (const network of networks.values()) take(keyOf(network), network)
  return {
    firstFree: occupancy.firstFree,
    choosing(key, prefix) {
      const source = `chosen ${key}`
      occupancy.add(source, [prefix])
      return () => occupancy.remove(source)
    },
  }
}

/** By spec and by status: the one may be ahead of the other. */
function rangesOf(network: Network): Block[] {
  const stated = statedIpv6Range(network)
  const held = heldPrefix(network)
  return [...(stated?.kind === 'range' ? [stated.range] : []), ...(held ? [held] : [])]
}
