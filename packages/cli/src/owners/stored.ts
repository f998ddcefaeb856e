/** Loose access to stored objects: whatever stands in a status, nothing is assumed about it and nothing throws. */
import type { Condition, KubeObject } from 'kube-control-loop'

export type Fields = Record<string, unknown>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path of field names; undefined where there is none. */
export function pick(value: unknown, ...names: readonly string[]): unknown {
  let at = value
  for (const name of names) at = isFields(at) ? at[name] : undefined
  return at
}

export function textAt(value: unknown, ...names: readonly string[]): string | undefined {
  const found = pick(value, ...names)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export type StoredCondition = Partial<Omit<Condition, 'status' | 'type'>> & { type: string; status?: string }

const conditionTexts = ['status', 'reason', 'message', 'lastTransitionTime'] as const

function conditionFrom(item: Fields): StoredCondition[] {
  const { type, observedGeneration } = item
  if (typeof type !== 'string') return []
  const known = conditionTexts.flatMap((name) => (typeof item[name] === 'string' ? [[name, item[name]]] : []))
  const observed = typeof observedGeneration === 'number' ? { observedGeneration } : {}
  return [{ type, ...Object.fromEntries(known), ...observed }]
}

/** Those that name a type, with what in them is of the type it should be. */
export function conditionsOf(object: KubeObject | undefined): StoredCondition[] {
  const conditions = pick(object?.status, 'conditions')
  return Array.isArray(conditions) ? conditions.filter(isFields).flatMap(conditionFrom) : []
}

export function conditionOf(object: KubeObject | undefined, type: string): StoredCondition | undefined {
  return conditionsOf(object).find((each) => each.type === type)
}

/** API group of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}
