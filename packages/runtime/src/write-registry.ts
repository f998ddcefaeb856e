/**
 * The list of writes that really exist in a process, filled by the writers as they are made. Race tests compare their
 * table with it, so that a write nobody tests is noticed.
 */
import type { WriteVerb } from './write-signals.ts'

export type RegisteredWrite = {
  readonly controller: string
  readonly resource: string
  readonly verb: WriteVerb
  readonly manager: string
}

export type WriteRegistry = {
  add(write: RegisteredWrite, onNewTerm?: () => void): void
  /** Sorted, without duplicates. */
  registeredWrites(): readonly RegisteredWrite[]
  /** A new term of leadership begins: what writers remember of their last intents is void, someone else wrote since. */
  newTerm(): void
}

export function createWriteRegistry(): WriteRegistry {
  const writes = new Map<string, RegisteredWrite>()
  const resets = new Set<() => void>()
  return {
    add(write, onNewTerm) {
      writes.set(`${write.controller} ${write.resource} ${write.verb}`, write)
      if (onNewTerm) resets.add(onNewTerm)
    },
    registeredWrites: () => [...writes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, write]) => write),
    newTerm() {
      for (const reset of resets) reset()
    },
  }
}
