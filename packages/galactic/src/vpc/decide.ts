/** What to do about a VPC: a pure function of what was seen. */

export type SeenVpc = {
  readonly deleting: boolean
  readonly hasFinalizer: boolean
  /** Identifier in the status: written once. */
  readonly id: string | undefined
  /** Whether an attachment of its namespace has, or is getting, an identity with this identifier. */
  readonly inUse: boolean
}

export type Decision = { do: 'nothing' } | { do: 'identify' } | { do: 'keep'; id: string; held: boolean } | { do: 'release' }

/**
 * The identifier of a VPC lives as long as an attachment carries it: its devices and routes carry the identifier, and a VPC
 * made anew under the name gets another one. An attachment that only waits does not hold a VPC, or neither could ever move.
 */
export function decide({ deleting, hasFinalizer, id, inUse }: SeenVpc): Decision {
  if (deleting) {
    if (!hasFinalizer) return { do: 'nothing' }
    return id === undefined || !inUse ? { do: 'release' } : { do: 'keep', id, held: true }
  }
  return id === undefined ? { do: 'identify' } : { do: 'keep', id, held: false }
}
