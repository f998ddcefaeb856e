export {
  type InForceOptions,
  NotInForce,
  type OwnershipProbe,
  ownershipInForce,
} from './admission/in-force.ts'
export {
  aboutParameters,
  modeLabel,
  type OwnershipEnforcement,
  type OwnershipMode,
  ownershipParameters,
  ownershipPolicies,
  parametersName,
  policyName,
} from './admission/policy.ts'
export { ApiError, ConnectionBroken, type Refusal, type StatusCause, type StatusDetails } from './api-error.ts'
export { backoff, type Jitter } from './backoff.ts'
export type { Cache, CacheOptions, CacheState, Change } from './cache.ts'
export { type CacheMetrics, type CacheParts, createCache, type FollowedCache } from './cache-impl.ts'
export type { At, Client, JsonPatchOperation, WatchEvent } from './client.ts'
export { type Clock, systemClock } from './clock.ts'
export {
  type ConditionDefinition,
  type ConditionStatus,
  condition,
  type Reasons,
  type ReasonText,
  type ReasonTexts,
  type ReportedCondition,
  reasonPattern,
  reasonStatuses,
  reportedCondition,
} from './condition.ts'
export { type ConditionGauges, registerConditionGauges } from './condition-gauges.ts'
export {
  type Access,
  type AccessOptions,
  type AccessSource,
  actingAs,
  createAccessSource,
  fixedAccess,
  type TlsSettings,
} from './config.ts'
export type { RecordWarning } from './conflict-teller.ts'
export { type Controller, type Pass, type Watch, watch } from './controller.ts'
export { type CountedWarning, countedWarning } from './counted-warning.ts'
export { crdOf, ownershipOf, structural } from './crd.ts'
export { type EventNote, eventKind } from './event-body.ts'
export { createEventRecorder, type EventMetrics, type EventRecorder, type EventRecorderOptions } from './events.ts'
export { fenceWrites, isWrite, LeadershipLost } from './fenced-transport.ts'
export { argument, parseBindAddress, parseDuration, served } from './flags.ts'
export { type ClientMetrics, type ClientOptions, createClient } from './http-client.ts'
export { createHttpTransport, type HttpTransportOptions, StreamIdle } from './http-transport.ts'
export {
  apiVersionOf,
  type Key,
  type Kind,
  type KubeObject,
  keyFor,
  keyOf,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type ObjectOf,
  type OwnerReference,
  pathOf,
  type SpecOf,
  type StatusOf,
  splitKey,
} from './kind.ts'
export {
  createElector,
  type ElectionMetrics,
  type Elector,
  type ElectorOptions,
} from './leader-election.ts'
export { type LeaseSpec, leaseKind } from './lease-record.ts'
export { aborted, type LinkedSignal, linkedSignal } from './linked-signal.ts'
export { createLogger, type LineSink, type Logger, type LogLevel, silentLogger } from './log.ts'
export { createLoop, type Loop, type LoopMetrics, type LoopParts, runController } from './loop.ts'
export { gatheringManagers } from './managed-fields.ts'
export { createManager, type Manager, type ManagerOptions } from './manager.ts'
export type { Manifest, ManifestFile } from './manifest.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { microTime, parseTime } from './micro-time.ts'
export {
  createHandover,
  type Handover,
  type HandoverOptions,
  type Inheritance,
  type LegacyPath,
  legacyPaths,
  type MigrateAll,
  type Migrated,
  type MigrateObject,
  type Migration,
  type MigrationFlags,
  MigrationForbidden,
  type MigrationRun,
  migrateAll,
  migrateByFlags,
  migrateEntries,
  migrateObject,
  ownersIn,
  runMigration,
} from './migration/index.ts'
export { createWriter } from './object-writer.ts'
export { again, type Outcome, settled, waiting } from './outcome.ts'
export {
  type Condition,
  type ConditionIntent,
  type DocumentedOwnership,
  isKeyOf,
  type MetadataOwner,
  type OwnershipTable,
  type PathText,
  type ResourceOwnership,
  type StatusIntent,
  type StatusOwner,
  type StatusTexts,
} from './ownership.ts'
export { PassTooLong } from './pass-end.ts'
export {
  type CommandLine,
  type ControllerProcess,
  createProcessManager,
  type ProcessFlags,
  type ProcessIdentity,
  type ProcessOptions,
  processFlags,
  runProcess,
} from './process.ts'
export { type AddOptions, createQueue, type Queue, type QueueMetrics } from './queue.ts'
export {
  type Addressed,
  type Classify,
  classify,
  decideByLive,
  type FieldConflict,
  type RequestVerb,
  type Verdict,
} from './races.ts'
export {
  aggregatedClusterRole,
  clusterRole,
  clusterRoleBinding,
  events as eventsGrant,
  type Grant,
  leaderElectionRole,
  namespaceManifest,
  type PolicyRule,
  reading,
  rulesFor,
  serviceAccount,
} from './rbac.ts'
export {
  type AccountName,
  type GrantedRule,
  permissionsOf,
  showGrant,
  touchesGroup,
} from './rbac-permissions.ts'
export type { ReflectorOptions } from './reflector.ts'
export { orderOfVersions, type VersionOrder } from './resource-version.ts'
export {
  anything,
  type CelRule,
  conditions,
  defineKind,
  flag,
  freeObject,
  immutable,
  int32,
  int64,
  type KindDefinition,
  list,
  nameRef,
  oneOf,
  optional,
  type PrintColumn,
  record,
  type Static,
  seeded,
  setOnce,
  text,
  textMap,
} from './schema.ts'
export { type GaugeDefinition, registerScrapedGauges, type Series } from './scraped-gauges.ts'
export { type Check, createOpsServer, type OpsServer, type OpsServerOptions } from './server.ts'
export { BadStatusIntent } from './status-intent.ts'
export { createStatusWriter, type StatusWriterOptions } from './status-writer.ts'
export { together } from './together.ts'
export type { ApiRequest, ApiResponse, Transport } from './transport.ts'
export { noWriteMetrics, type WriteLabels, type WriteMetrics } from './write-metrics.ts'
export { writeOnce } from './write-once.ts'
export type { WriteLog, WriterEnvironment, WriterOptions } from './write-refusal.ts'
export { createWriteRegistry, type RegisteredWrite, type WriteRegistry } from './write-registry.ts'
export {
  type GoneCause,
  KindUnserved,
  type RaceCause,
  WriteGone,
  WriteHeldBack,
  WriteRaced,
  type WriteTarget,
  type WriteVerb,
} from './write-signals.ts'
export type { ChildWriter, StatusWriter } from './writer.ts'
