/** A control plane with the kinds of one application and no others, calls as the administrator, and a recorder over all of it. */
import {
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  createLogger,
  type Logger,
  type Manifest,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import type { Recorder } from 'kube-control-loop/testing'
import { type AuditEntry, type Plane, readAudit, startPlane, tailAudit } from 'kube-localplane'
import type { Recording } from './record.ts'

/** A signal that nobody aborts. */
export const never = new AbortController().signal
export const by = { fieldManager: 'test' }

export type PlaneWorld = {
  readonly plane: Plane
  /** Holds every version of every object against the table, and fails the disposal where one is not as documented. */
  readonly recorder: Recorder
  readonly client: Client
  /** Of the accounts, in their order. */
  readonly kubeconfigs: readonly string[]
  /** All that was logged by `logger`, as lines of JSON. */
  readonly log: readonly string[]
  readonly logger: Logger
  transport(kubeconfig: string): Transport
  namespace(name: string): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

export type PlaneWorldOptions = {
  /** Of the application. */
  readonly name: string
  readonly manifests: readonly Manifest[]
  readonly accounts: readonly { namespace: string; name: string }[]
  readonly recording: Recording
}

export async function startPlaneWorld({ name, manifests, accounts, recording }: PlaneWorldOptions): Promise<PlaneWorld> {
  const plane = await startPlane({ name: `${name}-test`, auditBodies: recording.auditBodies })
  await plane.apply(manifests as never)
  const kubeconfigs = await Promise.all(accounts.map((serviceAccount) => plane.kubeconfigFor({ serviceAccount })))
  const transport = (kubeconfig: string) =>
    createHttpTransport({
      access: createAccessSource({ clock: systemClock, kubeconfig }),
      clock: systemClock,
      userAgent: `${name}-test`,
    })
  const admin = transport(plane.kubeconfigPath)
  const client = createClient(admin, { clock: systemClock, jitter: Math.random })
  const recorder = await recording.record(plane)
  const log: string[] = []
  return {
    ...{ plane, recorder, client, kubeconfigs, log, transport },
    logger: createLogger({ name, level: 'debug', to: { write: (line) => void log.push(line) } }),
    async namespace(space) {
      const kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: space }, spec: {} }
      await client.create(kind, body, by, never)
      return space
    },
    async [Symbol.asyncDispose]() {
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await admin.close()
        await plane.stop()
      }
    },
  }
}

export type Running = { stop(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

/** Runs a process in this one until it is stopped or disposed. */
export function runHere<P extends { run(signal: AbortSignal): Promise<void> }>(process: P): { process: P } & Running {
  const over = new AbortController()
  const running = process.run(over.signal)
  const stop = async () => {
    over.abort(new Error('the test stops it'))
    await running
  }
  return { process, stop, [Symbol.asyncDispose]: stop }
}

type Conditioned = { status?: { conditions?: { type: string; status: string; reason: string }[] } } | undefined

/** `True Reason`, or undefined where the condition is absent. */
export const conditionOf = (object: Conditioned, type: string) => {
  const found = object?.status?.conditions?.find((condition) => condition.type === type)
  return found && `${found.status} ${found.reason}`
}

/** All that a user has written so far, leases and questions about its own rights apart, by verb and resource; and what was refused. */
export async function writesBy(
  plane: Plane,
  user: string,
): Promise<{ counted: Record<string, number>; refused: readonly AuditEntry[] }> {
  const to = await tailAudit(plane)
  const entries = (await readAudit(plane.auditLogPath ?? '', { to })).filter(
    (entry) => entry.user === user && !['leases', 'selfsubjectaccessreviews'].includes(entry.resource ?? ''),
  )
  const writes = entries.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
  const counted = Map.groupBy(writes, ({ verb, resource, subresource }) =>
    [verb, resource, subresource].filter(Boolean).join(' '),
  )
  return {
    counted: Object.fromEntries([...counted].map(([what, all]) => [what, all.length]).sort()),
    refused: entries.filter(({ code }) => code >= 400 && code !== 404),
  }
}
