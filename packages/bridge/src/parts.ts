/** What the controllers are made of; app.ts puts it together. */
import type { ChildWriter, Client, Clock, Kind, StatusOwner, StatusWriter, WriteMetrics } from 'kube-control-loop'
import type { DefinitionWriter } from 'kube-multus'
import type { BridgeAttachment, BridgeNetwork, statusOwners } from './api/index.ts'
import type { Caches } from './caches.ts'
import type { Digest } from './network/bridge-name.ts'
import type { Readable } from './readable.ts'

/** Labels in metrics and logs. */
export const controllers = { network: 'bridgenetwork', attachment: 'bridgeattachment' } as const

type Finalizing<K> = K extends Kind<infer S, infer T> ? Pick<ChildWriter<S, T>, 'addFinalizer' | 'removeFinalizer'> : never
type Saying<K, Owner extends StatusOwner> = K extends Kind<infer S, infer T> ? StatusWriter<S, T, Owner> : never

export type Writers = {
  readonly network: Finalizing<typeof BridgeNetwork>
  readonly networkStatus: Saying<typeof BridgeNetwork, typeof statusOwners.network>
  readonly attachment: Finalizing<typeof BridgeAttachment>
  readonly attachmentStatus: Saying<typeof BridgeAttachment, typeof statusOwners.attachment>
  readonly definition: DefinitionWriter
}

export type Settings = {
  /** How long a deleted attachment waits for the Pods that use it. */
  readonly detachGraceMs: number
}

export type Parts = {
  readonly client: Client
  readonly clock: Clock
  readonly caches: Caches
  readonly writers: Writers
  readonly writeMetrics: WriteMetrics
  readonly settings: Settings
  /** Where names of devices come from. */
  readonly digest: Digest
  readonly readable: Readonly<Record<'definitions' | 'pods', (signal: AbortSignal) => Promise<Readable>>>
  /** Counts an attachment let go although a Pod still used it, and tells people. */
  readonly detachGraceExpired: (attachment: BridgeAttachment) => void
}
