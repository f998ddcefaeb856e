/** The recorder over all kinds of NSO, of Galactic and of the toy plane. */
import { conditionsByKind, kinds, nsoAccount, ownership } from '@nso/api'
import * as galactic from 'galactic'
import { standInNodeAccount } from 'galactic/testing'
import {
  type ConditionDefinition,
  createAccessSource,
  createClient,
  createHttpTransport,
  type KindDefinition,
  type OwnershipTable,
  systemClock,
} from 'kube-control-loop'
import { createRecorder, type RecordedKind, type Recorder, type RecorderOptions } from 'kube-control-loop/testing'
import { type AuditEntry, type AuditedKinds, followAudit, type PlaneAccess } from 'kube-localplane'
import { ToyAttachment, toyConditions, toyOwnership, toyUser } from '../toy-plane.ts'

type Conditions = Readonly<Record<string, RecordedKind['conditions']>>

const reasonsOf = (definitions: readonly ConditionDefinition[]) =>
  definitions.flatMap(({ reasons }) => [...reasons.True, ...reasons.False, ...reasons.Unknown])

/** What the two planes document for the conditions on which their reasons are passed through. */
const reported = {
  Prepared: reasonsOf([galactic.attachmentConditions.Ready, toyConditions.Ready]),
  Programmed: reasonsOf([galactic.attachmentConditions.Programmed, toyConditions.Programmed]),
}

/** Where the table says "unless a user wrote it". */
const also: Readonly<Record<string, RecordedKind['also']>> = {
  NetworkContext: [
    { path: 'spec', identity: 'user' },
    { path: 'metadata.labels', identity: 'user' },
  ],
  Subnet: [
    { path: 'spec', identity: 'user' },
    { path: 'metadata.labels', identity: 'user' },
  ],
  BGPRouter: [{ path: 'spec', identity: 'node' }],
}

function recordedKind(kind: KindDefinition, table: OwnershipTable, conditions: Conditions): RecordedKind {
  const row = table.find((each) => each.kind.kind === kind.kind)
  if (!row) throw new Error(`no row for ${kind.kind}`)
  const [declared, others] = [conditions[kind.kind], also[kind.kind]]
  return { kind, ownership: row, ...(declared ? { conditions: declared } : {}), ...(others ? { also: others } : {}) }
}

const recorded: readonly RecordedKind[] = [
  ...kinds.map((kind) => ({ ...recordedKind(kind, ownership, conditionsByKind), reported })),
  ...[...galactic.kinds, ...galactic.localKinds].map((kind) => recordedKind(kind, galactic.ownership, galactic.conditionsByKind)),
  recordedKind(ToyAttachment, [toyOwnership], { ToyAttachment: toyConditions }),
]

const user = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`
const nso = user(nsoAccount)
const node = [user(standInNodeAccount), '*']

/** Creators, users, administrators and holders are whoever is none of these. */
const identities = {
  nso: [nso],
  galactic: [user(galactic.galacticAccount)],
  requester: [nso],
  toy: [toyUser],
  node,
  router: node,
}

/** For `startPlane`: a plane that is recorded has the bodies of these writes in its audit log. */
export const auditBodies: readonly AuditedKinds[] = [...new Set(recorded.map(({ kind }) => kind.group))].map((group) => ({
  group,
}))

const isRecorded = ({ group, verb }: AuditEntry) =>
  auditBodies.some((each) => each.group === group) && !['get', 'list', 'watch'].includes(verb)

/** Records until disposed; on a shared plane, only in the caller's namespaces. Disposing throws when anything was not as documented. */
export async function record(plane: PlaneAccess, options: Pick<RecorderOptions, 'inNamespace'> = {}): Promise<Recorder> {
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'recorder', connections: 32 })
  const writes = await followAudit(plane, isRecorded)
  const recorder = createRecorder({
    client: createClient(transport, { clock: systemClock, jitter: Math.random }),
    ...{ kinds: recorded, identities, writes, clock: systemClock, jitter: Math.random },
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
}
