/**
 * A set of numbers kept as disjoint, non-touching intervals: membership and "the next number that is not in it" are binary
 * searches, whatever the size of the range and however full it is.
 */

export type Intervals = {
  /** Adds all numbers from `first` to `last`, both included. */
  add(first: bigint, last: bigint): void
  remove(first: bigint, last: bigint): void
  /** The last number of the interval that meets `first`..`last` and lies lowest; undefined when they are all free. */
  meets(first: bigint, last: bigint): bigint | undefined
  /** How many intervals there are. */
  readonly count: number
}

type Interval = { readonly first: bigint; readonly last: bigint }

export function createIntervals(): Intervals {
  const sorted: Interval[] = []

  /** Position of the first interval that ends at or after a number. */
  const endingFrom = (number: bigint): number => {
    let low = 0
    let high = sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      const interval = sorted[middle]
      if (interval && interval.last < number) low = middle + 1
      else high = middle
    }
    return low
  }

  const spanFrom = (position: number, last: bigint): Interval[] => {
    const span: Interval[] = []
    for (let at = position; ; at += 1) {
      const interval = sorted[at]
      if (!interval || interval.first > last) return span
      span.push(interval)
    }
  }

  return {
    add(first, last) {
      const position = endingFrom(first - 1n)
      const touched = spanFrom(position, last + 1n)
      const lowest = touched[0]
      const highest = touched.at(-1)
      sorted.splice(position, touched.length, {
        first: lowest && lowest.first < first ? lowest.first : first,
        last: highest && highest.last > last ? highest.last : last,
      })
    },
    remove(first, last) {
      const position = endingFrom(first)
      const touched = spanFrom(position, last)
      const kept = touched.flatMap((interval) => [
        ...(interval.first < first ? [{ first: interval.first, last: first - 1n }] : []),
        ...(interval.last > last ? [{ first: last + 1n, last: interval.last }] : []),
      ])
      sorted.splice(position, touched.length, ...kept)
    },
    meets(first, last) {
      const interval = sorted[endingFrom(first)]
      return interval && interval.first <= last ? interval.last : undefined
    },
    get count() {
      return sorted.length
    },
  }
}
