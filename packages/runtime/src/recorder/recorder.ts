/**
 * Watches kinds while a test runs and holds every version, not only the last, against the ownership table and the tables of
 * conditions. Forced applies never conflict, so that "no conflicts" proves nothing; this does.
 */
import type { Jitter } from '../backoff.ts'
import type { Client } from '../client.ts'
import type { Clock } from '../clock.ts'
import { type KubeObject, keyFor, splitKey } from '../kind.ts'
import { silentLogger } from '../log.ts'
import { createReflector } from '../reflector.ts'
import { orderOfVersions } from '../resource-version.ts'
import { conditionViolations } from './condition-rules.ts'
import { type AuditedWrite, type History, historiesOf } from './history.ts'
import { ownershipViolations } from './ownership-rules.ts'
import { documentedManagers, type Identities, type RecordedKind, showViolation, type Violation } from './rules.ts'

export type RecorderOptions = {
  /** Of someone who may read all of these kinds. */
  client: Client
  kinds: readonly RecordedKind[]
  identities: Identities
  /** Every write on these kinds that was answered since the recorder was made and before this call. */
  writes(): Promise<readonly AuditedWrite[]>
  /** Only objects in such namespaces, where others use the same server. */
  inNamespace?: (namespace: string) => boolean
  clock: Clock
  jitter: Jitter
}

/** A violation that a test brings about on purpose: it plays a second writer, or tidies up by force. */
export type Expected = {
  kind: string
  namespace?: string | undefined
  /** Absent: any object of the kind in that namespace. */
  name?: string
  /** As in a violation, or a part of it from its beginning: `status` is all of it, `*` everything. */
  path: string
  why: string
  /** Not an error when it does not happen. */
  maybe?: boolean
}

export type Recorder = {
  /** Resolves when what stands is known, so that every later change shows. */
  readonly started: Promise<void>
  /** Announces violations that are meant to be. One that does not happen is a violation itself. */
  expect(expected: Expected): void
  /** Waits for what was answered so far and resolves with every unannounced violation, in the order of kinds and objects. */
  violations(): Promise<Violation[]>
  /** Checks, and throws one error that lists all violations. */
  [Symbol.asyncDispose](): Promise<void>
}

const patienceMs = 15_000
const lookMs = 20

type Followed = {
  kind: RecordedKind
  seen: Map<string, KubeObject>
  reached: string
  isServed: boolean
  /** Resolves when the kind is listed, or known to be not served. */
  started: Promise<void>
  poke(): void
}

