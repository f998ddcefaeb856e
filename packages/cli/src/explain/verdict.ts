/**
 * The first hop of the chain that does not hold, as one sentence. Each check looks at one hop and says what is wrong there;
 * the first that says something is the verdict. Pure.
 */
import { claimReadyOrder } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { conditionOf, conditionsOf } from '../owners/stored.ts'
import type { Break, Check } from './break.ts'
import { deletionVerdict, going } from './deletion.ts'
import {
  absent,
  ageOf,
  brief,
  type Facts,
  isTrue,
  linkAsked,
  missing,
  nameOf,
  observedBy,
  refOf,
  reported,
  reportOf,
  stalenessOf,
} from './facts.ts'
import type { ObjectName, Verdict } from './model.ts'
import { remedyFor } from './remedy.ts'
import { brokenContract, refusedChange } from './verdict-contract.ts'
import { foreignNetworkObject } from './verdict-network.ts'
import { attachmentBreak, planeBreak, reportBreak } from './verdict-plane.ts'
import { rejectionAt } from './verdict-rejection.ts'
import { isForeign, writtenOn } from './written.ts'

/** Somebody else has written a condition, whatever it says: nothing below can be concluded from it. */
const foreignWriter: Check = (facts) => {
  const { chain, tells } = facts
  const links = [linkAsked(facts), chain.interface, chain.attachment, chain.networkObject]
  for (const object of links.flatMap((link) => link?.object ?? [])) {
    for (const { type = '' } of conditionsOf(object)) {
      const written = writtenOn({ object, tells }, `conditions/${type}`)
      if (!isForeign(written)) continue
      const because = `condition ${type}: ${written.complaint}${absent(facts, written.documented?.component)}`
      return { at: refOf(object), because }
    }
  }
  return undefined
}

const parts = { claim: claimReadyOrder, interface: ['Allocated', 'Prepared', 'Programmed'] } as const

/** Claim and interface, as far as it is the one of this claim. */
function ownObjects({
  chain: { target, claim, heldBy, interface: nic },
}: Facts): { object: KubeObject; types: readonly string[] }[] {
  const links = [
    ...(target.kind === 'claim' ? [{ link: claim, types: [...parts.claim, 'Ready'] }] : []),
    ...(heldBy === undefined ? [{ link: nic, types: parts.interface }] : []),
  ]
  return links.flatMap(({ link, types }) => (link?.object ? [{ object: link.object, types }] : []))
}

/** A condition that somebody took away leaves no trace of who. */
const takenAway: Check = (facts) => {
  for (const { object, types } of ownObjects(facts)) {
    if (object.status === undefined) continue
    const gone = types.find((type) => conditionOf(object, type) === undefined)
    if (gone === undefined) continue
    const because = `condition ${gone} is gone, and nothing tells who took it away${absent(facts, 'NSO')}`
    return { at: refOf(object), because }
  }
  return undefined
}

/** Nothing but what the schema's default put there. */
const nothingSaid: Check = (facts) => {
  const object = linkAsked(facts)?.object
  if (!object || conditionsOf(object).some(({ type = '' }) => reported(object, type))) return undefined
  const since = ageOf(facts, object.metadata.creationTimestamp)
  return { at: refOf(object), because: `NSO has said nothing of it for ${since ?? 'all its life'}${absent(facts, 'NSO')}` }
}

/** The claim says that it is bound to an interface that says otherwise. */
const heldByOther: Check = ({ chain: { claim, heldBy, interface: nic } }) => {
  if (heldBy === undefined || !isTrue(claim?.object, 'Bound')) return undefined
  return { at: nic.wanted, because: `it is held by ${heldBy}, although ${nameOf(claim?.wanted ?? nic.wanted)} says Bound=True` }
}

/** The interface goes under a claim that stands. */
const interfaceGoing: Check = (facts) => {
  const { target, heldBy, interface: nic } = facts.chain
  if (target.kind === 'interface' || heldBy !== undefined || !nic.object?.metadata.deletionTimestamp) return undefined
  return { at: nic.wanted, because: `${going(facts, nic.object)}, although its claim stands; NSO makes another when it is gone` }
}

/** What it says is of an earlier generation: NSO has not looked at the change. */
const outdated: Check = (facts) => {
  for (const { object, types } of ownObjects(facts)) {
    const stale = conditionsOf(object).find((each) => types.includes(each.type) && stalenessOf(object, each) !== undefined)
    if (!stale) continue
    const because = `${stale.type} speaks of generation ${observedBy(object, stale)}, and it is at ${object.metadata.generation}: NSO has not looked at the change yet${absent(facts, 'NSO')}`
    return { at: refOf(object), because }
  }
  return undefined
}

/** The claim is not bound, or has no addresses. */
const rejected: Check = (facts) => {
  const object = linkAsked(facts)?.object
  if (!object) return undefined
  const isClaim = facts.chain.target.kind === 'claim'
  const first = isClaim ? (['Bound', 'Allocated'] as const) : (['Allocated'] as const)
  const unmet = first.map((type) => conditionOf(object, type)).find((condition) => condition && condition.status !== 'True')
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
    return { at: refOf(object), because: `condition ${unmet} does not hold: ${brief(conditionOf(object, unmet)?.message)}` }
  return { at: refOf(object), because: `all its parts hold, and NSO has not made it Ready${absent(facts, 'NSO')}` }
}

const checks: readonly Check[] = [
  foreignWriter,
  takenAway,
  nothingSaid,
  interfaceGoing,
  outdated,
  heldByOther,
  rejected,
  noInterface,
  planeBreak,
  foreignNetworkObject,
  attachmentBreak,
  refusedChange,
  brokenContract('prepared'),
  reportBreak('prepared'),
  brokenContract('programmed'),
  reportBreak('programmed'),
  notTakenOver,
  notComputed,
]

function isWell(facts: Facts, object: KubeObject): boolean {
  const types = facts.chain.target.kind === 'claim' ? [...parts.claim, 'Ready'] : parts.interface
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
    if (found) return brokenAt(found)
  }
  if (!object || !isWell(facts, object)) {
    const at = linkAsked(facts)?.wanted ?? facts.chain.interface.wanted
    return { state: 'broken', at, sentence: `Broken at ${nameOf(at)}: it is not ready, and nothing that was read tells why.` }
  }
  const what = facts.chain.target.kind === 'claim' ? 'is Ready' : 'is allocated, prepared and programmed'
  return { state: 'ready', sentence: `${nameOf(refOf(object))} ${what}.` }
}

function brokenAt({ at, because, said }: Break): Verdict {
  const remedy = remedyFor(said)
  const sentence = `Broken at ${nameOf(at)}: ${because}.`
  return { state: 'broken', at: named(at), sentence, ...(remedy === undefined ? {} : { remedy }) }
}

const named = ({ apiVersion, kind, namespace, name }: ObjectName): ObjectName => ({
  ...{ apiVersion, kind, ...(namespace ? { namespace } : {}), name },
})
