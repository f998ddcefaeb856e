/** Checks of the hops at the data plane: the DataPlane, the network object, the attachment and its report. Pure. */
import type { DataPlane } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { conditionOf, conditionsOf, groupOf, type StoredCondition } from '../owners/stored.ts'
import { rowOf } from '../owners/table.ts'
import type { Break, Check } from './break.ts'
import type { Link } from './chain.ts'
import {
  absent,
  ageOf,
  type Facts,
  isTrue,
  missing,
  nameOf,
  refOf,
  reported,
  reporterOf,
  reportOf,
  showCondition,
  stalenessOf,
} from './facts.ts'

type Part = 'prepared' | 'programmed'

const types = { prepared: 'Prepared', programmed: 'Programmed' } as const

/** Whether claim (or interface) say that this part holds, and the attachment does not contradict. */
function holds({ chain }: Facts, part: Part): boolean {
  const asked = chain.target.kind === 'claim' ? chain.claim?.object : chain.interface.object
  return isTrue(asked, types[part]) && isTrue(chain.interface.object, types[part])
}

const waits = (condition: string): string => `; NSO waits for its condition ${condition}`

function planeFault(plane: DataPlane): string | undefined {
  const bad = ['Accepted', 'Installed', 'Permitted']
    .flatMap((type) => conditionOf(plane, type) ?? [])
    .find(({ status }) => status !== 'True')
  return bad && `${showCondition(bad)}${bad.message ? `: ${bad.message.replace(/\.$/, '')}` : ''}`
}

/** The data plane was not chosen, is gone, or cannot be used. */
function planeBreak({ chain, ...rest }: Facts): Break | undefined {
  const { plane, planes, location } = chain
  const api = 'networking.datumapis.com/v1alpha'
  if (plane.object) {
    const fault = planeFault(plane.object)
    return fault === undefined ? undefined : { at: refOf(plane.object), because: fault }
  }
  if (plane.chosen) {
    const { name, uid } = plane.chosen
    const gap = missing({ chain, ...rest }, { wanted: { apiVersion: api, kind: 'DataPlane', name }, object: undefined })
    if (!gap.isKnown) return undefined
    return {
      at: { apiVersion: api, kind: 'DataPlane', name },
      because: `the interface was given the one with uid ${uid}, which is not there any more`,
    }
  }
  const faulty = planes.find((each) => planeFault(each) !== undefined)
  if (faulty) return { at: refOf(faulty), because: planeFault(faulty) ?? '' }
  const where = `serves location ${location ?? '(unknown)'}`
  const because =
    planes.length === 0
      ? `there is none, so none ${where}`
      : `none of ${planes.map((each) => each.metadata.name).join(', ')} ${where}`
  return { at: { apiVersion: api, kind: 'DataPlane', name: '(none)' }, because }
}

/** The attachment is not there, is going, or is another's. */
export function attachmentBreak(part: Part): Check {
  return (facts) => {
    const { attachment, interface: nic } = facts.chain
    if (holds(facts, part)) return undefined
    if (!attachment?.object) {
      const plane = planeBreak(facts)
      if (plane || !attachment) return plane
      const { isKnown, says } = missing(facts, attachment)
      return isKnown ? { at: attachment.wanted, because: `it ${says}; NSO makes it${absent(facts, 'NSO')}` } : undefined
    }
    const { metadata } = attachment.object
    if (metadata.deletionTimestamp) return { at: refOf(attachment.object), because: 'it is being deleted' }
    const owner = metadata.ownerReferences?.find(({ controller }) => controller)
    const isOurs = owner === undefined || nic.object === undefined || owner.uid === nic.object.metadata.uid
    return isOurs
      ? undefined
      : {
          at: refOf(attachment.object),
          because: `it belongs to ${owner.kind} ${owner.name} with uid ${owner.uid}, not to this interface`,
        }
  }
}

/** What the network object lacks, where an attachment that does not hold may be due to it. */
function networkBreak(facts: Facts): Break | undefined {
  const link = facts.chain.networkObject
  if (!link) return undefined
  if (!link.object) {
    const { isKnown, says } = missing(facts, link)
    return isKnown
      ? { at: link.wanted, because: `it ${says}; NSO makes it when its context has its subnets${absent(facts, 'NSO')}` }
      : undefined
  }
  const expected = expectedConditions(link)
  const silent = expected.find((type) => !reported(link.object, type))
  if (silent) return { at: refOf(link.object), because: silence(facts, link.object, silent) }
  const bad = conditionsOf(link.object).find(({ status }) => status === 'False')
  return bad && { at: refOf(link.object), because: showReport(facts, link.object, bad) }
}

function expectedConditions({ wanted }: Link): string[] {
  const row = rowOf(groupOf(wanted.apiVersion), wanted.kind)
  return row?.status.flatMap(({ owns }) => owns.flatMap((path) => /^conditions\/(\w+)$/.exec(path)?.[1] ?? [])) ?? []
}

/** `Galactic has reported nothing for 45 s (no condition Ready written by galactic-vpcattachment)` */
function silence(facts: Facts, object: KubeObject, type: string): string {
  const { name, writer, component } = reporterOf(facts, object, type)
  const since = ageOf(facts, object.metadata.creationTimestamp)
  const nothing = object.status === undefined ? 'no status' : `no condition ${type}`
  const by = writer === undefined ? nothing : `${nothing} written by ${writer}`
  return `${name} has reported nothing${since === undefined ? '' : ` for ${since}`} (${by})${absent(facts, component)}`
}

function showReport(facts: Facts, object: KubeObject, condition: StoredCondition): string {
  const { name } = reporterOf(facts, object, condition.type ?? '')
  const since = ageOf(facts, condition.lastTransitionTime)
  return `${name} says ${showCondition(condition)}${since === undefined ? '' : ` for ${since}`}: ${condition.message?.replace(/\.$/, '') ?? ''}`
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
    if (!condition) return { at: refOf(object), because: silence(facts, object, type) + waits(type) }
    const stale = stalenessOf(object, condition)
    if (stale) return { at: refOf(object), because: staleReport(facts, object, condition, stale) + waits(type) }
    const missingRoute = part === 'programmed' ? notAdvertised(facts) : undefined
    return { at: refOf(object), because: showReport(facts, object, condition) + (missingRoute ?? '') + waits(type) }
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
