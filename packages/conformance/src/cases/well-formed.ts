/** What is wrong with the conditions of a status. Source: metav1.Condition and the Kubernetes API conventions. Pure. */
import { reasonPattern } from 'kube-control-loop'

type Fields = { readonly [name: string]: unknown }
const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** For people; empty when all is as it should be. Conditions that a default put there are nobody’s report and are left out. */
export function malformedIn(status: unknown): string[] {
  if (status === undefined || status === null) return []
  if (!isMap(status)) return ['status is no map']
  const { conditions } = status
  if (conditions === undefined || conditions === null) return []
  if (!Array.isArray(conditions)) return ['status.conditions is no list']
  const types = conditions.map((condition) => (isMap(condition) ? condition.type : undefined))
  const twice = types.filter((type, at) => types.indexOf(type) !== at)
  return [
    ...twice.map((type) => `condition ${String(type)} is there more than once`),
    ...conditions.flatMap((condition) => (isSeed(condition) ? [] : malformed(condition))),
  ]
}

function malformed(condition: unknown): string[] {
  if (!isMap(condition)) return ['a condition is no map']
  const { type, status, reason, message, lastTransitionTime } = condition
  const says = (problem: string) => `condition ${String(type)} ${problem}`
  return [
    ...(typeof type === 'string' && type !== '' ? [] : ['a condition has no type']),
    ...(['True', 'False', 'Unknown'].includes(status as string) ? [] : [says(`has the status ${JSON.stringify(status)}`)]),
    ...(typeof reason === 'string' && reasonPattern.test(reason) ? [] : [says(`has the reason ${JSON.stringify(reason)}`)]),
    ...(message === undefined || typeof message === 'string' ? [] : [says('has a message that is no text')]),
    ...(isTime(lastTransitionTime) ? [] : [says(`has the time ${JSON.stringify(lastTransitionTime)}`)]),
  ]
}

const isTime = (value: unknown): boolean => typeof value === 'string' && Number.isFinite(Date.parse(value))

/** The conventional time of a default is the epoch. */
const isSeed = (condition: unknown): boolean =>
  isMap(condition) &&
  condition.status === 'Unknown' &&
  typeof condition.lastTransitionTime === 'string' &&
  Date.parse(condition.lastTransitionTime) === 0
