/**
 * The order in which a holder tries the units of a range. It follows from who asks, so that a retry after a crash, or a
 * second leader, tries the same address first and meets the lease that stands instead of taking another.
 */
import { createHash } from 'node:crypto'
import type { Layout } from './layout.ts'

/** Number of the unit that a holder tries first; the rest follows upwards, then from the first one on. */
export function firstCandidate(layout: Layout, holder: string): bigint {
  const span = layout.last - layout.first + 1n
  return span <= 0n ? layout.first : layout.first + (numberFrom(holder) % span)
}

/** 128 evenly spread bits out of a text. */
function numberFrom(text: string): bigint {
  return BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 32)}`)
}
