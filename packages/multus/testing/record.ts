/** The recorder over all kinds of one ownership table. */
import {
  createAccessSource,
  createClient,
  createHttpTransport,
  type KindDefinition,
  type OwnershipTable,
  systemClock,
} from 'kube-control-loop'
import { createRecorder, type RecordedKind, type Recorder, type RecorderOptions } from 'kube-control-loop/testing'
import { type AuditEntry, type AuditedKinds, followAudit, type PlaneAccess } from 'kube-localplane'

export type RecordedTable = {
  readonly kinds: readonly KindDefinition[]
  readonly table: OwnershipTable
  /** By kind. */
  readonly conditions: Readonly<Record<string, RecordedKind['conditions']>>
  /** Whoever is none of these may ask for attachments. */
  readonly identities: RecorderOptions['identities']
  /** By kind: who else writes there by right. */
  readonly also?: Readonly<Record<string, NonNullable<RecordedKind['also']>>>
}

export type Recording = {
  /** For `startPlane`: a plane that is recorded has the bodies of these writes in its audit log. */
  readonly auditBodies: readonly AuditedKinds[]
  /** Records until disposed; on a shared plane, only in the caller's namespaces. Disposing throws when anything was not as documented. */
  record(plane: PlaneAccess, options?: Pick<RecorderOptions, 'inNamespace'>): Promise<Recorder>
}

export function recordingOf({ kinds: all, table, conditions, identities, also = {} }: RecordedTable): Recording {
  const kinds = all.map((kind): RecordedKind => {
    const row = table.find((each) => each.kind.kind === kind.kind)
    if (!row) throw new Error(`no row for ${kind.kind}`)
    const declared = conditions[kind.kind]
    return { kind, ownership: row, also: also[kind.kind] ?? [], ...(declared ? { conditions: declared } : {}) }
  })
  const auditBodies = [...new Set(kinds.map(({ kind }) => kind.group))].map((group) => ({ group }))
  const isRecorded = ({ group, verb }: AuditEntry) =>
    auditBodies.some((each) => each.group === group) && !['get', 'list', 'watch'].includes(verb)
  return {
    auditBodies,
    async record(plane, options = {}) {
      const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
      const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'recorder' })
      const writes = await followAudit(plane, isRecorded)
      const recorder = createRecorder({
        client: createClient(transport, { clock: systemClock, jitter: Math.random }),
        ...{ kinds, identities, writes, clock: systemClock, jitter: Math.random },
        ...options,
      })
      await recorder.started
      return {
        ...recorder,
        async [Symbol.asyncDispose]() {
          try {
            await recorder[Symbol.asyncDispose]()
          } finally {
            await transport.close()
          }
        },
      }
    },
  }
}
