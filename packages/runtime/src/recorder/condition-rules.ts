/**
 * Invariants COND-1 to COND-6 and GEN-1: well-formed conditions in each version.
 * Source: Kubernetes API conventions, "Typical status properties"; KEP-1623 (metav1.Condition).
 */
import { type ConditionStatus, reasonPattern } from '../condition.ts'
import type { KubeObject } from '../kind.ts'
import type { Condition } from '../ownership.ts'
import type { History, Version } from './history.ts'
import { type Report, type Rules, reporter, showMakers, type Violation } from './rules.ts'
import { canonical, conditionsOf, isSeed, statusOf } from './status-paths.ts'

const statuses: readonly string[] = ['True', 'False', 'Unknown'] satisfies ConditionStatus[]
const wholeSeconds = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/

type Step = { rules: Rules; object: KubeObject; by: string; report: Report }
type Stored = Partial<Condition>

const at = ({ type }: Stored) => `status.conditions/${type ?? '?'}`

const isStatus = (value: string | undefined): value is ConditionStatus => value !== undefined && statuses.includes(value)

/** What is missing or malformed, in words. */
function malformed({ type, status, reason, message, lastTransitionTime }: Stored): string[] {
  return [
    ...(type ? [] : ['no type']),
    ...(isStatus(status) ? [] : [`status ${status}`]),
    ...(reason !== undefined && reasonPattern.test(reason) ? [] : [`reason ${reason}`]),
    ...(typeof message === 'string' ? [] : ['no message']),
    ...(lastTransitionTime !== undefined && wholeSeconds.test(lastTransitionTime)
      ? []
      : [`lastTransitionTime ${lastTransitionTime}`]),
  ]
}

function isListed({ type = '', status, reason = '' }: Stored, { kind: { conditions, reported } }: Rules): boolean {
  const definition = conditions?.[type]
  if (!definition || !isStatus(status)) return true
  if (definition.reasons[status].includes(reason)) return true
  if (!definition.open.includes(status)) return false
  return reported?.[type]?.includes(reason) ?? (reported === undefined && definition.lists(status, reason))
}

function checkForm({ rules, by, report }: Step, condition: Stored): void {
  const faults = malformed(condition)
  if (faults.length > 0) report('COND-1', at(condition), `${faults.join(', ')}; by ${by}`)
  const { type = '', status, reason } = condition
  if (rules.kind.conditions?.[type] === undefined) report('COND-2', at(condition), `not a declared type; by ${by}`)
  else if (!isListed(condition, rules)) report('COND-3', at(condition), `${status} does not list reason ${reason}; by ${by}`)
}

function checkGeneration({ rules, object, by, report }: Step, condition: Stored, before: Stored | undefined): void {
  if (isSeed(condition, rules)) return
  const { observedGeneration: observed } = condition
  const generation = object.metadata.generation ?? 0
  if (observed === undefined) report('COND-4', at(condition), `no observedGeneration; by ${by}`)
  else if (observed > generation)
    report('COND-4', at(condition), `observedGeneration ${observed}, the object is at ${generation}; by ${by}`)
  else if (observed < (before?.observedGeneration ?? 0))
    report('COND-4', at(condition), `observedGeneration went from ${before?.observedGeneration} back to ${observed}; by ${by}`)
}

function checkTime({ by, report }: Step, condition: Stored, before: Stored | undefined): void {
  const [was, is] = [before?.lastTransitionTime ?? '', condition.lastTransitionTime ?? '']
  if (before === undefined || was === is) return
  if (before.status === condition.status)
    report('COND-5', at(condition), `moved from ${was} to ${is} while ${is && condition.status} stayed; by ${by}`)
  else if (is < was) report('COND-5', at(condition), `went back from ${was} to ${is}; by ${by}`)
}

function duplicates({ object, by, report }: Step): void {
  const types = conditionsOf(object).map(({ type }) => type)
  for (const [index, type] of types.entries())
    if (types.indexOf(type) !== index) report('COND-1', at({ type: type ?? '?' }), `twice; by ${by}`)
}

function overallGeneration({ object, by, report }: Step, before: KubeObject | undefined): void {
  const [was, is] = [statusOf(before).observedGeneration, statusOf(object).observedGeneration]
  if (typeof is !== 'number' || is === was) return
  const generation = object.metadata.generation ?? 0
  const path = 'status.observedGeneration'
  if (is > generation) report('GEN-1', path, `${is}, the object is at ${generation}; by ${by}`)
  else if (typeof was === 'number' && is < was) report('GEN-1', path, `went from ${was} back to ${is}; by ${by}`)
}

function checkStep(step: Step, before: KubeObject | undefined): void {
  overallGeneration(step, before)
  if (!step.rules.kind.conditions) return
  duplicates(step)
  const standing = conditionsOf(step.object)
  for (const condition of standing) {
    const old = conditionsOf(before).find(({ type }) => type === condition.type)
    // Told once, when it comes, not for as long as it stays.
    if (canonical(old) === canonical(condition)) continue
    checkForm(step, condition)
    checkGeneration(step, condition, old)
    checkTime(step, condition, old)
  }
  for (const old of conditionsOf(before))
    if (!standing.some(({ type }) => type === old.type)) step.report('COND-6', at(old), `taken away; by ${step.by}`)
}

/** What the versions of one object say against the table of conditions. */
export function conditionViolations(history: History, rules: Rules): Violation[] {
  const found: Violation[] = []
  let before: KubeObject | undefined
  for (const version of history.versions.filter(({ last }: Version) => !last)) {
    const { object } = version
    checkStep({ rules, object, by: showMakers(version), report: reporter(history, version, found) }, before)
    before = object
  }
  return found
}
