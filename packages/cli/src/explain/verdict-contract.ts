/** What NSO itself found wrong with a data plane's objects and reports, and has said in its own words. Pure. */
import { conditionOf, type StoredCondition } from '../owners/stored.ts'
import { type Break, type Check, saidBy } from './break.ts'
import { brief, type Facts, linkAsked, nameOf, refOf, reporterOf, reportOf, showCondition, stalenessOf } from './facts.ts'

export type Part = 'prepared' | 'programmed'

export const types = { prepared: 'Prepared', programmed: 'Programmed' } as const

type Found = { object: { apiVersion: string; kind: string }; condition: StoredCondition }

/** Prepared (or Programmed) of the interface, else of the claim, where it has one of these reasons and is of its generation. */
function found(facts: Facts, part: Part, reasons: readonly string[]): Found | undefined {
  for (const object of [facts.chain.interface.object, linkAsked(facts)?.object]) {
    // Where nothing was reported before, NSO's word for that is as old as the schema's default: its reason tells them apart.
    const condition = conditionOf(object, types[part])
    if (!object || !condition || stalenessOf(object, condition) || !reasons.includes(condition.reason ?? '')) continue
    return { object, condition }
  }
  return undefined
}

/** The condition by which NSO says one of these reasons, for a break. */
export function saidByNso(facts: Facts, part: Part, reasons: readonly string[]): Pick<Break, 'said'> {
  const { object, condition } = found(facts, part, reasons) ?? {}
  return object ? saidBy(object, condition) : {}
}

/** An attachment stands, and the API server takes it in no other form. */
export const refusedChange: Check = (facts) => {
  const { attachment, plane } = facts.chain
  const refused = found(facts, 'prepared', ['AttachmentRefused'])
  if (!refused || !attachment?.object) return undefined
  const by = plane.chosen ? `the templates of DataPlane ${plane.chosen.name}` : 'NSO'
  const because = `the API server refuses what ${by} would make of it: ${brief(refused.condition.message)}`
  return { at: refOf(attachment.object), because, ...saidBy(refused.object, refused.condition) }
}

/** The report is not one that can be believed: whoever reports is to blame, not NSO. */
export function brokenContract(part: Part): Check {
  return (facts) => {
    const object = facts.chain.attachment?.object
    const type = reportOf(facts)?.[part]
    const breach = found(facts, part, ['ContractViolation'])
    if (!object || type === undefined || !breach || breach.condition.status === 'True') return undefined
    const because = `${reporterOf(facts, object, type).name} reports in a form that breaks the contract (${brief(breach.condition.message)}); NSO says ${showCondition(breach.condition)} until it reports otherwise`
    return { at: refOf(object), because, ...saidBy(breach.object, breach.condition) }
  }
}

/** Report of an object without a well-formed reason: believed, and told. */
export function violationsIn(facts: Facts): string[] {
  return (['prepared', 'programmed'] as const).flatMap((part) => {
    const breach = found(facts, part, ['ContractViolation'])
    if (breach?.condition.status !== 'True') return []
    const { attachment } = facts.chain
    const where = attachment ? nameOf(attachment.wanted) : 'the attachment'
    return `${where} reports ${types[part]} in a form that breaks the contract (no well-formed reason); it is believed all the same`
  })
}
