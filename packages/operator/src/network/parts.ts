/** What the network controllers work with. */
import { managers, Network, NetworkContext, ownership, Subnet, statusOwners } from '@nso/api'
import {
  type Clock,
  createHandover,
  createStatusWriter,
  createWriter,
  type RecordWarning,
  type StatusOwner,
  type WriterEnvironment,
  type WriterOptions,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import type { Tell } from '../events.ts'
import { telling } from './events.ts'
import type { RangeService } from './range-claim.ts'

export type NetworkCaches = Pick<Caches, 'networks' | 'contexts' | 'subnets' | 'servingLocations' | 'interfaces'>

export type NetworkOptions = {
  environment: WriterEnvironment
  caches: NetworkCaches
  clock: Clock
  recordEvent?: RecordWarning
  /** Absent: nobody is told of what is refused, save by the conditions. */
  tell?: Tell
  /** Absent: ranges are chosen and carved here. */
  ranges?: RangeService
}

/** Labels of the controllers in metrics and logs. */
export const controllerNames = {
  network: 'network',
  context: 'networkcontext',
  subnet: 'subnet',
  hold: 'networkcontexthold',
} as const

/** The writer of one status, which also takes over what earlier software wrote there. */
function statusWriter<S, T, const Owner extends StatusOwner>(
  own: Omit<WriterOptions<S, T>, 'manager'>,
  owner: Owner,
  { clock, recordEvent, tell = () => {} }: NetworkOptions,
) {
  const handover = createHandover({ ...own, manager: owner.writer, table: ownership })
  const writer = createStatusWriter({ ...own, ...handover, owner, clock, ...(recordEvent ? { recordEvent } : {}) })
  return telling(writer, 'AllocateRange', tell)
}

/** Writers of the network controller: its own finalizer and status, and the contexts it makes. */
export function networkWriters(options: NetworkOptions) {
  const { environment, caches } = options
  const common = { ...environment, controller: controllerNames.network }
  const own = { ...common, kind: Network, cache: caches.networks }
  return {
    finalizer: createWriter({ ...own, manager: managers.network, writes: ['addFinalizer', 'removeFinalizer'] }),
    contexts: createWriter({
      ...common,
      kind: NetworkContext,
      cache: caches.contexts,
      manager: managers.network,
      writes: ['create', 'patch', 'remove'],
    }),
    status: statusWriter(own, statusOwners.network, options),
  }
}
export type NetworkWriters = ReturnType<typeof networkWriters>

/** Writers of the context controller: its finalizer and status, and the Subnets it makes. */
export function contextWriters(options: NetworkOptions) {
  const { environment, caches } = options
  const common = { ...environment, controller: controllerNames.context }
  const own = { ...common, kind: NetworkContext, cache: caches.contexts }
  return {
    finalizer: createWriter({ ...own, manager: managers.networkContext, writes: ['addFinalizer', 'removeFinalizer'] }),
    subnets: createWriter({
      ...common,
      kind: Subnet,
      cache: caches.subnets,
      manager: managers.networkContext,
      writes: ['create', 'remove'],
    }),
    status: statusWriter(own, statusOwners.networkContext, options),
  }
}
export type ContextWriters = ReturnType<typeof contextWriters>

export function subnetWriters(options: NetworkOptions) {
  const { environment, caches } = options
  const own = { ...environment, controller: controllerNames.subnet, kind: Subnet, cache: caches.subnets }
  return { status: statusWriter(own, statusOwners.subnet, options) }
}

export function holdWriters({ environment, caches }: NetworkOptions) {
  return {
    finalizer: createWriter({
      ...environment,
      controller: controllerNames.hold,
      kind: NetworkContext,
      cache: caches.contexts,
      manager: managers.contextHold,
      writes: ['addFinalizer', 'removeFinalizer'],
    }),
  }
}
