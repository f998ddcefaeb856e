/** What to do about a network, and what is said of it: pure. */
import { type NetworkStatusIntent, networkConditions } from '../api/index.ts'

export type SeenNetwork = {
  readonly generation: number
  readonly deleting: boolean
  readonly isHeldByUs: boolean
  /** Device in the status: written once. */
  readonly bridge: string | undefined
  /** Key of an attachment of this very network, whose definition needs its ranges. */
  readonly user: string | undefined
}

export type Decision =
  | { readonly do: 'leave' }
  | { readonly do: 'name' }
  | { readonly do: 'let-go' }
  | { readonly do: 'say'; readonly bridge: string; readonly waitsFor?: string }

/**
 * A network stays while an attachment has its bridge: else a network made again under the name would split the workloads of one
 * name over two bridges. An attachment that only waits does not hold it, or neither could ever move.
 */
export function decide({ deleting, isHeldByUs, bridge, user }: SeenNetwork): Decision {
  if (!deleting) return bridge === undefined ? { do: 'name' } : { do: 'say', bridge }
  if (!isHeldByUs) return { do: 'leave' }
  return bridge === undefined || user === undefined ? { do: 'let-go' } : { do: 'say', bridge, waitsFor: user }
}

/** The complete intent of the network's one status writer. */
export function intentOf(bridge: string, generation: number, waits: boolean): NetworkStatusIntent {
  const message = waits ? `bridge ${bridge}; deletion waits until no BridgeAttachment is on it` : `bridge ${bridge}`
  return {
    observedGeneration: generation,
    bridge,
    conditions: [networkConditions.Ready.yes('BridgeNamed', message, generation)],
  }
}
