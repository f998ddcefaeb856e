/**
 * Claims that were refused because every address was held, so that one given back reaches them at once. Written down in the
 * same turn as the refusal, since the address may come free before the claim's status tells of it. A restart loses nothing: each
 * claim is looked at anew then.
 */
import type { AddressFamily } from '@nso/api'
import type { Key } from 'kube-control-loop'
import type { AddressRequest } from './port.ts'

export type WaitingClaims = {
  /** `claim` could not be served out of `network` for want of room for this request. */
  wait(network: Key, claim: Key, request: AddressRequest): void
  /** It was served, or wants nothing any more. */
  end(claim: Key): void
  /** Those that an address of a family in a network may serve. They are asked once: who is refused again waits again. */
  take(network: Key, family: AddressFamily): readonly Key[]
  /** How many wait. */
  readonly size: number
}

export function createWaitingClaims(): WaitingClaims {
  const networks = new Map<Key, Map<Key, AddressRequest>>()
  const networkOf = new Map<Key, Key>()

  const end = (claim: Key) => {
    const network = networkOf.get(claim)
    if (network === undefined) return
    networkOf.delete(claim)
    const claims = networks.get(network)
    claims?.delete(claim)
    if (claims?.size === 0) networks.delete(network)
  }

  return {
    wait(network, claim, request) {
      end(claim)
      const claims = networks.get(network) ?? new Map<Key, AddressRequest>()
      networks.set(network, claims.set(claim, request))
      networkOf.set(claim, network)
    },
    end,
    take(network, family) {
      const waiting = [...(networks.get(network) ?? [])]
      // Which family an address of a class has is said by the Subnets of the class.
      const fitting = waiting.filter(([, request]) => request.class !== undefined || request.family === family)
      for (const [claim] of fitting) end(claim)
      return fitting.map(([claim]) => claim)
    },
    get size() {
      return networkOf.size
    },
  }
}
