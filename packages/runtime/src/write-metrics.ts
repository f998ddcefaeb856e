/** What the writers count. Each refusal is counted where it is classified, exactly once: the controller loop does not count again. */

/** `resource` is the plural, with `/status` for status writes; `verb` is a `WriteVerb`. No object names. */
export type WriteLabels = { controller: string; resource: string; verb: string; cause: string }

export type WriteMetrics = {
  /** A write that lost a race; its key is taken again through the rate limiter. */
  raceRequeue(labels: WriteLabels): void
  /** A write to something that was deleted mid-pass. */
  gone(labels: WriteLabels): void
  /** Someone else wrote, or took, a documented path. `field` is a status field or `conditions/<Type>`. */
  ownershipConflict(labels: { resource: string; field: string; manager: string }): void
  /** A documented writer took its paths back once more: keeps rising while a fight lasts, which is one conflict only. */
  ownershipRound(labels: { resource: string }): void
}

/** Counts nothing. */
export const noWriteMetrics: WriteMetrics = { raceRequeue() {}, gone() {}, ownershipConflict() {}, ownershipRound() {} }
