/** Which contexts a change elsewhere concerns. Every mapping goes through an index: no change wakes a whole namespace. */
import type { NetworkContext, Subnet } from '@nso/api'
import { type Change, type Key, keyFor, keyOf, type Watch, watch } from 'kube-control-loop'
import type { NetworkCaches } from '../parts.ts'
import { networksOf } from './ahead.ts'
import { contextNameIn } from './standing.ts'

type Stored = Pick<NetworkCaches, 'contexts' | 'subnets'>

export function contextWatches(caches: Stored & Pick<NetworkCaches, 'networks'>): Watch[] {
  return [
    watch(caches.contexts, (change) => byContext(caches, change)),
    watch(caches.subnets, (change) => bySubnet(caches, change)),
    watch(caches.networks, ({ key }) => byNetwork(caches, key)),
  ]
}

/**
 * The context itself; and when it appears, goes or is of another network than before, all that its Subnets were in the way of, or
 * are now: whose Subnets they are is known by it. A context without Subnets is in nobody's way.
 */
export function byContext(caches: Stored, { key, before, after }: Change<NetworkContext>): Set<Key> {
  const [was, is] = [before && networkOf(before), after && networkOf(after)]
  if (was === is || caches.subnets.by('context', key).length === 0) return new Set([key])
  const networks = [was, is, ...networksOf(key)].flatMap((network) => network ?? [])
  return new Set([key, ...networks.flatMap((network) => byNetwork(caches, network))])
}

/**
 * The contexts that the Subnet is and was of, and the one whose name it has; when a range is not theirs any more, also the
 * contexts of the network, which may have waited for it. While its context does not stand, every network that it may be of
 * keeps clear of the range.
 */
export function bySubnet(caches: Stored, { before, after }: Change<Subnet>): Set<Key> {
  const either = [before, after].flatMap((subnet) => subnet ?? [])
  const keys = new Set(either.flatMap((subnet) => [contextOf(subnet), ...namesakeOf(subnet)]))
  if (!before || (after && takenIn(before) === takenIn(after))) return keys
  const own = contextOf(before)
  const context = caches.contexts.get(own)
  const networks = [...(context ? [networkOf(context)] : []), ...networksOf(own)]
  return new Set([...keys, ...networks.flatMap((network) => byNetwork(caches, network))])
}

const byNetwork = ({ contexts }: Pick<Stored, 'contexts'>, network: Key): Key[] => contexts.by('network', network).map(keyOf)

const networkOf = ({ spec, metadata }: NetworkContext): Key => keyFor(spec.network.name, metadata.namespace)

const contextOf = ({ spec, metadata }: Subnet): Key => keyFor(spec.networkContext.name, metadata.namespace)

/** Under this name the context would make its own, whichever context the Subnet says. */
function namesakeOf({ metadata }: Subnet): Key[] {
  const name = contextNameIn(metadata.name)
  return name === undefined ? [] : [keyFor(name, metadata.namespace)]
}

/** Which range the Subnet takes, and of whom. */
function takenIn({ spec }: Subnet): string {
  return `${spec.networkContext.name} ${spec.ipFamily} ${spec.startAddress}/${spec.prefixLength}`
}
