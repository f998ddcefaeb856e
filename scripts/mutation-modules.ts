/** Which modules a mutation run changes, and the tests that must notice: no more than these, so that one mutant costs little. */

export type MutationGroup = {
  /** Below the root of the repository. */
  readonly folder: string
  readonly modules: readonly string[]
  /** Test files of the same folder; they import the modules by relative paths, hence the changed copies. */
  readonly tests: readonly string[]
}

const runtime = 'packages/runtime/src'
const dataPlanes = 'packages/operator/src/dataplane'

export const mutationGroups: readonly MutationGroup[] = [
  { folder: runtime, modules: ['races.ts'], tests: ['races.test.ts'] },
  {
    folder: runtime,
    modules: ['write-refusal.ts', 'object-writer.ts', 'write-registry.ts'],
    tests: ['object-writer.test.ts', 'status-writer.test.ts'],
  },
  { folder: runtime, modules: ['write-signals.ts'], tests: ['write-signals.test.ts'] },
  { folder: runtime, modules: ['status-writer.ts', 'fight.ts'], tests: ['status-writer.test.ts'] },
  { folder: runtime, modules: ['contention.ts'], tests: ['contention.test.ts'] },
  { folder: runtime, modules: ['ownership-watch.ts'], tests: ['ownership-watch.test.ts'] },
  { folder: runtime, modules: ['conflict-teller.ts'], tests: ['conflict-teller.test.ts'] },
  { folder: runtime, modules: ['status-intent.ts'], tests: ['status-intent.test.ts'] },
  { folder: runtime, modules: ['status-memory.ts'], tests: ['status-memory.test.ts'] },
  { folder: runtime, modules: ['managed-fields.ts'], tests: ['managed-fields.test.ts'] },
  { folder: runtime, modules: ['ownership-check.ts'], tests: ['ownership-check.test.ts'] },
  { folder: runtime, modules: ['fenced-transport.ts'], tests: ['fenced-transport.test.ts'] },
  { folder: runtime, modules: ['together.ts'], tests: ['together.test.ts'] },
  { folder: runtime, modules: ['pass-end.ts'], tests: ['pass-end.test.ts'] },
  { folder: runtime, modules: ['dispatch.ts'], tests: ['dispatch.test.ts'] },
  { folder: runtime, modules: ['loop.ts'], tests: ['loop.test.ts', 'loop-life.test.ts'] },
  { folder: runtime, modules: ['write-once.ts'], tests: ['write-once.test.ts'] },
  { folder: runtime, modules: ['graves.ts'], tests: ['graves.test.ts'] },
  { folder: runtime, modules: ['queue.ts'], tests: ['queue.test.ts', 'queue-lanes.test.ts'] },
  { folder: runtime, modules: ['backoff.ts'], tests: ['backoff.test.ts'] },
  { folder: runtime, modules: ['resource-version.ts'], tests: ['resource-version.test.ts'] },
  { folder: runtime, modules: ['lease-record.ts'], tests: ['lease-record.test.ts'] },
  {
    folder: `${runtime}/admission`,
    modules: ['cel.ts', 'enforced.ts', 'variables.ts', 'policy.ts'],
    tests: ['policy.test.ts'],
  },
  { folder: `${runtime}/admission`, modules: ['own-write.ts'], tests: ['own-write.test.ts'] },
  { folder: `${runtime}/admission`, modules: ['in-force.ts'], tests: ['in-force.test.ts'] },
  { folder: dataPlanes, modules: ['holding.ts'], tests: ['holding.test.ts'] },
  { folder: dataPlanes, modules: ['serving.ts'], tests: ['serving.test.ts'] },
  { folder: dataPlanes, modules: ['capabilities.ts'], tests: ['capabilities.test.ts'] },
]
