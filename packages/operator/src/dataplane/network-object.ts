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
  type RecordWarning,
  settled,
  type WriterEnvironment,
  waiting,
  watch,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import type { DynamicKinds } from './kinds.ts'
import { ownerOfNetworkObject } from './network-owner.ts'
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
  readonly recordEvent?: RecordWarning
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
  /** People are told: someone else's object has the name, or the template does not fit this context. */
  | { do: 'report'; reason: 'NetworkObjectForeign' | 'TemplateFailed'; message: string }
  | { do: 'create'; body: KubeObject }

/** Pure. */
export function decideNetwork({ context, subnets, plane, listed, stored }: SeenNetwork): NetworkDecision {
  if (context.metadata.deletionTimestamp) return { do: 'nothing' }
  if (!plane) return { do: 'wait', on: `a DataPlane for location ${context.spec.location.name}` }
  if (!plane.networkKind) return { do: 'nothing' }
  if (stored) return decideStored(stored, context)
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
    if (error instanceof TemplateError) {
      return { do: 'report', reason: 'TemplateFailed', message: `DataPlane ${plane.ref.name}: ${error.message}` }
    }
    throw error
  }
}

/** An object of an earlier context under the name is collected by its owner reference; anything else is foreign. */
function decideStored(stored: KubeObject, context: NetworkContext): NetworkDecision {
  const owner = ownerOfNetworkObject(stored, context)
  if (owner.is === 'ours') return { do: 'nothing' }
  if (owner.is === 'going') return { do: 'wait', on: `${owner.says} being gone` }
  return { do: 'report', reason: 'NetworkObjectForeign', message: owner.message }
}

export function createNetworkObjectController(parts: NetworkObjectParts): Controller {
  const { planes } = parts
  const { contexts, subnets, dataPlanes } = parts.caches
  const writers = createWriters(parts)
  const tell = createTeller(parts)
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
      const decision = decideNetwork(seen)
      tell.about(seen.context, decision, log)
      return act(decision, { seen, writers, signal })
    },
    forget: tell.forget,
  }
}

/** Tells people once for each episode: what is still as it was told says nothing new. A new process tells again. */
function createTeller({ recordEvent }: NetworkObjectParts) {
  const told = new Map<Key, string>()
  return {
    about(context: NetworkContext, decision: NetworkDecision, log: Logger): void {
      const key = keyOf(context)
      if (decision.do !== 'report') return void told.delete(key)
      const { reason, message } = decision
      const episode = `${context.metadata.uid} ${reason} ${message}`
      if (told.get(key) === episode) return
      told.set(key, episode)
      log.warn({ context: key }, message)
      recordEvent?.(context, { type: 'Warning', reason, action: 'CreateNetworkObject', note: message })
    },
    forget: (key: Key) => void told.delete(key),
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
  signal: AbortSignal
}

async function act(decision: NetworkDecision, { seen, writers, signal }: Acting): Promise<Outcome> {
  switch (decision.do) {
    case 'nothing':
      return settled
    case 'wait':
      return waiting(decision.on)
    case 'report':
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
