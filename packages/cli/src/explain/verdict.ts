/**
 * The first hop of the chain that does not hold, as one sentence. Each check looks at one hop and says what is wrong there;
 * the first that says something is the verdict. Pure.
 */
import { claimReadyOrder } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { conditionOf, conditionsOf } from '../owners/stored.ts'
import type { Check } from './break.ts'
import type { Link } from './chain.ts'
import { deletionVerdict } from './deletion.ts'
import { absent, ageOf, type Facts, isTrue, missing, nameOf, refOf, reported, reportOf } from './facts.ts'
import type { ObjectName, Verdict } from './model.ts'
import { attachmentBreak, reportBreak } from './verdict-plane.ts'
import { rejectionAt } from './verdict-rejection.ts'
import { isForeign, writtenOn } from './written.ts'

const linkAsked = ({ chain }: Facts): Link | undefined => (chain.target.kind === 'claim' ? chain.claim : chain.interface)

/** Somebody else has written a condition, whatever it says: nothing below can be concluded from it. */
const foreignWriter: Check = (facts) => {
  const { chain, tells } = facts
  const links = [linkAsked(facts), chain.interface, chain.attachment, chain.networkObject]
  for (const object of links.flatMap((link) => link?.object ?? [])) {
    for (const { type = '' } of conditionsOf(object)) {
      const written = writtenOn({ object, tells }, `conditions/${type}`)
      if (isForeign(written)) return { at: refOf(object), because: `condition ${type}: ${written.complaint}` }
    }
  }
  return undefined
}

/** A condition that somebody took away leaves no trace of who. */
const takenAway: Check = (facts) => {
  const object = linkAsked(facts)?.object
  if (!object || object.status === undefined) return undefined
  const types = facts.chain.target.kind === 'claim' ? claimReadyOrder : (['Allocated', 'Prepared', 'Programmed'] as const)
  const gone = types.find((type) => conditionOf(object, type) === undefined)
  return (
    gone && { at: refOf(object), because: `condition ${gone} is gone, and nothing tells who took it away${absent(facts, 'NSO')}` }
  )
}

/** Nothing but what the schema's default put there. */
const nothingSaid: Check = (facts) => {
  const object = linkAsked(facts)?.object
  if (!object || conditionsOf(object).some(({ type = '' }) => reported(object, type))) return undefined
  const since = ageOf(facts, object.metadata.creationTimestamp)
  return { at: refOf(object), because: `NSO has said nothing of it for ${since ?? 'all its life'}${absent(facts, 'NSO')}` }
}

/** The claim is not bound, or has no addresses. */
const rejected: Check = (facts) => {
  const object = linkAsked(facts)?.object
  if (!object) return undefined
  const isClaim = facts.chain.target.kind === 'claim'
  const parts = isClaim ? (['Bound', 'Allocated'] as const) : (['Allocated'] as const)
  const unmet = parts.map((type) => conditionOf(object, type)).find((condition) => condition && condition.status !== 'True')
  const ready = conditionOf(object, 'Ready')
  // A claim that keeps what it holds, and is rejected all the same, says so in Ready alone.
  const only = isClaim && ready && ready.status !== 'True' && !/^Not[A-Z]/.test(ready.reason ?? '') && reported(object, 'Ready')
  const condition = unmet ?? (only ? ready : undefined)
  return condition && rejectionAt(facts, object, condition)
}

/** The interface that the claim says it holds. */
const noInterface: Check = (facts) => {
  const link = facts.chain.interface
  if (link.object) return undefined
  const { isKnown, says } = missing(facts, link)
  return isKnown
    ? { at: link.wanted, because: `it ${says}, although its claim is bound to it${absent(facts, 'NSO')}` }
    : undefined
}

/** A part holds below and is not said above. */
const notTakenOver: Check = (facts) => {
  const report = reportOf(facts)
  const [object, attachment] = [linkAsked(facts)?.object, facts.chain.attachment?.object]
  if (!object || !attachment || !report) return undefined
  const pairs = [['Prepared', report.prepared] as const, ['Programmed', report.programmed ?? report.prepared] as const]
  const behind = pairs.find(([type, condition]) => isTrue(attachment, condition) && !isTrue(object, type))
  if (!behind) return undefined
  const since = ageOf(facts, conditionOf(attachment, behind[1])?.lastTransitionTime)
  const for_ = since === undefined ? '' : ` for ${since}`
  const because = `${nameOf(refOf(attachment))} says ${behind[1]}=True${for_}, and NSO has not taken it over into ${behind[0]}${absent(facts, 'NSO')}`
  return { at: refOf(object), because }
}

/** Every part holds, and Ready does not follow. */
const notComputed: Check = (facts) => {
  const object = facts.chain.target.kind === 'claim' ? facts.chain.claim?.object : undefined
  if (!object || isTrue(object, 'Ready')) return undefined
  const unmet = claimReadyOrder.find((type) => !isTrue(object, type))
  if (unmet)
    return { at: refOf(object), because: `condition ${unmet} does not hold: ${conditionOf(object, unmet)?.message ?? ''}` }
  return { at: refOf(object), because: `all its parts hold, and NSO has not made it Ready${absent(facts, 'NSO')}` }
}

const checks: readonly Check[] = [
  foreignWriter,
  takenAway,
  nothingSaid,
  rejected,
  noInterface,
  attachmentBreak('prepared'),
  reportBreak('prepared'),
  attachmentBreak('programmed'),
  reportBreak('programmed'),
  notTakenOver,
  notComputed,
]

function isWell(facts: Facts, object: KubeObject): boolean {
  const types = facts.chain.target.kind === 'claim' ? [...claimReadyOrder, 'Ready'] : ['Allocated', 'Prepared', 'Programmed']
  return types.every((type) => isTrue(object, type))
}

/** A retained interface that waits for its next claim. */
function isFree({ chain: { target, claim, interface: nic } }: Facts): boolean {
  const status = nic.object?.status as { phase?: string } | undefined
  return target.kind === 'interface' && !claim && status?.phase === 'Available'
}

export function verdictOn(facts: Facts): Verdict {
  const object = linkAsked(facts)?.object
  const deletion = deletionVerdict(facts)
  if (deletion) return deletion
  if (object && isFree(facts))
    return { state: 'ready', sentence: `${nameOf(refOf(object))} is retained and free: no claim holds it.` }
  for (const check of checks) {
    const found = check(facts)
    if (found) return { state: 'broken', at: named(found.at), sentence: `Broken at ${nameOf(found.at)}: ${found.because}.` }
  }
  if (!object || !isWell(facts, object)) {
    const at = linkAsked(facts)?.wanted ?? facts.chain.interface.wanted
    return { state: 'broken', at, sentence: `Broken at ${nameOf(at)}: it is not ready, and nothing that was read tells why.` }
  }
  const what = facts.chain.target.kind === 'claim' ? 'is Ready' : 'is allocated, prepared and programmed'
  return { state: 'ready', sentence: `${nameOf(refOf(object))} ${what}.` }
}

const named = ({ apiVersion, kind, namespace, name }: ObjectName): ObjectName => ({
  ...{ apiVersion, kind, ...(namespace ? { namespace } : {}), name },
})
