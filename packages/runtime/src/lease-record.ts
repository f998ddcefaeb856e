/**
 * The Lease as one process sees it: when it last looked different (on the own monotonic clock, never by the times in it),
 * whether it may be taken, and the two writes that take and give it up. Source: coordination.k8s.io/v1, KEP-589.
 */
import { ApiError } from './api-error.ts'
import type { Client } from './client.ts'
import type { Clock } from './clock.ts'
import type { Kind, KubeObject } from './kind.ts'
import { microTime } from './micro-time.ts'

/** Times are MicroTime texts. */
export type LeaseSpec = {
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export const leaseKind: Kind<LeaseSpec, never> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
}

type Lease = KubeObject<LeaseSpec, never>

export type LeaseRecordOptions = {
  client: Client
  clock: Clock
  lease: { namespace: string; name: string }
  identity: string
  fieldManager: string
  /** Written as the term of this process, in whole seconds. */
  termMs: number
}

export type LeaseRecord = {
  read(signal: AbortSignal): Promise<void>
  readonly holder: string | undefined
  /** Whether it may be taken: missing, free, ours, or unchanged for its holder's own term. */
  isFree(): boolean
  /** Takes or renews it as it was last seen. Rejects when it looks different by now: `isLostRace` tells. */
  claim(signal: AbortSignal): Promise<void>
  /** Frees it as it was last seen; does nothing when it is not ours. */
  giveUp(signal: AbortSignal): Promise<void>
}

/** An answer that says "somebody else was first": taken, or a failed test, whose 422 names no cause. Any other is a fault. */
export function isLostRace(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 409 || (error.status === 422 && error.causes.length === 0))
}

export function createLeaseRecord(options: LeaseRecordOptions): LeaseRecord {
  const { client, clock, lease: at, identity, termMs } = options
  const by = { fieldManager: options.fieldManager }
  let seen: { lease: Lease; text: string; since: number } | undefined

  const remember = (lease: Lease) => {
    const text = JSON.stringify([lease.metadata.uid, lease.spec])
    seen = { lease, text, since: seen?.text === text ? seen.since : clock.monotonic() }
  }

  const replace = async ({ metadata }: Lease, value: LeaseSpec, signal: AbortSignal) => {
    const operations = [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: '/spec', value },
    ] as const
    remember(await client.jsonPatch(leaseKind, at, operations, by, signal))
  }

  const ours = (before: LeaseSpec | undefined): LeaseSpec => {
    const now = microTime(clock.now())
    const isKept = before?.holderIdentity === identity
    const transitions = before?.leaseTransitions ?? 0
    return {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(termMs / 1000)),
      acquireTime: (isKept && before.acquireTime) || now,
      renewTime: now,
      leaseTransitions: before === undefined || isKept ? transitions : transitions + 1,
    }
  }

  return {
    async read(signal) {
      const found = await client.find(leaseKind, at, signal)
      if (found) remember(found)
      else seen = undefined
    },
    get holder() {
      return seen?.lease.spec?.holderIdentity || undefined
    },
    isFree() {
      const { holderIdentity, leaseDurationSeconds } = seen?.lease.spec ?? {}
      if (!seen || !holderIdentity || holderIdentity === identity) return true
      const holdersTermMs = leaseDurationSeconds ? leaseDurationSeconds * 1000 : termMs
      return clock.monotonic() - seen.since >= holdersTermMs
    },
    async claim(signal) {
      if (seen) return replace(seen.lease, ours(seen.lease.spec), signal)
      const body: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...at }, spec: ours(undefined) }
      remember(await client.create(leaseKind, body, by, signal))
    },
    async giveUp(signal) {
      const spec = seen?.lease.spec
      if (!seen || spec?.holderIdentity !== identity) return
      const now = microTime(clock.now())
      const { leaseTransitions = 0 } = spec
      // A duration of 0 would be refused.
      const freed = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions }
      await replace(seen.lease, freed, signal)
    },
  }
}