/** Starts to watch at once. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { kinds, identities, clock } = options
  const managers = documentedManagers(kinds)
  const stop = new AbortController()
  const followed = kinds.map((kind) => follow(kind, options, stop.signal))
  const expected: Expected[] = []

  async function histories(): Promise<{ found: { kind: RecordedKind; history: History }[]; late: Violation[] }> {
    const writes = await options.writes()
    const found: { kind: RecordedKind; history: History }[] = []
    const late: Violation[] = []
    for (const one of followed) {
      const all = historiesOf(one.kind.kind, one.seen.values(), writes)
      const violation = await caughtUp(one, latestOf(all), clock)
      if (violation) late.push(violation)
      // Again, with what the watch has brought meanwhile.
      const versions = historiesOf(one.kind.kind, one.seen.values(), writes)
      const inside = versions.filter(({ key }) => options.inNamespace?.(splitKey(key).namespace ?? '') ?? true)
      found.push(...inside.map((history) => ({ kind: one.kind, history })))
    }
    return { found, late }
  }

  async function violations(): Promise<Violation[]> {
    const { found, late } = await histories()
    const all = found.flatMap(({ kind, history }) => {
      const rules = { kind, identities, managers }
      return [...ownershipViolations(history, rules), ...conditionViolations(history, rules)]
    })
    const unannounced = all.filter((violation) => !expected.some((one) => announces(one, violation)))
    const missing = expected.filter((one) => !one.maybe && !all.some((violation) => announces(one, violation)))
    const blind = found.length === 0 ? [nothingSeen] : []
    return [...blind, ...late, ...unannounced, ...missing.map(neverHappened)]
  }

  async function end(): Promise<void> {
    try {
      const found = await violations()
      if (found.length > 0) throw new Error([`${found.length} violations`, ...found.map(showViolation)].join('\n  '))
    } finally {
      stop.abort(new Error('the recording is over'))
    }
  }

  let ending: Promise<void> | undefined
  return {
    started: Promise.all(followed.map(({ started }) => started)).then(() => {}),
    expect: (one) => void expected.push(one),
    violations,
    [Symbol.asyncDispose]() {
      ending ??= end()
      return ending
    },
  }
}

function follow(kind: RecordedKind, { client, clock, jitter }: RecorderOptions, signal: AbortSignal): Followed {
  const start = Promise.withResolvers<void>()
  const poke = () => reflector.poke()
  const one: Followed = { kind, seen: new Map(), reached: '', isServed: true, started: start.promise, poke }
  const reach = (version = '') => {
    if (one.reached === '' || orderOfVersions(version, one.reached) === 'newer') one.reached = version
    one.isServed = true
  }
  const take = (object: KubeObject) => {
    const { uid, resourceVersion } = object.metadata
    one.seen.set(`${uid} ${resourceVersion}`, object)
    reach(resourceVersion)
  }
  const reflector = createReflector<unknown, unknown>({
    client,
    kind: kind.kind,
    selection: {},
    feed: {
      replaced(items, version) {
        for (const item of items) take(item)
        reach(version)
        start.resolve()
      },
      changed: take,
      deleted: ({ metadata }) => reach(metadata.resourceVersion),
      reached: reach,
      following() {},
      failing() {},
      unserved() {
        one.isServed = false
        start.resolve()
      },
    },
    clock,
    jitter,
    log: silentLogger,
    metrics: { listed() {}, streamEnded() {} },
  })
  void reflector.run(signal)
  return one
}

function latestOf(histories: readonly History[]): string {
  let latest = ''
  for (const { versions } of histories) {
    const version = versions.findLast(({ last }) => !last)?.object.metadata.resourceVersion
    if (version !== undefined && (latest === '' || orderOfVersions(version, latest) === 'newer')) latest = version
  }
  return latest
}

/** Waits until the watch has come as far as the audit log. */
async function caughtUp(one: Followed, latest: string, clock: Clock): Promise<Violation | undefined> {
  const isThere = () =>
    !one.isServed || latest === '' || ['newer', 'same'].includes(orderOfVersions(one.reached || undefined, latest))
  const end = clock.monotonic() + patienceMs
  one.poke()
  while (!isThere() && clock.monotonic() < end) await clock.sleep(lookMs, AbortSignal.timeout(patienceMs))
  if (isThere()) return undefined
  const says = `the watch came to ${one.reached || 'nothing'}, the audit log to ${latest}`
  return { invariant: 'REC-2', kind: one.kind.kind.kind, key: '*', resourceVersion: latest, path: '*', says }
}

function announces({ kind, namespace, name, path }: Expected, violation: Violation): boolean {
  const found = splitKey(violation.key)
  if (kind !== violation.kind || namespace !== found.namespace || (name !== undefined && name !== found.name)) return false
  if (path === '*') return true
  return violation.path === path || violation.path.startsWith(`${path}.`) || violation.path.startsWith(`${path}/`)
}

const nothingSeen: Violation = {
  invariant: 'REC-1',
  kind: '*',
  key: '*',
  resourceVersion: '?',
  path: '*',
  says: 'no version of any recorded kind was seen',
}

const neverHappened = ({ kind, namespace, name, path, why }: Expected): Violation => ({
  invariant: 'REC-3',
  kind,
  key: keyFor(name ?? '*', namespace),
  resourceVersion: '?',
  path,
  says: `announced and not seen: ${why}`,
})
