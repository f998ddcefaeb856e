/** What a pass of a controller ends with. Waiting on a watch and asking to be called again are different things. */

export type Outcome =
  /** Nothing to do until something changes. */
  | { kind: 'settled' }
  /** Not done; a watch of this controller will wake the key. `on` says what is waited for, for logs and views. */
  | { kind: 'waiting'; on: string }
  /** Not done, and nothing watches what is missing: `because` says why. */
  | { kind: 'again'; afterMs: number; because: string }

export const settled: Outcome = { kind: 'settled' }
export const waiting = (on: string): Outcome => ({ kind: 'waiting', on })
export const again = (afterMs: number, because: string): Outcome => ({ kind: 'again', afterMs, because })
