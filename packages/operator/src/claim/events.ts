/**
 * Which transitions of a claim are worth an Event: that it is turned away, that it loses what it had, and that this is over. Its way
 * to Ready for the first time causes none, nor does a settled claim: an Event is a write. Pure.
 */
import { type NetworkInterfaceClaim, type RejectReason, rejectReasons } from '@nso/api'
import { type Condition, type Key, keyOf } from 'kube-control-loop'
import type { Happening, Tell } from '../events.ts'
import type { Decision } from './decide.ts'
import { claimStatus, type Held, type Verdict } from './status.ts'

/** Reasons of Prepared that NSO itself gives when somebody has to act; what data planes say is theirs to tell. */
const planeTroubles = ['NoDataPlane', 'DataPlaneNotInstalled', 'NetworkObjectForeign', 'AttachmentRefused'] as const

/** All reasons of Events about a claim; docs/events.md says when and what to do. */
export const claimEventReasons = {
  Normal: ['Bound', 'Accepted', 'AddressAllocationRecovered', 'Ready'],
  Warning: [...rejectReasons, 'InterfaceLost', 'AddressAllocationMissing', ...planeTroubles, 'NotPrepared', 'NotProgrammed'],
} as const

type Reason = (typeof claimEventReasons)[keyof typeof claimEventReasons][number]
/** The action of events about the data plane's side. */
const attaching = 'AttachInterface'

export type ClaimEvent = Happening<Reason>

/** What a pass did, and whether people were told that the claim is not ready. */
export type Circumstances = { readonly did: Decision['do']; readonly isTroubled: boolean }

/**
 * Compares with the status that stands, so that a repeated pass over the same world tells it once, in whatever process. At most
 * one: the worst that has come, else that the worst of before is over.
 */
export function eventFor(claim: NetworkInterfaceClaim, verdict: Verdict, circumstances: Circumstances): ClaimEvent | undefined {
  const said = (type: string) => claim.status?.conditions?.find((one) => one.type === type)
  switch (verdict.kind) {
    case 'rejected': {
      const { reason, message } = verdict.rejection
      return said('Ready')?.reason === reason ? undefined : { type: 'Warning', reason, action: 'BindClaim', message }
    }
    case 'waiting':
      if (said('Bound')?.status !== 'True') return undefined
      return { type: 'Warning', reason: 'InterfaceLost', action: 'BindClaim', message: verdict.message }
    case 'held':
      return (
        lossOf(verdict.held, said) ?? unreadiness(claim, verdict, said) ?? recovery(claim, verdict, { said, ...circumstances })
      )
  }
}

type Said = (type: string) => Condition | undefined

function lossOf({ nic, allocation, report: { prepared } }: Held, said: Said): ClaimEvent | undefined {
  if (allocation.kind === 'missing' && said('Allocated')?.reason !== 'AddressAllocationMissing') {
    const { message } = allocation
    return { type: 'Warning', reason: 'AddressAllocationMissing', action: 'VerifyAllocation', message, related: nic }
  }
  const trouble = planeTroubles.find((reason) => reason === prepared.reason)
  if (trouble === undefined || said('Prepared')?.reason === trouble) return undefined
  return { type: 'Warning', reason: trouble, action: attaching, message: prepared.message, related: nic }
}

/** A claim that was Ready, and is now said not to be. What is merely not known is no failure and may pass in a moment. */
function unreadiness(claim: NetworkInterfaceClaim, verdict: Verdict & { kind: 'held' }, said: Said): ClaimEvent | undefined {
  const ready = readyOf(claim, verdict)
  if (said('Ready')?.status !== 'True' || ready?.status !== 'False') return undefined
  const { reason, message } = ready
  if (reason !== 'NotPrepared' && reason !== 'NotProgrammed') return undefined
  return { type: 'Warning', reason, action: attaching, message, related: verdict.held.nic }
}

function recovery(
  claim: NetworkInterfaceClaim,
  verdict: Verdict & { kind: 'held' },
  { said, did, isTroubled }: Circumstances & { said: Said },
): ClaimEvent | undefined {
  const { nic, allocation } = verdict.held
  const over = (reason: (typeof claimEventReasons.Normal)[number], message: string): ClaimEvent => ({
    ...{ type: 'Normal', reason, message, related: nic },
    action: reason === 'Ready' ? attaching : reason === 'AddressAllocationRecovered' ? 'VerifyAllocation' : 'BindClaim',
  })
  const [bound, ready] = [said('Bound'), said('Ready')]
  const isMade = did === 'create' || did === 'bind'
  if (bound?.status === 'True' ? isMade : isTold(bound)) return over('Bound', `Bound to network interface ${nic.metadata.name}.`)
  if (isRejection(ready?.reason)) return over('Accepted', `Network interface ${nic.metadata.name} is as the claim asks again.`)
  if (said('Allocated')?.reason === 'AddressAllocationMissing' && allocation.kind === 'standing') {
    return over('AddressAllocationRecovered', `Every address of network interface ${nic.metadata.name} is allocated again.`)
  }
  if (!isTroubled || readyOf(claim, verdict)?.status !== 'True') return undefined
  return over('Ready', `Network interface ${nic.metadata.name} is prepared and programmed.`)
}

const readyOf = (claim: NetworkInterfaceClaim, verdict: Verdict) =>
  claimStatus(claim, verdict).conditions.find(({ type }) => type === 'Ready')

const isRejection = (reason: string | undefined): boolean => rejectReasons.includes(reason as RejectReason)

/** Somebody has said it: the defaults of the schema bear the epoch. */
const isTold = (condition: Condition | undefined): boolean =>
  condition !== undefined && Date.parse(condition.lastTransitionTime) !== 0

/** What the claim's status told of a data plane that somebody has to act on. */
const isInTrouble = ({ status }: NetworkInterfaceClaim): boolean => {
  const reason = status?.conditions?.find(({ type }) => type === 'Prepared')?.reason
  return planeTroubles.some((one) => one === reason)
}

/**
 * Remembers which claims people were told of as not ready, since a status that is False may also be a step on the way to Ready.
 * A new process knows of the data plane's troubles by the status, not of a claim that was Ready once: that it is so again is not
 * told then.
 */
export function createTeller(tell: Tell) {
  const troubled = new Set<Key>()
  return {
    /** Before the status is written; the answer tells of it afterwards. */
    of(claim: NetworkInterfaceClaim, verdict: Verdict, did: Decision['do']): () => void {
      const key = keyOf(claim)
      if (isInTrouble(claim)) troubled.add(key)
      const event = eventFor(claim, verdict, { did, isTroubled: troubled.has(key) })
      const isReady = readyOf(claim, verdict)?.status === 'True'
      return () => {
        if (event?.type === 'Warning' && event.action === attaching) troubled.add(key)
        if (isReady) troubled.delete(key)
        if (event) tell(claim, event)
      }
    },
    forget: (key: Key) => void troubled.delete(key),
  }
}
