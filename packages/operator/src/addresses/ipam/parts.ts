/** What the parts of the IPAM adapter share. */
import type { Client, Clock } from 'kube-control-loop'
import type { Caches } from '../../caches.ts'
import type { IpamConnection } from './connection.ts'
import type { Interests } from './interests.ts'
import type { Losses } from './losses.ts'

export type IpamParts = {
  readonly service: IpamConnection
  readonly caches: Pick<Caches, 'claims' | 'interfaces'>
  /** Of NSO's own cluster: live reads that prove an absence. */
  readonly cluster: Pick<Client, 'find'>
  readonly clock: Clock
  readonly interests: Interests
  readonly losses: Losses
  /** Families of the service's classes, which never change; as far as they were asked for. */
  readonly families: Map<string, string>
  /** A pool has room again. */
  freed(pool: string | undefined): void
  /** The service did not do it: the topics by which whoever needs it is woken. */
  whenBack(): readonly string[]
  /** News may have been missed: the topic by which whoever needs them is woken. */
  inAWhile(): readonly string[]
  /** This location, where it is known. */
  location(): string | undefined
}

export const fieldManager = 'nso-networkinterfaceclaim'
