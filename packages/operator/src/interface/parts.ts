/** What the interface controller works with. */
import type { NetworkInterface, statusOwners } from '@nso/api'
import type { ChildWriter, Client, SpecOf, StatusOf, StatusWriter } from 'kube-control-loop'
import type { AddressAllocator } from '../addresses/port.ts'
import type { Caches } from '../caches.ts'
import type { AttachmentWriter } from '../dataplane/attachment-writer.ts'
import type { DataPlaneRegistry } from '../dataplane/registry.ts'
import type { EarlyStatus } from '../early-status.ts'
import type { Tell } from '../events.ts'

export type InterfaceParts = {
  readonly caches: Caches
  /** For the live reads that prove an absence. */
  readonly client: Client
  readonly planes: DataPlaneRegistry
  readonly attachments: AttachmentWriter
  readonly allocator: AddressAllocator
  readonly writer: Pick<
    ChildWriter<SpecOf<typeof NetworkInterface>, StatusOf<typeof NetworkInterface>>,
    'patch' | 'addFinalizer' | 'removeFinalizer'
  >
  readonly statusWriter: StatusWriter<
    SpecOf<typeof NetworkInterface>,
    StatusOf<typeof NetworkInterface>,
    (typeof statusOwners)['interface']
  >
  readonly early: EarlyStatus
  readonly tell: Tell
  /** The setting; one delivered ServingLocation wins over it. */
  readonly location: string | undefined
  /** How long it waits for an address that the API server refuses. */
  readonly retryRefusedMs: number
}
