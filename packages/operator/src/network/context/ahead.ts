/**
 * Subnets made by hand whose contexts do not stand yet, found by the networks that they may be of: that the context's name
 * begins with the network's is all that tells. Kept as the caches change, so that a pass reads no Subnet of another network.
 */
import type { Subnet } from '@nso/api'
import { type Key, keyFor, splitKey } from 'kube-control-loop'
import type { NetworkCaches } from '../parts.ts'

export type Ahead = {
  /** One that turns out to be of another network has cost this one a free block, no more. */
  of(network: Key): readonly Subnet[]
}

/** Follows both caches for as long as the process lives. */
export function trackAhead({ contexts, subnets }: Pick<NetworkCaches, 'contexts' | 'subnets'>): Ahead {
  /** Keys of contexts that do not stand and have Subnets, under each network that they may be of. */
  const missing = new Map<Key, Set<Key>>()

  const note = (context: Key) => {
    const isAhead = !contexts.get(context) && subnets.by('context', context).length > 0
    for (const network of networksOf(context)) {
      const found = missing.get(network)
      if (isAhead) missing.set(network, (found ?? new Set()).add(context))
      else if (found?.delete(context) && found.size === 0) missing.delete(network)
    }
  }
  const contextOf = ({ spec, metadata }: Subnet) => keyFor(spec.networkContext.name, metadata.namespace)

  contexts.subscribe(({ key, before, after }) => {
    if (!before || !after) note(key)
  })
  subnets.subscribe(({ before, after }) => {
    const [was, is] = [before && contextOf(before), after && contextOf(after)]
    for (const context of was === is ? [] : [was, is]) if (context !== undefined) note(context)
  })
  for (const subnet of subnets.values()) note(contextOf(subnet))
  return { of: (network) => [...(missing.get(network) ?? [])].flatMap((context) => subnets.by('context', context)) }
}

/** The networks that a context may be of by its name: `net-a-dfw` of `net` and of `net-a`. */
export function networksOf(context: Key): Key[] {
  const { name, namespace } = splitKey(context)
  const parts = name.split('-')
  return parts.slice(1).map((_, at) => keyFor(parts.slice(0, at + 1).join('-'), namespace))
}
