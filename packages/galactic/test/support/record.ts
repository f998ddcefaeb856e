/** The recorder over all kinds that Galactic serves, writes or reads. */
import { createAccessSource, createClient, createHttpTransport, type KindDefinition, systemClock } from 'kube-control-loop'
import { createRecorder, type RecordedKind, type Recorder, type RecorderOptions } from 'kube-control-loop/testing'
import { type AuditEntry, type AuditedKinds, followAudit, type PlaneAccess } from 'kube-localplane'
import {
  BGPAdvertisement,
  BGPRouter,
  conditionsByKind,
  NetworkAttachmentDefinition,
  ownership,
  VPC,
  VPCAttachment,
} from '../../src/api/index.ts'
import { galacticAccount } from '../../src/manifests.ts'
import { standInNodeAccount } from '../../testing/stand-in-node/index.ts'

const kinds: readonly KindDefinition[] = [VPC, VPCAttachment, NetworkAttachmentDefinition, BGPAdvertisement, BGPRouter]
const conditions: Readonly<Record<string, RecordedKind['conditions']>> = conditionsByKind

const recorded = kinds.map((kind): RecordedKind => {
  const row = ownership.find((each) => each.kind.kind === kind.kind)
  if (!row) throw new Error(`no row for ${kind.kind}`)
  const declared = conditions[kind.kind]
  const also = kind === BGPRouter ? [{ path: 'spec', identity: 'node' }] : []
  return { kind, ownership: row, also, ...(declared ? { conditions: declared } : {}) }
})

const user = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`
const node = [user(standInNodeAccount), '*']

/** Whoever is none of these may ask for attachments, and play the node and its router. */
const identities = { galactic: [user(galacticAccount)], node, router: node }

/** For `startPlane`: a plane that is recorded has the bodies of these writes in its audit log. */
export const auditBodies: readonly AuditedKinds[] = [...new Set(kinds.map(({ group }) => group))].map((group) => ({ group }))

const isRecorded = ({ group, verb }: AuditEntry) =>
  auditBodies.some((each) => each.group === group) && !['get', 'list', 'watch'].includes(verb)

/** Records until disposed; on a shared plane, only in the caller's namespaces. Disposing throws when anything was not as documented. */
export async function record(plane: PlaneAccess, options: Pick<RecorderOptions, 'inNamespace'> = {}): Promise<Recorder> {
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'recorder' })
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
