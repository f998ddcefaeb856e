/** For tests of this package and of what is built on it. */

export { type OwnershipAttempt, ownershipAttempts } from './admission/attempts.ts'
export { type Actor, assertPassed, assertRefused, read, type Target, type TrialWrite, write } from './admission/trials.ts'
export { looseListKeys } from './list-keys.ts'
export { createManualClock, type ManualClock, turns } from './manual-clock.ts'
export { narrowTransport } from './narrowed-transport.ts'
export { type OwnershipGaps, ownershipGaps } from './ownership-check.ts'
export { type Documentation, documentationGaps } from './ownership-texts.ts'
export { type RaceCheck, raceChecks, type Wait } from './race-checks.ts'
export { assertTableIsComplete, type RaceBed, type RaceRow, requestsOf, rowId } from './race-table.ts'
export {
  type Access,
  type AccountName,
  allows,
  escalates,
  type GrantedRule,
  isWildcarded,
  permissionsOf,
  showGrant,
  touchesGroup,
} from './rbac-permissions.ts'
export type { AuditedWrite } from './recorder/history.ts'
export { createRecorder, type Expected, type Recorder, type RecorderOptions } from './recorder/recorder.ts'
export {
  type Identities,
  type Invariant,
  invariants,
  type RecordedKind,
  showViolation,
  type Violation,
} from './recorder/rules.ts'
export { createRecordingLog, type RecordedLine } from './recording-log.ts'
export { answers, statusAnswer } from './scripted-answers.ts'
export {
  type AnswerSource,
  type HeldRule,
  matches,
  type Recorded,
  type RequestMatch,
  type Rule,
  type RuleOptions,
  type ScriptedTransport,
  scriptTransport,
  type When,
} from './scripted-transport.ts'
