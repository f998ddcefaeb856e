/** Which points there are, in which order they are tried, and how a seed chooses among them. */
import type { Mode } from './interception.ts'
import type { Play } from './point.ts'

export type Point = { readonly scenario: Play; readonly mode: Mode; readonly at: number }

/** A stream of numbers in [0, 1) that is the same for the same seed (mulberry32, public domain). */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `count` of them, each as likely as any other, in their old order. */
export function sample<T>(all: readonly T[], count: number, next: () => number): T[] {
  const left = all.map((one, at) => ({ one, at }))
  const chosen: typeof left = []
  while (chosen.length < count && left.length > 0) chosen.push(...left.splice(Math.floor(next() * left.length), 1))
  return chosen.sort((a, b) => a.at - b.at).map(({ one }) => one)
}

/** Every mode at every write. Modes that leave a process standing by unused come last. */
export function pointsOf(scenario: Play, writes: number, modes: readonly Mode[]): Point[] {
  return modes.flatMap((mode) => Array.from({ length: writes }, (_, index) => ({ scenario, mode, at: index + 1 })))
}
