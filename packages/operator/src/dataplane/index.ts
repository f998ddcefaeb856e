/** Data planes: which there are, what they are asked for, and what their reports mean. */
import type { Client, Clock, Controller, Jitter, Logger, RecordWarning, WriterEnvironment } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import type { Tell } from '../events.ts'
import { type AttachmentWriter, createAttachmentWriter } from './attachment-writer.ts'
import { createDataPlaneController } from './controller.ts'
import { createDefinitions, type MakeFollowed } from './definitions.ts'
import { createGrantedRole } from './granted-role.ts'
import { createDynamicKinds, type DynamicKinds } from './kinds.ts'
import { createNetworkObjectController } from './network-object.ts'
import { createDataPlaneRegistry, type DataPlaneRegistry } from './registry.ts'
import { createSchemas } from './schemas.ts'

export { registerAttachmentGauges } from './attachment-gauges.ts'
export type { AttachmentRef, AttachmentWriter, EnsuredAttachment } from './attachment-writer.ts'
export type { DataPlaneRegistry } from './registry.ts'
export { reportWithoutPlane } from './report.ts'
export { subnetScope } from './scope.ts'
export type { CompiledPlane, DataPlanes, PlaneRef, PlaneReport, TemplateScope, TranslatedCondition } from './types.ts'

export type DataPlaneParts = {
  readonly client: Client
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'contexts' | 'subnets' | 'dataPlanes' | 'interfaces' | 'networks'>
  /** Makes a cache that is run and stopped here. */
  readonly createCache: MakeFollowed
  readonly clock: Clock
  readonly jitter: Jitter
  readonly log: Logger
  readonly recordEvent?: RecordWarning
  /** Absent: people are told by conditions only. */
  readonly tell?: Tell
}

export type DataPlaneModule = {
  readonly planes: DataPlaneRegistry
  readonly kinds: DynamicKinds
  readonly controllers: readonly Controller[]
  /** For the controller of this name, which writes attachments. */
  attachmentWriter(controller: string): AttachmentWriter
  /** Follows the kinds of all planes, and what tells of kinds and permissions, until aborted; on every replica. */
  run(signal: AbortSignal): Promise<void>
}

/** Wires everything; nothing runs before `run`. Make it before the controllers that watch data planes. */
export function createDataPlanes(parts: DataPlaneParts): DataPlaneModule {
  const { caches, environment } = parts
  const definitions = createDefinitions(parts)
  const role = createGrantedRole(parts)
  const schemas = createSchemas({ ...parts, definitions })
  const kinds = createDynamicKinds({ ...parts, definitions, schemas })
  const planes = createDataPlaneRegistry({ planes: caches.dataPlanes, kinds })
  const all = { ...parts, definitions, planes, kinds, role }
  // A new role may be the one that lets definitions be read.
  role.onChange(definitions.poke)
  return {
    planes,
    kinds,
    controllers: [createDataPlaneController(all), createNetworkObjectController(all)],
    attachmentWriter: (controller) => createAttachmentWriter({ environment, definitions, kinds, planes, controller }),
    async run(signal) {
      await Promise.all([definitions.run(signal), role.run(signal), schemas.run(signal), kinds.run(signal)])
    },
  }
}
