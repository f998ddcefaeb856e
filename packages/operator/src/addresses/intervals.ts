/**
 * A set of numbers kept as disjoint, non-touching intervals: membership and "the next number that is not in it" are binary
 * searches, whatever the size of the range and however full it is. The intervals lie in short runs, so that adding or removing
 * one among a hundred thousand moves a few hundred and not half of them.
 */

export type Intervals = {
  /** Adds all numbers from `first` to `last`, both included. */
  add(first: bigint, last: bigint): void
  remove(first: bigint, last: bigint): void
  /** The last number of the interval that meets `first`..`last` and lies lowest; undefined when they are all free. */
  meets(first: bigint, last: bigint): bigint | undefined
  /** How many intervals there are. */
  readonly count: number
  /** How many runs hold them: bounded by the intervals that stand, whatever came and went. */
  readonly runs: number
}

type Interval = { readonly first: bigint; readonly last: bigint }
type Place = { readonly run: number; readonly at: number }

/** A run longer than `longestRun` is halved; two neighbours that together fill less than half of one are joined. */
export function createIntervals(longestRun = 256): Intervals {
  const runs: Interval[][] = []
  let count = 0

  /** Where the first interval is that ends at or after a number. */
  const endingFrom = (number: bigint): Place => {
    const run = firstIndex(runs, (each) => (each.at(-1)?.last ?? number) >= number)
    return { run, at: firstIndex(runs[run] ?? [], ({ last }) => last >= number) }
  }

  const spanFrom = ({ run, at }: Place, last: bigint): Interval[] => {
    const span: Interval[] = []
    for (let [inRun, next] = [run, at]; inRun < runs.length; inRun += 1, next = 0) {
      for (const interval of runs[inRun]?.slice(next) ?? []) {
        if (interval.first > last) return span
        span.push(interval)
      }
    }
    return span
  }

  const replace = ({ run, at }: Place, gone: number, put: readonly Interval[]) => {
    count += put.length - gone
    const first = runs[run] ?? []
    if (run === runs.length) runs.push(first)
    let left = gone - first.splice(at, gone, ...put).length
    while (left > 0) {
      const next = runs[run + 1] ?? []
      left -= next.splice(0, left).length
      if (next.length === 0) runs.splice(run + 1, 1)
    }
    balance(run)
  }

  const balance = (run: number) => {
    const intervals = runs[run] ?? []
    if (intervals.length > longestRun) runs.splice(run, 0, intervals.splice(0, intervals.length >> 1))
    else if (intervals.length === 0) runs.splice(run, 1)
    else {
      joinWithNext(run)
      joinWithNext(run - 1)
    }
  }

  const joinWithNext = (run: number) => {
    const [one, other] = [runs[run], runs[run + 1]]
    if (one && other && one.length + other.length < longestRun / 2) runs.splice(run, 2, [...one, ...other])
  }

  return {
    add(first, last) {
      const place = endingFrom(first - 1n)
      const touched = spanFrom(place, last + 1n)
      const lowest = touched[0]
      const highest = touched.at(-1)
      const whole = {
        first: lowest && lowest.first < first ? lowest.first : first,
        last: highest && highest.last > last ? highest.last : last,
      }
      replace(place, touched.length, [whole])
    },
    remove(first, last) {
      const place = endingFrom(first)
      const touched = spanFrom(place, last)
      if (touched.length === 0) return
      const kept = touched.flatMap((interval) => [
        ...(interval.first < first ? [{ first: interval.first, last: first - 1n }] : []),
        ...(interval.last > last ? [{ first: last + 1n, last: interval.last }] : []),
      ])
      replace(place, touched.length, kept)
    },
    meets(first, last) {
      const { run, at } = endingFrom(first)
      const interval = runs[run]?.[at]
      return interval && interval.first <= last ? interval.last : undefined
    },
    get count() {
      return count
    },
    get runs() {
      return runs.length
    },
  }
}

/** Of a list in which all that hold follow all that do not, the first that holds; the length where none does. */
function firstIndex<T>(list: readonly T[], holds: (one: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    const one = list[middle]
    if (one !== undefined && !holds(one)) low = middle + 1
    else high = middle
  }
  return low
}
