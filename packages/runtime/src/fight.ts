/** One write of a status against those who write there too: each is told once in an episode, and the write is one round. */
import { type ConflictTellerParts, createConflictTeller, type SecondWrite, shownWrites } from './conflict-teller.ts'
import type { KubeObject } from './kind.ts'
import type { Owners } from './ownership-watch.ts'
import type { WriteMetrics } from './write-metrics.ts'

export type Fight = {
  /** Others that are known to have written. */
  found(writes: readonly SecondWrite[]): void
  /** What the answer of the apply shows: owners beside the documented one, and what was `taken` without a trace. */
  answered(owners: Owners): void
}

export type FightParts = ConflictTellerParts & { metrics: Pick<WriteMetrics, 'ownershipRound'> }

export type Fights = {
  /** A write begins; `taken`: paths that changed since the last own one. */
  begin(object: KubeObject, taken: readonly string[]): Fight
  /** Others wrote what is wanted anyway: told, and no round. */
  conceded(object: KubeObject, taken: readonly string[]): void
}

export function createFights(parts: FightParts): Fights {
  const { resource, contention, metrics } = parts
  const tell = createConflictTeller(parts)
  return {
    begin(object, taken) {
      let isRound = false
      const found = (writes: readonly SecondWrite[]) => {
        if (writes.length > 0 && !isRound) {
          isRound = true
          contention.round(object)
          metrics.ownershipRound({ resource })
        }
        tell(object, writes)
      }
      return { found, answered: (owners) => found(shownWrites(owners, taken)) }
    },
    conceded: (object, taken) => tell(object, shownWrites(new Map(), taken)),
  }
}
