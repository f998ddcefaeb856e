/**
 * Choosing a free identifier. Random, so that two processes that do not know of each other rarely choose the same, and so
 * that an identifier just given back is unlikely to be given out at once.
 */
import { toBase62 } from './base62.ts'

/** A random integer, `from` included, `below` excluded. The source must be unpredictable outside tests. */
export type RandomInt = (from: number, below: number) => number

/** An identifier space: every number of `bits` bits but the all-zeros and the all-ones one, which are reserved. */
export type Space = { readonly bits: number; readonly what: string }

export const vpcSpace: Space = { bits: 48, what: 'VPC identifiers' }
export const attachmentSpace: Space = { bits: 16, what: 'attachment identifiers of this VPC' }

const attempts = 100
/** A space this small is searched to its end when luck fails; a larger one is never that full. */
const searchableBits = 16

/**
 * A free identifier in base62, or undefined when none was found: none is left in a small space, or 100 random ones were all
 * taken in a large one.
 */
export function pickIdentifier(space: Space, random: RandomInt, isTaken: (id: string) => boolean): string | undefined {
  const below = 2 ** space.bits - 1
  for (let attempt = 0; attempt < attempts; attempt++) {
    const id = toBase62(BigInt(random(1, below)))
    if (!isTaken(id)) return id
  }
  return space.bits > searchableBits ? undefined : search(below, random(1, below), isTaken)
}

function search(below: number, start: number, isTaken: (id: string) => boolean): string | undefined {
  const size = below - 1
  for (let step = 0; step < size; step++) {
    const id = toBase62(BigInt(1 + ((start - 1 + step) % size)))
    if (!isTaken(id)) return id
  }
  return undefined
}
