/** How a case ends. */

/** What a case saw, for whoever has to find out why: plain JSON. */
export type Evidence = unknown

export type Verdict =
  | { outcome: 'pass'; measured?: Readonly<Record<string, number>> }
  | { outcome: 'fail'; reason: string; evidence?: Evidence }
  | { outcome: 'skip'; reason: string }

export const pass = (measured?: Readonly<Record<string, number>>): Verdict =>
  measured ? { outcome: 'pass', measured } : { outcome: 'pass' }
export const fail = (reason: string, evidence?: Evidence): Verdict =>
  evidence === undefined ? { outcome: 'fail', reason } : { outcome: 'fail', reason, evidence }
export const skip = (reason: string): Verdict => ({ outcome: 'skip', reason })

/** Thrown deep within a case: the data plane broke the rule, or did not do in time what was waited for. */
export class CaseFailed extends Error {
  override readonly name = 'CaseFailed'
  readonly code = 'CASE_FAILED'
  readonly evidence: Evidence
  constructor(reason: string, evidence?: Evidence) {
    super(reason)
    this.evidence = evidence
  }
}

/** Thrown deep within a case: it cannot be tried here. */
export class CaseSkipped extends Error {
  override readonly name = 'CaseSkipped'
  readonly code = 'CASE_SKIPPED'
}

/** Thrown before the first case: nothing can be tried with what was given. The message is for people. */
export class NothingTried extends Error {
  override readonly name = 'NothingTried'
  readonly code = 'NOTHING_TRIED'
}
