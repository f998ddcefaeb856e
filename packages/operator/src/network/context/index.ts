/** The network context controller: each family of a context gets a Subnet that no other context of the network shares. Key: context. */
import { managers } from '@nso/api'
import { type Controller, type Key, settled, waiting } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import { contextWriters, controllerNames, type NetworkOptions } from '../parts.ts'
import { createRangeAsker } from '../range-claim.ts'
import { rangeWatches } from '../range-watches.ts'
import { type ContextActors, release, serve } from './act.ts'
import { trackAhead } from './ahead.ts'
import { decide } from './decide.ts'
import { observe, type Sources } from './observe.ts'
import { contextWatches } from './wake.ts'

export function createContextController(options: NetworkOptions): Controller {
  const { caches, environment } = options
  const { ranges } = options
  const asker = ranges && createRangeAsker(ranges, { clock: options.clock, fieldManager: managers.networkContext })
  const actors: ContextActors = { caches, client: environment.client, writers: contextWriters(options), ranges: asker }
  /** Ranges that passes running now are about to write, so that two contexts of a network do not choose one block. */
  const carving = new Map<Key, readonly Block[]>()
  const sources: Sources = { caches, ahead: trackAhead(caches), carving, ranges }
  return {
    name: controllerNames.context,
    watches: [...contextWatches(caches), ...(ranges ? rangeWatches(ranges, caches.contexts, 'context') : [])],
    needs: [
      { cache: caches.contexts },
      { cache: caches.subnets },
      { cache: caches.networks },
      ...(ranges ? [{ cache: ranges.namespaces }] : []),
    ],
    async reconcile({ key, signal }) {
      const context = caches.contexts.get(key)
      if (!context) return settled
      const seen = observe(sources, context)
      const decision = decide(seen)
      if (decision.do === 'wait') return waiting(decision.on)
      if (decision.do === 'release') return release(actors, context, decision, signal)
      carving.set(
        key,
        decision.create.map(({ range }) => range),
      )
      try {
        return await serve(actors, seen, decision, signal)
      } finally {
        carving.delete(key)
      }
    },
    forget: actors.writers.status.forget,
  }
}
