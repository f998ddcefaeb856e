/** Which location this process serves: delivered by exactly one ServingLocation, else the setting. */

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
      message: 'No ServingLocation exists here and no location is set: interfaces cannot be placed.',
    }
  }
  return {
    kind: 'rejected',
    reason: 'AmbiguousLocationIdentity',
    message: `Several ServingLocations exist here (${[...delivered].sort().join(', ')}) and no location is set.`,
  }
}

/** Interfaces carry the location as a label, whose values are shorter than names of objects may be. */
const longestLabelValue = 63

function usable(name: string): Location {
  if (name.length <= longestLabelValue) return { kind: 'known', name }
  const message = `The name of location ${name} is longer than the ${longestLabelValue} characters of a label: interfaces cannot be placed.`
  return { kind: 'rejected', reason: 'NoLocationIdentity', message }
}
