/** For tests of data planes on a control plane of their own. */

export { type Enforced, type EnforcedObject, enforceOn, type OwnershipSuite, testOwnership } from './ownership-suite.ts'
export { type PermissionsSuite, testPermissions } from './permissions-suite.ts'
export { type ProcessSuite, testProcess } from './process-suite.ts'
export { bring, isDetached, type RaceSubject, type RaceSubjects, raceRows } from './race-rows.ts'
export { absent, change, type RacePlace, read, strip } from './race-steps.ts'
export { testPlanted, testRaces } from './race-suite.ts'
export { type RaceSite, type RaceSiteOptions, type RaceWorld, type RacingProcess, startRaceSite } from './race-world.ts'
export { type RecordedTable, type Recording, recordingOf } from './record.ts'
export { testSamples } from './samples-suite.ts'
export {
  by,
  conditionOf,
  never,
  type PlaneWorld,
  type PlaneWorldOptions,
  type Running,
  runHere,
  startPlaneWorld,
  writesBy,
} from './world.ts'
