/** What a run of the suite found. */
import type { CaseName, Level } from './rules.ts'
import type { Verdict } from './verdict.ts'

export type CaseResult = Verdict & {
  readonly rule: string
  readonly case: CaseName
  readonly level: Level
  /** Wall time of the case. */
  readonly ms: number
}

export type Features = {
  readonly attachmentModes: readonly string[]
  readonly addressFamilies: readonly string[]
  readonly networkObject: boolean
  readonly programmed: 'Reported' | 'NotReported'
  /** What holds a deleted attachment, as seen; empty: nothing, so each status write must be fenced. */
  readonly finalizers: readonly string[]
}

export type Results = {
  readonly plane: string
  readonly planeVersion: string
  readonly contract: string
  readonly kubernetes: string
  readonly startedAt: Date
  readonly features: Features
  readonly results: readonly CaseResult[]
}

/** Rules that a data plane must obey and does not. */
export const mustFailures = <R extends Pick<CaseResult, 'outcome' | 'level'>>({ results }: { results: readonly R[] }): R[] =>
  results.filter(({ outcome, level }) => outcome === 'fail' && level === 'MUST')
