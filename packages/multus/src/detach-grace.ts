/** How long a deleted attachment waits for whoever still uses it, and when that is worth saying: pure. */

export type Patience =
  /** Most waits are over in a moment: not worth a status. */
  { readonly is: 'quiet'; readonly afterMs: number } | { readonly is: 'said'; readonly afterMs: number } | { readonly is: 'over' }

const quietMs = 1_000

/** What to do after having waited so long, of a grace of so long. */
export function patience(waitedMs: number, graceMs: number): Patience {
  const leftMs = graceMs - waitedMs
  if (leftMs <= 0) return { is: 'over' }
  return waitedMs < quietMs ? { is: 'quiet', afterMs: Math.min(leftMs, quietMs - waitedMs) } : { is: 'said', afterMs: leftMs }
}
