/** The hop at the network object of the data plane, and how reports of a data plane are told. Pure. */
import type { KubeObject } from 'kube-control-loop'
import { conditionsOf, type StoredCondition } from '../owners/stored.ts'
import { documentedConditions } from '../owners/table.ts'
import type { Break } from './break.ts'
import { going } from './deletion.ts'
import { absent, ageOf, brief, type Facts, missing, refOf, reported, reporterOf, showCondition } from './facts.ts'

/** What the network object lacks, where an attachment that does not hold may be due to it. */
export function networkBreak(facts: Facts): Break | undefined {
  const link = facts.chain.networkObject
  if (!link) return undefined
  if (!link.object) {
    const { isKnown, says } = missing(facts, link)
    return isKnown
      ? { at: link.wanted, because: `it ${says}; NSO makes it when its context has its subnets${absent(facts, 'NSO')}` }
      : undefined
  }
  if (link.object.metadata.deletionTimestamp) return { at: refOf(link.object), because: going(facts, link.object) }
  const expected = documentedConditions(link.wanted)
  const silent = expected.find((type) => !reported(link.object, type))
  if (silent) return { at: refOf(link.object), because: silence(facts, link.object, silent) }
  const bad = conditionsOf(link.object).find(({ status }) => status === 'False')
  return bad && { at: refOf(link.object), because: showReport(facts, link.object, bad) }
}

/** In words, who has not reported a condition: `Galactic has reported nothing for 45 s (no condition Ready written by galactic-vpcattachment)` */
export function silence(facts: Facts, object: KubeObject, type: string): string {
  const { name, writer, component } = reporterOf(facts, object, type)
  const since = ageOf(facts, object.metadata.creationTimestamp)
  const nothing = object.status === undefined ? 'no status' : `no condition ${type}`
  const by = writer === undefined ? nothing : `${nothing} written by ${writer}`
  return `${name} has reported nothing${since === undefined ? '' : ` for ${since}`} (${by})${absent(facts, component)}`
}

export function showReport(facts: Facts, object: KubeObject, condition: StoredCondition): string {
  const { name } = reporterOf(facts, object, condition.type ?? '')
  const since = ageOf(facts, condition.lastTransitionTime)
  return `${name} says ${showCondition(condition)}${since === undefined ? '' : ` for ${since}`}: ${brief(condition.message)}`
}
