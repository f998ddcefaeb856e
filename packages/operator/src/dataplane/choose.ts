/** Which data plane serves a location: exact name > longest `prefix*` > `*`; a tie goes to the older, then to the name. */
import type { KubeObject } from 'kube-control-loop'

/** What the choice needs of a DataPlane. */
export type Candidate = Pick<KubeObject<{ locations?: readonly string[] }>, 'metadata' | 'spec'>

/** How well a pattern fits: higher is more specific; undefined when it does not fit. Only a last `*` is special. */
export function specificity(pattern: string, location: string): number | undefined {
  if (pattern === location) return Number.POSITIVE_INFINITY
  if (!pattern.endsWith('*')) return undefined
  const prefix = pattern.slice(0, -1)
  return location.startsWith(prefix) ? prefix.length : undefined
}

function fit(candidate: Candidate, location: string): number | undefined {
  const fits = patternsOf(candidate).map((pattern) => specificity(pattern, location))
  return fits.reduce((best, next) => (next === undefined ? best : Math.max(best ?? next, next)), undefined)
}

const patternsOf = (candidate: Candidate): readonly string[] => candidate.spec?.locations ?? []

/** Negative when `a` goes before `b` in a tie. Total: two objects of one kind never have one name. */
function byAge(a: Candidate, b: Candidate): number {
  return (
    compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compareText(a.metadata.name, b.metadata.name)
  )
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The candidate that serves the location, or undefined when none does. */
export function chooseFor<C extends Candidate>(candidates: Iterable<C>, location: string): C | undefined {
  let best: { candidate: C; rank: number } | undefined
  for (const candidate of candidates) {
    const rank = fit(candidate, location)
    if (rank === undefined) continue
    const better = !best || rank > best.rank || (rank === best.rank && byAge(candidate, best.candidate) < 0)
    if (better) best = { candidate, rank }
  }
  return best?.candidate
}

/** A pattern that another candidate, which goes first, names too. */
export type LostTie = { pattern: string; to: string }

/** The patterns of `candidate` under which it is never chosen, since another one that names the same goes first. */
export function lostTies(candidate: Candidate, all: Iterable<Candidate>): readonly LostTie[] {
  const rivals = [...all].filter((other) => other.metadata.name !== candidate.metadata.name && byAge(other, candidate) < 0)
  rivals.sort(byAge)
  return patternsOf(candidate).flatMap((pattern) => {
    const rival = rivals.find((other) => patternsOf(other).includes(pattern))
    return rival ? [{ pattern, to: rival.metadata.name }] : []
  })
}
