/**
 * Controller `dataplane-network` (key: network context): one network object of the chosen data plane for each context, made
 * as soon as every family of the context has a subnet, and never changed afterwards.
 * Relies on: nobody else making objects under the context's name; one that exists is left alone.
 * Crash: name and owner come from the context. It deletes nothing: the owner reference collects what the context leaves.
 */
import { managers, type NetworkContext, type Subnet } from '@nso/api'
import {
  type ChildWriter,
  type Controller,
  createWriter,
  type Key,
  type Kind,
  type KubeObject,
  keyFor,
  keyOf,
  type Logger,
  type Outcome,
  settled,
  type WriterEnvironment,
  waiting,
  watch,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import type { DynamicKinds } from './kinds.ts'
import { isControlledBy } from './plane.ts'
import type { DataPlaneRegistry } from './registry.ts'
import { subnetScope } from './scope.ts'
import { TemplateError } from './template.ts'
import type { CompiledPlane, TemplateScope } from './types.ts'

export const dataplaneNetwork = 'dataplane-network'

export type NetworkObjectParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'contexts' | 'subnets' | 'dataPlanes'>
  readonly planes: DataPlaneRegistry
  readonly kinds: DynamicKinds
}

/** What a pass sees. */
export type SeenNetwork = {
  readonly context: NetworkContext
  readonly subnets: TemplateScope['subnets']
  readonly plane: CompiledPlane | undefined
  /** Whether the plane's network objects are listed, so that absence means something. */
  readonly listed: boolean
  readonly stored: KubeObject | undefined
}

export type NetworkDecision =
  | { do: 'nothing' }
  | { do: 'wait'; on: string }
  /** Someone else's object has the name. */
  | { do: 'report'; message: string }
  | { do: 'create'; body: KubeObject }

/** Pure. */
export function decideNetwork({ context, subnets, plane, listed, stored }: SeenNetwork): NetworkDecision {
  if (context.metadata.deletionTimestamp) return { do: 'nothing' }
  if (!plane) return { do: 'wait', on: `a DataPlane for location ${context.spec.location.name}` }
  if (!plane.networkKind) return { do: 'nothing' }
  if (stored && isControlledBy(stored, context)) return { do: 'nothing' }
  if (stored) return obstacle(stored, context)
  const families = context.spec.ipFamilies
  if (!families) return { do: 'wait', on: 'address families of the context' }
  const missing = families.filter((family) => !subnets.some((subnet) => subnet.family === family))
  if (missing.length > 0) return { do: 'wait', on: `a Subnet for ${missing.join(', ')}` }
  if (plane.hindrance) return { do: 'wait', on: `DataPlane ${plane.ref.name}: ${plane.hindrance}` }
  if (!listed) return { do: 'wait', on: `${plane.networkKind.kind} objects being listed` }
  return rendering(plane, { context, subnets })
}

function rendering(plane: CompiledPlane, scope: TemplateScope & { context: NetworkContext }): NetworkDecision {
  try {
    const body = plane.renderNetwork(scope)
    return body ? { do: 'create', body } : { do: 'nothing' }
  } catch (error) {
    if (error instanceof TemplateError) return { do: 'report', message: `DataPlane ${plane.ref.name}: ${error.message}` }
    throw error
  }
}

/** An object of an earlier context under the name is collected by its owner reference; anything else is foreign. */
function obstacle(stored: KubeObject, context: NetworkContext): NetworkDecision {
  const says = `${stored.kind} ${keyOf(stored)}`
  const owner = stored.metadata.ownerReferences?.find((reference) => reference.controller)
  const isEarlier = owner?.kind === context.kind && owner.name === context.metadata.name
  if (isEarlier || stored.metadata.deletionTimestamp) return { do: 'wait', on: `${says} being gone` }
  return { do: 'report', message: `${says} exists and is not this context’s: it is not taken over` }
}

export function createNetworkObjectController(parts: NetworkObjectParts): Controller {
  const { planes } = parts
  const { contexts, subnets, dataPlanes } = parts.caches
  const writers = createWriters(parts)
  return {
    name: dataplaneNetwork,
    needs: [{ cache: contexts }, { cache: subnets }, { cache: dataPlanes }],
    watches: [
      watch(contexts, ({ key }) => [key]),
      watch(subnets, ({ before, after }) => [before, after].flatMap((subnet) => (subnet ? [contextKeyOf(subnet)] : []))),
      { subscribe: (enqueue) => planes.onNetworkObject((key) => enqueue(key)) },
      {
        subscribe: (enqueue) =>
          planes.onPlane(() => {
            for (const context of contexts.values()) enqueue(keyOf(context), { urgent: false })
          }),
      },
    ],
    async reconcile({ key, signal, log }) {
      const seen = observe(parts, key)
      if (!seen) return settled
      return act(decideNetwork(seen), { seen, writers, log, signal })
    },
  }
}

const contextKeyOf = ({ spec, metadata }: Subnet): Key => keyFor(spec.networkContext.name, metadata.namespace)

function observe({ caches: { contexts, subnets }, planes, kinds }: NetworkObjectParts, key: Key): SeenNetwork | undefined {
  const context = contexts.get(key)
  if (!context) return undefined
  const plane = planes.choose(context.spec.location.name)
  const cache = plane?.networkKind && kinds.follow(plane.networkKind).cache
  return {
    context,
    subnets: subnetScope(context, subnets.by('context', key)),
    plane,
    listed: cache?.state === 'synced' || cache?.state === 'stale',
    stored: cache?.get(key),
  }
}

type Acting = {
  seen: SeenNetwork
  writers: (plane: CompiledPlane) => Pick<ChildWriter<unknown, unknown>, 'create'> | undefined
  log: Logger
  signal: AbortSignal
}

async function act(decision: NetworkDecision, { seen, writers, log, signal }: Acting): Promise<Outcome> {
  switch (decision.do) {
    case 'nothing':
      return settled
    case 'wait':
      return waiting(decision.on)
    case 'report':
      log.warn({ context: keyOf(seen.context) }, decision.message)
      return waiting(decision.message)
    case 'create':
      await (seen.plane && writers(seen.plane))?.create(decision.body, signal)
      return settled
  }
}

/** One writer for each kind, made when the kind is served. */
function createWriters({ environment, kinds }: NetworkObjectParts): Acting['writers'] {
  const writers = new Map<Kind, Pick<ChildWriter<unknown, unknown>, 'create'>>()
  return ({ networkKind }) => {
    const { kind, cache } = networkKind ? kinds.follow(networkKind) : {}
    if (!kind) return undefined
    const known = writers.get(kind)
    if (known) return known
    const manager = managers.dataPlane
    const writes = ['create'] as const
    const writer = createWriter({
      ...environment,
      kind,
      cache,
      controller: dataplaneNetwork,
      manager,
      mayBeUnserved: true,
      writes,
    })
    writers.set(kind, writer)
    return writer
  }
}
