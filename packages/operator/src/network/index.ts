/** Networks and what belongs to them: presence in locations, ranges, and the hold that interfaces have on a context. */
import type { Controller } from 'kube-control-loop'
import { createContextController } from './context/index.ts'
import { createHoldController } from './hold/index.ts'
import { createNetworkController } from './network/index.ts'
import type { NetworkOptions } from './parts.ts'
import { createSubnetController } from './subnet/index.ts'

export type { NetworkCaches, NetworkOptions } from './parts.ts'

/**
 * The controllers of this folder, for shared caches with the indexes of caches.ts. `standalone` false, as in a cell that
 * receives contexts by propagation: only the hold, nobody makes networks there.
 */
export function createNetworkControllers(options: NetworkOptions & { standalone: boolean }): Controller[] {
  const hold = createHoldController(options)
  if (!options.standalone) return [hold]
  return [createNetworkController(options), createContextController(options), createSubnetController(options), hold]
}
