/** The network controller: a Network gets its prefix, and a NetworkContext in each location that is served. Key: network. */
import { type Controller, type Key, keyFor, keyOf, settled, watch } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import { controllerNames, type NetworkOptions, networkWriters } from '../parts.ts'
import { type NetworkActors, release, serve } from './act.ts'
import { decide } from './decide.ts'
import { observe } from './observe.ts'

export function createNetworkController(options: NetworkOptions): Controller {
  const { caches, environment } = options
  const actors: NetworkActors = { caches, client: environment.client, writers: networkWriters(options) }
  /** Prefixes chosen by passes that run now: another network's pass must not choose the same one before it is on record. */
  const choosing = new Map<Key, Block>()
  return {
    name: controllerNames.network,
    watches: [
      watch(caches.networks, ({ key }) => [key]),
      watch(caches.contexts, ({ before, after }) => {
        const context = after ?? before
        return context ? [keyFor(context.spec.network.name, context.metadata.namespace)] : []
      }),
      watch(caches.servingLocations, () => [...caches.networks.values()].map(keyOf)),
    ],
    needs: [{ cache: caches.networks }, { cache: caches.contexts }, { cache: caches.servingLocations }],
    async reconcile({ key, signal }) {
      const network = caches.networks.get(key)
      if (!network) return settled
      const decision = decide(observe(caches, network, choosing))
      if (decision.do === 'release') return release(actors, network, decision, signal)
      if (decision.ranges.kind === 'held' && decision.ranges.prefix) choosing.set(key, decision.ranges.prefix)
      try {
        return await serve(actors, network, decision, signal)
      } finally {
        choosing.delete(key)
      }
    },
    forget: actors.writers.status.forget,
  }
}
