/** What a change of an object means to somebody who waits for a claim: one line a hop. Pure. */
import type { Change, KubeObject } from 'kube-control-loop'
import { conditionsOf } from './tree.ts'

/** Conditions of a claim that are hops, in the order in which they are reached. */
const claimHops = ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready']

export type Hop = { claim: string; text: string; good: boolean }

/** The hops in one change of a claim. */
export function claimHopsOf(change: Change<KubeObject>): Hop[] {
  const { before, after } = change
  if (!after) return before ? [{ claim: change.key, text: 'claim deleted', good: true }] : []
  const hops: Hop[] = before ? [] : [{ claim: change.key, text: 'claim created', good: true }]
  const was = new Map(conditionsOf(before ?? { ...after, status: {} }).map((one) => [one.type, one]))
  const moved = conditionsOf(after).filter((now) => {
    const old = was.get(now.type)
    const isSeed = now.status === 'Unknown' && now.reason === 'Pending'
    return claimHops.includes(String(now.type)) && !isSeed && (old?.status !== now.status || old?.reason !== now.reason)
  })
  const reached = moved.filter(({ status }) => status === 'True').map(({ type }) => String(type))
  if (reached.length > 0)
    hops.push({ claim: change.key, text: `${inOrder(reached).join(', ')} ${addressesOf(after)}`.trim(), good: true })
  for (const { type, status, reason, message } of moved.filter((one) => one.status === 'False'))
    hops.push({ claim: change.key, text: `${type}=${status} ${reason}: ${message}`, good: false })
  return hops
}

/** The hop that another object's appearance is for the claim of the same chain. */
export function childHopOf(change: Change<KubeObject>, claim: string | undefined): Hop[] {
  if (!claim || change.before || !change.after) return []
  return [{ claim, text: `${change.after.kind} ${change.after.metadata.name} created`, good: true }]
}

function inOrder(types: readonly string[]): string[] {
  return [...types].sort((a, b) => claimHops.indexOf(a) - claimHops.indexOf(b))
}

function addressesOf(claim: KubeObject): string {
  const { addresses } = (claim.status ?? {}) as { addresses?: { address: string }[] }
  return addresses?.length ? `(${addresses.map(({ address }) => address).join(', ')})` : ''
}
