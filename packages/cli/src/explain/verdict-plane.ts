/** Checks of the hops at the data plane: the DataPlane, the attachment and its report. Pure. */
import type { DataPlane } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { conditionOf, type StoredCondition } from '../owners/stored.ts'
import { type Break, type Check, saidBy } from './break.ts'
import { going } from './deletion.ts'
import {
  absent,
  brief,
  type Facts,
  isTrue,
  linkAsked,
  missing,
  nameOf,
  refOf,
  reported,
  reporterOf,
  reportOf,
  showCondition,
  stalenessOf,
} from './facts.ts'
import { type Part, saidByNso, types } from './verdict-contract.ts'
import { networkBreak, showReport, silence } from './verdict-network.ts'

/** Whether claim (or interface) say that this part holds. */
const holds = (facts: Facts, part: Part): boolean =>
  isTrue(linkAsked(facts)?.object, types[part]) && isTrue(facts.chain.interface.object, types[part])

/** Reasons for which NSO makes no attachment. */
const whyNot = ['AttachmentRefused', 'NetworkObjectForeign', 'DataPlaneNotInstalled', 'NoDataPlane']

/** What NSO has to do about a report: wait for it, or take back what it has said. */
function waits(facts: Facts, part: Part, condition: string): string {
  const asked = linkAsked(facts)?.object
  if (!asked || !holds(facts, part)) return `; NSO waits for its condition ${condition}`
  return `; ${nameOf(refOf(asked))} still says ${types[part]}=True${absent(facts, 'NSO')}`
}

/** Why nothing can be made for the plane; its own deletion is no fault to an interface that it serves. */
function planeFault(plane: DataPlane, serves: boolean): StoredCondition | undefined {
  return ['Accepted', 'Installed', 'Permitted']
    .flatMap((type) => conditionOf(plane, type) ?? [])
    .find(({ status, reason }) => status !== 'True' && !(serves && reason === 'Deleting'))
}

const showFault = (fault: StoredCondition): string => `${showCondition(fault)}${fault.message ? `: ${brief(fault.message)}` : ''}`

const api = 'networking.datumapis.com/v1alpha'

/** The data plane was not chosen, is gone, or cannot be used. */
export const planeBreak: Check = (facts) => {
  const { plane, offer, interface: nic } = facts.chain
  if (holds(facts, 'prepared') && holds(facts, 'programmed')) return undefined
  const asked = plane.object ?? (plane.chosen ? undefined : offer)
  const fault = asked && planeFault(asked, plane.object !== undefined)
  if (asked && fault) return { at: refOf(asked), because: `${showFault(fault)}${absent(facts, 'NSO')}`, ...saidBy(asked, fault) }
  if (plane.object || !nic.object) return undefined
  if (plane.chosen) return chosenIsGone(facts, plane.chosen)
  if (!offer) return noneServes(facts)
  const name = nameOf(refOf(offer))
  return {
    at: nic.wanted,
    because: `${name} serves its location, and NSO has not given it to the interface yet${absent(facts, 'NSO')}`,
  }
}

function chosenIsGone(facts: Facts, { name, uid }: { name: string; uid: string }): Break | undefined {
  const at = { apiVersion: api, kind: 'DataPlane', name }
  if (!missing(facts, { wanted: at, object: undefined }).isKnown) return undefined
  return { at, because: `the interface was given the one with uid ${uid}, which is not there any more${absent(facts, 'NSO')}` }
}

function noneServes(facts: Facts): Break | undefined {
  const { planes, location } = facts.chain
  const at = { apiVersion: api, kind: 'DataPlane', name: '(none)' }
  if (!missing(facts, { wanted: at, object: undefined }).isKnown) return undefined
  const where = `serves location ${location ?? '(unknown)'}`
  const names = planes.map((each) => each.metadata.name).join(', ')
  const because = planes.length === 0 ? `there is none, so none ${where}` : `none of ${names} ${where}`
  return { at, because, ...saidByNso(facts, 'prepared', ['NoDataPlane']) }
}

