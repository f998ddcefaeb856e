/** Which location this process serves: delivered by exactly one ServingLocation, else the setting. */
import { advice, few } from '../messages.ts'

export type Location =
  | { kind: 'known'; name: string }
  | { kind: 'rejected'; reason: 'NoLocationIdentity' | 'AmbiguousLocationIdentity'; message: string }

/** One delivered location wins over the setting; with several, only the setting can tell which one is meant. */
export function locationOf(delivered: readonly string[], setting: string | undefined): Location {
  const [only] = delivered
  if (delivered.length === 1 && only !== undefined) return usable(only)
  if (setting) return usable(setting)
  if (delivered.length === 0) {
    return {
      kind: 'rejected',
      reason: 'NoLocationIdentity',
      message: advice(
        'No ServingLocation exists here and no location is set, so interfaces cannot be placed',
        'make the ServingLocation of this cluster, or set the location of NSO',
      ),
    }
  }
  return {
    kind: 'rejected',
    reason: 'AmbiguousLocationIdentity',
    message: advice(
      `Several ServingLocations exist here (${few([...delivered].sort())}) and no location is set`,
      'delete those that are not of this cluster, or set the location of NSO',
    ),
  }
}

/** Interfaces carry the location as a label, whose values are shorter than names of objects may be. */
const longestLabelValue = 63
const labelValue = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

function usable(name: string): Location {
  const isLong = name.length > longestLabelValue
  if (!isLong && labelValue.test(name)) return { kind: 'known', name }
  const fault = isLong ? `is longer than the ${longestLabelValue} characters of a label` : 'cannot be the value of a label'
  const message = advice(
    `The name of location ${name} ${fault}, so interfaces cannot be placed`,
    isLong ? 'name the location shorter' : 'name it with letters, digits, -, _ and . only',
  )
  return { kind: 'rejected', reason: 'NoLocationIdentity', message }
}
