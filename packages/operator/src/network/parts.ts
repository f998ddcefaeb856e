/** What the network controllers work with. */
import { managers, Network, NetworkContext, Subnet, statusOwners } from '@nso/api'
import { type Clock, createStatusWriter, createWriter, type RecordWarning, type WriterEnvironment } from 'kube-control-loop'
import type { Caches } from '../caches.ts'

export type NetworkCaches = Pick<Caches, 'networks' | 'contexts' | 'subnets' | 'servingLocations' | 'interfaces'>

export type NetworkOptions = {
  environment: WriterEnvironment
  caches: NetworkCaches
  clock: Clock
  recordEvent?: RecordWarning
}

/** Labels of the controllers in metrics and logs. */
export const controllerNames = {
  network: 'network',
  context: 'networkcontext',
  subnet: 'subnet',
  hold: 'networkcontexthold',
} as const

/** Writers of the network controller: its own finalizer and status, and the contexts it makes. */
export function networkWriters({ environment, caches, clock, recordEvent }: NetworkOptions) {
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
    status: createStatusWriter({ ...own, owner: statusOwners.network, clock, ...(recordEvent ? { recordEvent } : {}) }),
  }
}
export type NetworkWriters = ReturnType<typeof networkWriters>

/** Writers of the context controller: its finalizer and status, and the Subnets it makes. */
export function contextWriters({ environment, caches, clock, recordEvent }: NetworkOptions) {
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
    status: createStatusWriter({ ...own, owner: statusOwners.networkContext, clock, ...(recordEvent ? { recordEvent } : {}) }),
  }
}
export type ContextWriters = ReturnType<typeof contextWriters>

export function subnetWriters({ environment, caches, clock, recordEvent }: NetworkOptions) {
  const own = { ...environment, controller: controllerNames.subnet, kind: Subnet, cache: caches.subnets }
  return { status: createStatusWriter({ ...own, owner: statusOwners.subnet, clock, ...(recordEvent ? { recordEvent } : {}) }) }
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