/** The attachment is not there, is going, or is another's: whatever claim and interface say. */
export const attachmentBreak: Check = (facts) => {
  const { attachment } = facts.chain
  if (!attachment) return undefined
  if (!attachment.object) {
    const { isKnown, says } = missing(facts, attachment)
    const because = `it ${says}${whyMissing(facts)}${absent(facts, 'NSO')}`
    return isKnown ? { at: attachment.wanted, because, ...saidByNso(facts, 'prepared', whyNot) } : undefined
  }
  const at = refOf(attachment.object)
  if (attachment.object.metadata.deletionTimestamp)
    return { at, because: `${going(facts, attachment.object)}${toReplace(facts)}` }
  const foreign = foreignOwner(facts, attachment.object)
  return foreign === undefined ? undefined : { at, because: `it ${foreign}; NSO makes its own when this one is gone` }
}

const toReplace = (facts: Facts): string => `; NSO makes another when it is gone${absent(facts, 'NSO')}`

/** Why NSO has not made it, as far as NSO has said. */
function whyMissing(facts: Facts): string {
  const said = reported(facts.chain.interface.object, 'Prepared') ?? reported(linkAsked(facts)?.object, 'Prepared')
  if (!said) return '; NSO makes it'
  if (said.status === 'True') return `, although ${nameOf(facts.chain.interface.wanted)} says Prepared=True; NSO makes it anew`
  return said.message ? `; NSO says ${showCondition(said)}: ${brief(said.message)}` : '; NSO makes it'
}

/** Whose an attachment is that is not the interface's; undefined when it is, or nothing is known of the interface. */
function foreignOwner({ chain: { interface: nic } }: Facts, { metadata }: KubeObject): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  if (!owner) return 'has no controlling owner, so it is not this interface’s'
  if (nic.object === undefined || owner.uid === nic.object.metadata.uid) return undefined
  return `belongs to ${owner.kind} ${owner.name} with uid ${owner.uid}, not to this interface`
}

/** The attachment stands, and its report does not say that the part holds. */
export function reportBreak(part: Part): Check {
  return (facts) => {
    const [object, report] = [facts.chain.attachment?.object, reportOf(facts)]
    const type = report?.[part]
    if (!object || type === undefined) return undefined
    const condition = reported(object, type)
    if (condition?.status === 'True' && !stalenessOf(object, condition)) return undefined
    const network = part === 'prepared' ? networkBreak(facts) : undefined
    if (network && condition?.status !== 'True')
      return { ...network, because: `${network.because}; ${nameOf(refOf(object))} waits for it` }
    const at = refOf(object)
    if (!condition) return { at, because: silence(facts, object, type) + waits(facts, part, type) }
    const stale = stalenessOf(object, condition)
    const because = stale ? staleReport(facts, object, condition, stale) : showReport(facts, object, condition)
    const route = part === 'programmed' && !stale ? (notAdvertised(facts) ?? '') : ''
    const said = stale ? saidByNso(facts, part, ['ReportStale']) : saidBy(object, condition)
    return { at, because: because + route + waits(facts, part, type), ...said }
  }
}

function staleReport(facts: Facts, object: KubeObject, condition: StoredCondition, stale: string): string {
  const { name, component } = reporterOf(facts, object, condition.type ?? '')
  return `its report is stale: ${stale} (${showCondition(condition)} by ${name})${absent(facts, component)}`
}

/** Of Galactic: the routes that a node is to advertise. */
function notAdvertised(facts: Facts): string | undefined {
  const link = facts.chain.made.find(({ wanted }) => wanted.kind === 'BGPAdvertisement')
  if (!link || link.object) return undefined
  return missing(facts, link).isKnown ? `; no node advertises it (there is no ${nameOf(link.wanted)})` : undefined
}
