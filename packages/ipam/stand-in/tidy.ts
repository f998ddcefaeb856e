/**
 * What is to be put right before anything else is decided: what a crash, or somebody who went past this service (the garbage
 * collector, a namespace's deletion), has left. Pure; what it says is done, read again, and asked again until it says nothing.
 */
import type { IPAllocation, IPClaim, IPPool } from '../src/index.ts'
import { bindsPool, type Standing } from './plan.ts'

export type Chore =
  | { do: 'drop-allocation'; allocation: IPAllocation }
  | { do: 'retain-allocation'; allocation: IPAllocation }
  | { do: 'drop-pool'; pool: IPPool }
  /** A claim that was stored and not answered. */
  | { do: 'answer'; claim: IPClaim }

/** On an allocation: the uid of the claim that holds it. */
export const claimUidLabel = 'ipam.miloapis.com/claim-uid'
/** On a pool that was carved, and goes when nothing is in it and nobody binds it. */
export const carvedLabel = 'ipam.miloapis.com/carved'

/** One kind of chore at a time: what is left of the next depends on it. */
export function choresIn(standing: Standing): Chore[] {
  const allocations = standing.allocations.flatMap((each) => choreOf(each, standing))
  if (allocations.length > 0) return allocations
  const unanswered = standing.claims.filter(({ metadata, status }) => !status?.phase && !metadata.deletionTimestamp)
  if (unanswered.length > 0) return unanswered.map((claim) => ({ do: 'answer', claim }))
  return standing.pools.filter((pool) => isIdle(pool, standing)).map((pool) => ({ do: 'drop-pool', pool }))
}

function choreOf(allocation: IPAllocation, { claims }: Standing): Chore[] {
  const { metadata, spec, status } = allocation
  if (metadata.deletionTimestamp || !spec.claimRef || spec.purpose !== 'Claim') return []
  const uid = metadata.labels?.[claimUidLabel]
  const holder = claims.find(
    (claim) =>
      claim.metadata.namespace === metadata.namespace &&
      claim.metadata.name === spec.claimRef?.name &&
      (uid === undefined || claim.metadata.uid === uid),
  )
  // Its range was not written yet when the service ended: the claim is not answered either.
  if (!status?.allocatedCIDR) return [{ do: 'drop-allocation', allocation }]
  if (holder) return []
  return [{ do: spec.reclaimPolicy === 'Retain' ? 'retain-allocation' : 'drop-allocation', allocation }]
}

function isIdle({ metadata }: IPPool, { pools, allocations, claims }: Standing): boolean {
  if (!metadata.labels?.[carvedLabel] || metadata.deletionTimestamp) return false
  return !isOccupied(metadata.name, { pools, allocations }) && !claims.some((claim) => isFrom(claim, metadata.name))
}

const isFrom = (claim: IPClaim, pool: string): boolean => bindsPool(claim, pool) || claim.status?.poolRef?.name === pool

/** Whether anything was given from the pool. */
export function isOccupied(pool: string, { pools, allocations }: Pick<Standing, 'pools' | 'allocations'>): boolean {
  return allocations.some(({ spec }) => spec.poolRef.name === pool) || pools.some(({ spec }) => spec.parentPoolRef?.name === pool)
}
