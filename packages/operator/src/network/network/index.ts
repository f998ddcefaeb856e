/** The network controller: a Network gets its prefix, and a NetworkContext in each location that is served. Key: network. */
import { managers } from '@nso/api'
import { type Controller, keyFor, keyOf, settled, watch } from 'kube-control-loop'
import { controllerNames, type NetworkOptions, networkWriters } from '../parts.ts'
import { createRangeAsker } from '../range-claim.ts'
import { rangeWatches } from '../range-watches.ts'
import { type NetworkActors, release, serve } from './act.ts'
import { decide } from './decide.ts'
import { trackHeldPrefixes } from './held-prefixes.ts'
import { observe } from './observe.ts'

export function createNetworkController(options: NetworkOptions): Controller {
  const { caches, environment } = options
  const { ranges } = options
  const asker = ranges && createRangeAsker(ranges, { clock: options.clock, fieldManager: managers.network })
  const actors: NetworkActors = { caches, client: environment.client, writers: networkWriters(options), ranges: asker }
  const held = trackHeldPrefixes(caches.networks)
  return {
    name: controllerNames.network,
    watches: [
      watch(caches.networks, ({ key }) => [key]),
      watch(caches.contexts, ({ before, after }) => {
        const context = after ?? before
        return context ? [keyFor(context.spec.network.name, context.metadata.namespace)] : []
      }),
      watch(caches.servingLocations, () => [...caches.networks.values()].map(keyOf)),
      ...(ranges ? rangeWatches(ranges, caches.networks, 'network') : []),
    ],
    needs: [
      { cache: caches.networks },
      { cache: caches.contexts },
      { cache: caches.servingLocations },
      ...(ranges ? [{ cache: ranges.namespaces }] : []),
    ],
    async reconcile({ key, signal }) {
      const network = caches.networks.get(key)
      if (!network) return settled
      const decision = decide(observe(caches, network, ranges ?? held))
      if (decision.do === 'release') return release(actors, network, decision, signal)
      const chosen = !ranges && decision.ranges.kind === 'held' ? decision.ranges.prefix : undefined
      const written = chosen && held.choosing(key, chosen)
      try {
        return await serve(actors, network, decision, signal)
      } finally {
        written?.()
      }
    },
    forget: actors.writers.status.forget,
  }
}
