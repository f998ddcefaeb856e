/** Whether NSO and the data planes that are known run, by the Leases that their leading processes renew. Pure. */
import { nsoAccount } from '@nso/api'
import { leaseName as nsoLease } from '@nso/operator'
import { galacticAccount, leaseName as galacticLease } from 'galactic'
import { bridgeAccount, leaseName as bridgeLease } from 'kube-bridge'
import { type Kind, type KubeObject, leaseKind } from 'kube-control-loop'
import { pick, textAt } from '../owners/stored.ts'
import type { Component } from '../owners/table.ts'
import { span } from './ages.ts'
import { findIn, gapOf, type Snapshot } from './snapshot.ts'

export const leaseRef: Kind = leaseKind

/** Where the components lead, unless told otherwise. */
export const leaderLeases = [
  { component: 'NSO', namespace: nsoAccount.namespace, name: nsoLease },
  { component: 'Galactic', namespace: galacticAccount.namespace, name: galacticLease },
  { component: 'Bridge', namespace: bridgeAccount.namespace, name: bridgeLease },
] as const satisfies readonly { component: Component; namespace: string; name: string }[]

export type Leader = {
  component: string
  lease: string
  /** `unknown`: the Lease was not read. */
  state: 'leading' | 'expired' | 'given up' | 'none' | 'unknown'
  holder?: string
  renewed?: string
  /** The same as a sentence. */
  says: string
}

/** NSO, those that have a Lease, and the component whose data plane the chain goes through, whether it has one or not. */
export function leadersIn(snapshot: Snapshot, inChain: Component | undefined): Leader[] {
  return leaderLeases
    .filter(({ component, ...at }) => component === 'NSO' || component === inChain || findIn(snapshot, leaseRef, at))
    .map(({ component, ...at }) => leaderOf(snapshot, component, at))
}

function leaderOf(snapshot: Snapshot, component: string, at: { namespace: string; name: string }): Leader {
  const lease = `${at.namespace}/${at.name}`
  const found = findIn(snapshot, leaseRef, at)
  if (!found) {
    const gap = gapOf(snapshot, leaseRef, at.namespace)
    if (gap)
      return {
        component,
        lease,
        state: 'unknown',
        says: `whether ${component} runs is not known: its Lease ${lease} ${gap.why === 'not in the dump' ? 'is not in the dump' : 'could not be read'}`,
      }
    return { component, lease, state: 'none', says: `${component} is not running: there is no Lease ${lease}` }
  }
  const [holder, renewed] = [textAt(found.spec, 'holderIdentity'), renewedAt(found)]
  const known = { component, lease, ...(holder ? { holder } : {}), ...(renewed ? { renewed } : {}) }
  if (holder === undefined)
    return { ...known, state: 'given up', says: `${component} is not running: nobody holds its Lease ${lease}` }
  const term = pick(found.spec, 'leaseDurationSeconds')
  const sinceMs = renewed === undefined ? Number.POSITIVE_INFINITY : snapshot.at.getTime() - Date.parse(renewed)
  // The clocks of two machines may be compared here: some seconds of doubt are in the holder's favour.
  if (sinceMs > (typeof term === 'number' ? term : 15) * 1000 + 2000) {
    const since = renewed === undefined ? 'was never renewed' : `was last renewed ${span(sinceMs)} ago`
    return { ...known, state: 'expired', says: `${component} is not running: its Lease ${lease} ${since}` }
  }
  const says = snapshot.isNewest
    ? `${component} ran, as far as the dump tells: ${holder} led at ${renewed}`
    : `${component} runs: ${holder} leads`
  return { ...known, state: 'leading', says }
}

/** By the server's clock where it can be told: the holder's may be wrong. */
function renewedAt(lease: KubeObject): string | undefined {
  const entries = lease.metadata.managedFields ?? []
  const entry = entries.find(({ fieldsV1 }) => pick(fieldsV1, 'f:spec', 'f:renewTime') !== undefined)
  return entry?.time ?? textAt(lease.spec, 'renewTime')
}

/** Why a component cannot be expected to act; undefined when it runs, or nothing is known of it. */
export function absenceOf(leaders: readonly Leader[], component: string | undefined): string | undefined {
  const leader = leaders.find((each) => each.component === component)
  return leader && leader.state !== 'leading' && leader.state !== 'unknown' ? leader.says : undefined
}
