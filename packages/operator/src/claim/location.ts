/** Which location this process serves: delivered by exactly one ServingLocation, else the setting. */

export type Location =
  | { kind: 'known'; name: string }
  | { kind: 'rejected'; reason: 'NoLocationIdentity' | 'AmbiguousLocationIdentity'; message: string }

/** One delivered location wins over the setting; with several, only the setting can tell which one is meant. */
export function locationOf(delivered: readonly string[], setting: string | undefined): Location {
  const [only] = delivered
  if (delivered.length === 1 && only !== undefined) return { kind: 'known', name: only }
  if (setting) return { kind: 'known', name: setting }
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
