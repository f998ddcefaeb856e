/** What the claim controller works with. */
import type { NetworkInterface, NetworkInterfaceClaim, statusOwners } from '@nso/api'
import type { ChildWriter, Client, SpecOf, StatusOf, StatusWriter } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import type { DataPlanes } from '../dataplane/types.ts'
import type { EarlyStatus } from '../early-status.ts'
import type { Tell } from '../events.ts'
import type { ReadyTimes } from '../ready-times.ts'

type WriterOf<K> = ChildWriter<SpecOf<K>, StatusOf<K>>

export type ClaimParts = {
  readonly caches: Caches
  /** For the live reads that prove an absence. */
  readonly client: Client
  readonly planes: DataPlanes
  readonly allocator: AddressAllocator
  readonly claimWriter: Pick<WriterOf<typeof NetworkInterfaceClaim>, 'addFinalizer' | 'removeFinalizer'>
  readonly interfaceWriter: Pick<WriterOf<typeof NetworkInterface>, 'create' | 'patch' | 'remove'>
  readonly statusWriter: StatusWriter<
    SpecOf<typeof NetworkInterfaceClaim>,
    StatusOf<typeof NetworkInterfaceClaim>,
    (typeof statusOwners)['claim']
  >
  readonly early: EarlyStatus
  readonly times: ReadyTimes
  /** The setting; one delivered ServingLocation wins over it. */
  readonly location: string | undefined
  /** How long a rejected claim waits when no watch wakes it earlier. */
  readonly retryRejectedMs: number
  readonly tell: Tell
}
