/**
 * How long claims take, measured where they are served: from the first sight of a new claim (its creationTimestamp has whole
 * seconds only) to the status write that says a hop is done. Claims met at start were not watched from the beginning and are
 * left out.
 */
import type { NetworkInterfaceClaim } from '@nso/api'
import { type Clock, type Key, keyOf } from 'kube-control-loop'
import { Histogram, type Registry } from 'prom-client'

export type ReadyTimes = {
  /** A claim appeared just now. */
  appeared(key: Key, uid: string): void
  /** The status of a claim was written: `before` as it stood, `after` as it stands. */
  said(before: NetworkInterfaceClaim, after: NetworkInterfaceClaim): void
  /** The key is gone. */
  forget(key: Key): void
}

const buckets = [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300]

const hops = { Bound: 'bound', Prepared: 'prepared', Ready: 'ready' } as const

export function createReadyTimes(parts: { clock: Clock; registry: Registry }): ReadyTimes {
  const registers = [parts.registry]
  const ready = new Histogram({
    name: 'nso_claim_ready_seconds',
    help: 'Seconds from the creation of a claim until it was said to be Ready',
    buckets,
    registers,
  })
  const hop = new Histogram({
    name: 'nso_claim_hop_seconds',
    help: 'Seconds from the creation of a claim until a hop of its way was said to be done',
    labelNames: ['hop'] as const,
    buckets,
    registers,
  })
  const since = new Map<Key, { uid: string; at: number }>()

  return {
    appeared: (key, uid) => since.set(key, { uid, at: parts.clock.monotonic() }),
    said(before, after) {
      const key = keyOf(after)
      const began = since.get(key)
      if (!began || began.uid !== after.metadata.uid) return
      const seconds = (parts.clock.monotonic() - began.at) / 1000
      for (const [type, label] of Object.entries(hops)) {
        if (isTrue(before, type) || !isTrue(after, type)) continue
        hop.observe({ hop: label }, seconds)
        if (label === 'ready') ready.observe(seconds)
      }
      // Also when another leader made it Ready meanwhile: a later time Ready is not the first.
      if (isTrue(after, 'Ready')) since.delete(key)
    },
    forget: (key) => since.delete(key),
  }
}

function isTrue(claim: NetworkInterfaceClaim, type: string): boolean {
  return claim.status?.conditions?.some((one) => one.type === type && one.status === 'True') === true
}
