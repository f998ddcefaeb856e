/** The hop at the network object of the data plane, and how reports of a data plane are told. Pure. */
import type { KubeObject } from 'kube-control-loop'
import { conditionsOf, pick, type StoredCondition } from '../owners/stored.ts'
import { documentedConditions } from '../owners/table.ts'
import { type Break, type Check, saidBy } from './break.ts'
import { going } from './deletion.ts'
import { absent, ageOf, brief, type Facts, missing, nameOf, refOf, reported, reporterOf, showCondition } from './facts.ts'
import { saidByNso } from './verdict-contract.ts'

/** Somebody else's object has the name that the network's own needs, so NSO attaches nothing to it. */
export const foreignNetworkObject: Check = (facts) => {
  const { networkObject, context, attachment } = facts.chain
  const object = networkObject?.object
  if (!object || !context?.object || object.metadata.deletionTimestamp) return undefined
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller)
  // One of an earlier context of this name is collected with it.
  if (owner && (owner.uid === context.object.metadata.uid || isNamedAs(owner, context.wanted))) return undefined
  const said = saidByNso(facts, 'prepared', ['NetworkObjectForeign'])
  // What is attached already stays attached; then it is no break of this chain.
  if (!said.said && attachment?.object) return undefined
  const whose = owner ? `belongs to ${owner.kind} ${owner.name}` : 'has no controlling owner'
  const because = `it ${whose}, and is not of ${nameOf(context.wanted)}: NSO leaves it alone, and attaches nothing to it`
  return { at: refOf(object), because, ...said }
}

const isNamedAs = (owner: { kind: string; name: string }, { kind, name }: { kind: string; name: string }): boolean =>
  owner.kind === kind && owner.name === name

/** What the network object lacks, where an attachment that does not hold may be due to it. */
export function networkBreak(facts: Facts): Break | undefined {
  const link = facts.chain.networkObject
  if (!link) return undefined
  if (!link.object) {
    const { isKnown, says } = missing(facts, link)
    return isKnown
      ? { at: link.wanted, because: `it ${says}; NSO makes it when ${lackingSubnets(facts)}${absent(facts, 'NSO')}` }
      : undefined
  }
  if (link.object.metadata.deletionTimestamp) return { at: refOf(link.object), because: going(facts, link.object) }
  const expected = documentedConditions(link.wanted)
  const silent = expected.find((type) => !reported(link.object, type))
  if (silent) return { at: refOf(link.object), because: silence(facts, link.object, silent) }
  const bad = conditionsOf(link.object).find(({ status }) => status === 'False')
  return bad && { at: refOf(link.object), because: showReport(facts, link.object, bad), ...saidBy(link.object, bad) }
}

/** Of every family of the context one is needed: where an address service gives the addresses, that of IPv4 is made by hand. */
function lackingSubnets({ chain: { context, subnets } }: Facts): string {
  const families = pick(context?.object?.spec, 'ipFamilies')
  const has = (family: unknown) => subnets.some(({ spec, metadata }) => spec.ipFamily === family && !metadata.deletionTimestamp)
  const lacking = Array.isArray(families) ? families.filter((family) => !has(family)) : []
  if (!context || lacking.length === 0) return 'its context has its subnets'
  return `${nameOf(context.wanted)} has a Subnet of ${lacking.join(' and of ')}`
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
