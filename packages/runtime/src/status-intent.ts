/**
 * A writer's part of a status, as pure values: the guard against foreign fields, completion of conditions, comparison with
 * what stands, and the body of the apply.
 */
import type { KubeObject } from './kind.ts'
import type { Condition, ConditionIntent, StatusOwner } from './ownership.ts'

/** An intent carries what its writer does not own, or lacks what it must carry: a fault of the caller, never sent. */
export class BadStatusIntent extends Error {
  override readonly name = 'BadStatusIntent'
  readonly code = 'BAD_STATUS_INTENT'
}

/** Own status by path (`vpc`, `conditions/Ready`), each value in a canonical form that compares as text. */
export type OwnForm = ReadonlyMap<string, string>

export type OwnStatus = Readonly<Record<string, unknown>>

const conditionPrefix = 'conditions/'

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Without null, undefined and empty lists, which all mean absent; keys sorted. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(tidy)
  if (!isRecord(value)) return value === null ? undefined : value
  const tidied: Record<string, unknown> = {}
  for (const key of Object.keys(value).sort()) {
    const inner = tidy(value[key])
    if (inner !== undefined) tidied[key] = inner
  }
  return tidied
}

function conditionsOf(status: unknown): readonly Condition[] {
  const list = isRecord(status) ? status.conditions : undefined
  return [list].flat().filter(isRecord) as Condition[]
}

function checkCondition(owner: StatusOwner, condition: ConditionIntent, seen: Set<string>): void {
  const { type, status, reason, message } = condition
  if (!owner.owns.includes(conditionPrefix + type)) throw new BadStatusIntent(`${owner.writer} does not own condition ${type}`)
  if (seen.has(type)) throw new BadStatusIntent(`${owner.writer} gives condition ${type} twice`)
  // A partial condition would merge with the seed of the schema, unnoticed.
  if (!status || !reason || typeof message !== 'string')
    throw new BadStatusIntent(`${owner.writer} gives condition ${type} incompletely`)
  seen.add(type)
}

/** Refuses fields and conditions of other owners, and intents that would delete conditions nobody meant to delete. */
export function checkIntent(owner: StatusOwner, intent: OwnStatus): void {
  for (const field of Object.keys(intent)) {
    if (field !== 'conditions' && !owner.owns.includes(field)) throw new BadStatusIntent(`${owner.writer} does not own ${field}`)
  }
  const ownsConditions = owner.owns.some((path) => path.startsWith(conditionPrefix))
  const conditions = intent.conditions
  if (!ownsConditions && conditions !== undefined) throw new BadStatusIntent(`${owner.writer} owns no condition`)
  if (!ownsConditions) return
  if (!Array.isArray(conditions) || conditions.length === 0) {
    throw new BadStatusIntent(`${owner.writer} leaves its conditions out: that would delete also seeded ones`)
  }
  const seen = new Set<string>()
  for (const condition of conditions) checkCondition(owner, condition, seen)
}

/** Whole seconds, as metav1.Time is stored. */
export function wholeSeconds(now: Date): string {
  return new Date(Math.floor(now.getTime() / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}

type Times = { standing: readonly Condition[]; lost: OwnForm | undefined; now: Date }

function completed(condition: ConditionIntent, { standing, lost, now }: Times): Condition {
  const before = standing.find((each) => each.type === condition.type)
  const kept = before?.status === condition.status ? before.lastTransitionTime : lostTime(condition, before, lost)
  return { ...condition, lastTransitionTime: kept ?? wholeSeconds(now) }
}

/** When the flip was sent whose answer was lost; not where what stands flipped after that. */
function lostTime({ type, status }: ConditionIntent, before: Condition | undefined, lost: OwnForm | undefined) {
  const sent: Condition | undefined = JSON.parse(lost?.get(conditionPrefix + type) ?? 'null') ?? undefined
  if (sent?.status !== status) return undefined
  return sent.lastTransitionTime >= (before?.lastTransitionTime ?? '') ? sent.lastTransitionTime : undefined
}

/**
 * The intent with its transition times: kept where the status did not flip, else now. `lost`: what the last apply sent if its
 * answer never came; it may have landed, and then its times stand already. Empty values are left out.
 */
export function completeStatus(intent: OwnStatus, standing: unknown, now: Date, lost?: OwnForm): OwnStatus {
  const status = tidy({ ...intent, conditions: undefined }) as Record<string, unknown>
  if (!Array.isArray(intent.conditions)) return status
  const times = { standing: conditionsOf(standing), lost, now }
  return { ...status, conditions: intent.conditions.map((each: ConditionIntent) => completed(each, times)) }
}

/** The owner's part of a status, comparable. */
export function ownForm(owner: StatusOwner, status: unknown): OwnForm {
  const form = new Map<string, string>()
  if (!isRecord(status)) return form
  const conditions = conditionsOf(status)
  for (const path of owner.owns) {
    const value = path.startsWith(conditionPrefix)
      ? conditions.find((each) => each.type === path.slice(conditionPrefix.length))
      : status[path]
    const tidied = tidy(value)
    if (tidied !== undefined) form.set(path, JSON.stringify(tidied))
  }
  return form
}

/** Paths whose values differ, sorted. */
export function differingPaths(a: OwnForm, b: OwnForm): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path)).sort()
}

/**
 * The apply on `/status`: identity and own status, nothing else. The uid is not enforced there by the server; it is for
 * readers of audit logs and for the writer's own check of the answer.
 */
export function statusBody(object: KubeObject, status: OwnStatus): unknown {
  const { name, namespace, uid } = object.metadata
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid },
    status,
  }
}
