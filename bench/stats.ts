/** Numbers of samples. Pure. */

/** The q-quantile (0..1) by linear interpolation; NaN of nothing. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)]
  const high = sorted[Math.ceil(at)]
  if (low === undefined || high === undefined) return Number.NaN
  return low + (high - low) * (at - Math.floor(at))
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5)

/** `total` things dealt out to `count` receivers as evenly as whole numbers allow: what the one at `index` gets. */
export function share(total: number, count: number, index: number): number {
  return Math.floor(((index + 1) * total) / count) - Math.floor((index * total) / count)
}
