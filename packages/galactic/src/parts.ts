/** What the controllers are made of; app.ts puts it together. */
import type { ChildWriter, Client, Clock, Kind, StatusOwner, StatusWriter, WriteMetrics } from 'kube-control-loop'
import type { NetworkAttachmentDefinition, statusOwners, VPC, VPCAttachment } from './api/index.ts'
import type { Caches } from './caches.ts'
import type { RandomInt } from './identifiers/pick.ts'
import type { Reservations } from './identifiers/reservations.ts'

/** Labels in metrics and logs. */
export const vpcControllerName = 'vpc'
export const attachmentControllerName = 'vpcattachment'

type Child<K, M extends keyof ChildWriter<unknown, unknown>> =
  K extends Kind<infer S, infer T> ? Pick<ChildWriter<S, T>, M> : never
type Status<K, Owner extends StatusOwner> = K extends Kind<infer S, infer T> ? StatusWriter<S, T, Owner> : never

export type Writers = {
  readonly vpc: Child<typeof VPC, 'addFinalizer' | 'removeFinalizer'>
  readonly vpcStatus: Status<typeof VPC, typeof statusOwners.vpc>
  readonly attachment: Child<typeof VPCAttachment, 'addFinalizer' | 'removeFinalizer'>
  readonly attachmentStatus: Status<typeof VPCAttachment, typeof statusOwners.attachment>
  readonly definition: Child<typeof NetworkAttachmentDefinition, 'create' | 'patch' | 'remove'>
}

export type Settings = {
  /** Namespace of the BGP objects; also written into each CNI configuration. */
  readonly systemNamespace: string
  /** How long a deleted attachment waits for its advertisement to be withdrawn. */
  readonly detachGraceMs: number
}

export type Parts = {
  readonly client: Client
  readonly clock: Clock
  readonly random: RandomInt
  readonly caches: Caches
  readonly reservations: Reservations
  readonly writers: Writers
  readonly writeMetrics: WriteMetrics
  readonly settings: Settings
  /** Counts an attachment let go although it was still advertised, and tells people. */
  readonly detachGraceExpired: (attachment: VPCAttachment) => void
}
