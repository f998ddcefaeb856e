/**
 * Controller `dataplane-network` (key: network context): one network object for each context, of the data plane that serves its
 * location, and of each that still serves an interface there; made as soon as every family of the context has a subnet, and never
 * changed afterwards.
 * Relies on: nobody else making objects under the context's name; one that exists is left alone.
 * Crash: name and owner come from the context. It deletes nothing: the owner reference collects what the context leaves, and the
 * end of a DataPlane (release.ts) what that leaves.
 */
import { labels, managers, type Network, type NetworkContext, type Subnet } from '@nso/api'
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
import { planeOf } from '../interface/report.ts'
import type { DynamicKinds } from './kinds.ts'
import { ownerOfNetworkObject } from './network-owner.ts'
import { refusalOf } from './refusal.ts'
import type { DataPlaneRegistry } from './registry.ts'
import { familiesWithoutSubnet, subnetScope } from './scope.ts'
import { isGoing, isSameKind } from './serving.ts'
import { TemplateError } from './template.ts'
import type { CompiledPlane, TemplateScope } from './types.ts'

const dataplaneNetwork = 'dataplane-network'

export type NetworkObjectParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'contexts' | 'subnets' | 'dataPlanes' | 'networks' | 'interfaces'>
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
  /** Of the context, while it exists. */
  readonly network?: Network | undefined
}

export type NetworkDecision = { do: 'nothing' } | { do: 'wait'; on: string } | Told | { do: 'create'; body: KubeObject }

/** Of Events about a network context. */
export const networkObjectReasons = ['NetworkObjectForeign', 'TemplateFailed', 'NetworkObjectRefused'] as const

/** People are told: someone else's object has the name, the template does not fit this context, or the API server is against it. */
type Told = { do: 'report'; reason: (typeof networkObjectReasons)[number]; message: string }

/** Pure. */
export function decideNetwork({ context, subnets, plane, listed, stored, network }: SeenNetwork): NetworkDecision {
  if (context.metadata.deletionTimestamp) return { do: 'nothing' }
  if (!plane) return { do: 'wait', on: `a DataPlane for location ${context.spec.location.name}` }
  if (!plane.networkKind) return { do: 'nothing' }
  if (stored) return decideStored(stored, context)
  if (!context.spec.ipFamilies) return { do: 'wait', on: 'address families of the context' }
  const missing = familiesWithoutSubnet(context, subnets)
  if (missing.length > 0) return { do: 'wait', on: `a Subnet for ${missing.join(', ')}` }
  if (plane.hindrance) return { do: 'wait', on: `DataPlane ${plane.ref.name}: ${plane.hindrance}` }
  if (!listed) return { do: 'wait', on: `${plane.networkKind.kind} objects being listed` }
  // It is never changed afterwards: what the template reads must be there.
  if (plane.readsNetwork && !network) return { do: 'wait', on: `Network ${context.spec.network.name}` }
  return rendering(plane, { context, subnets, network })
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
  const { contexts, subnets, dataPlanes, networks, interfaces } = parts.caches
  const writers = createWriters(parts)
  const tell = createTeller(parts)
  const make = async (plane: CompiledPlane, body: KubeObject, signal: AbortSignal) => {
    // It may have been let go of while another object was made; whoever is needed then is woken by that.
    const now = planes.find(plane.ref)
    if (!now || isGoing(now)) return
    // A plane that goes meanwhile waits for this write, so that it sees and removes what was made.
    await planes.making(plane.ref, async () => writers(plane)?.create(body, signal))
  }
  return {
    name: dataplaneNetwork,
    needs: [{ cache: contexts }, { cache: subnets }, { cache: dataPlanes }, { cache: networks }, { cache: interfaces }],
    watches: [
      watch(contexts, ({ key }) => [key]),
      watch(subnets, ({ before, after }) => [before, after].flatMap((subnet) => (subnet ? [contextKeyOf(subnet)] : []))),
      // Only one that appears is waited for.
      watch(networks, ({ key, before }) => (before ? [] : contexts.by('network', key).map(keyOf))),
      { subscribe: (enqueue) => planes.onNetworkObject((key) => enqueue(key)) },
      {
        subscribe: (enqueue) =>
          planes.onPlane(() => {
            for (const context of contexts.values()) enqueue(keyOf(context), { urgent: false })
          }),
      },
    ],
    async reconcile({ key, signal, log }) {
      const context = contexts.get(key)
      if (!context) return settled
      const decided = planesOf(parts, context).map((plane) => ({
        plane,
        decision: decideNetwork(observe(parts, context, plane)),
      }))
      const report = decided.map(({ decision }) => decision).find((decision) => decision.do === 'report')
      for (const { plane, decision } of decided) {
        if (!plane || decision.do !== 'create') continue
        try {
          await make(plane, decision.body, signal)
        } catch (error) {
          // A failed pass, tried again ever later; people are told once.
          tell.about(context, report ?? refused(plane, decision.body, error), log)
          throw error
        }
      }
      tell.about(context, report, log)
      return outcomeOf(decided.map(({ decision }) => decision))
    },
    forget: tell.forget,
  }
}

function refused({ ref }: CompiledPlane, body: KubeObject, error: unknown): Told | undefined {
  const why = refusalOf(error)
  if (why === undefined) return undefined
  const message = `DataPlane ${ref.name}: ${body.kind} ${keyOf(body)}: the API server refuses it: ${why}`
  return { do: 'report', reason: 'NetworkObjectRefused', message }
}

/** Tells people once for each episode: what is still as it was told says nothing new. A new process tells again. */
function createTeller({ recordEvent }: NetworkObjectParts) {
  const told = new Map<Key, string>()
  return {
    about(context: NetworkContext, decision: NetworkDecision | undefined, log: Logger): void {
      const key = keyOf(context)
      if (decision?.do !== 'report') return void told.delete(key)
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

/** The plane of the location, and others of another network kind that keep an interface there though the location is not theirs any more. */
function planesOf(
  { caches, planes }: NetworkObjectParts,
  { spec, metadata }: NetworkContext,
): readonly (CompiledPlane | undefined)[] {
  const found: (CompiledPlane | undefined)[] = [planes.choose(spec.location.name)]
  for (const nic of caches.interfaces.by('network', keyFor(spec.network.name, metadata.namespace))) {
    const plane = nic.metadata.labels?.[labels.location] === spec.location.name ? planeOf(nic, planes) : undefined
    const { networkKind } = plane ?? {}
    if (!networkKind || !plane || isGoing(plane)) continue
    if (!found.some((known) => known?.networkKind && isSameKind(known.networkKind, networkKind))) found.push(plane)
  }
  return found
}

function observe(
  { caches: { subnets, networks }, kinds }: NetworkObjectParts,
  context: NetworkContext,
  plane: CompiledPlane | undefined,
): SeenNetwork {
  const key = keyOf(context)
  const cache = plane?.networkKind && kinds.follow(plane.networkKind).cache
  return {
    context,
    subnets: subnetScope(context, subnets.by('context', key)),
    plane,
    listed: cache?.state === 'synced' || cache?.state === 'stale',
    stored: cache?.get(key),
    network: networks.get(keyFor(context.spec.network.name, context.metadata.namespace)),
  }
}

type WriterOf = (plane: CompiledPlane) => Pick<ChildWriter<unknown, unknown>, 'create'> | undefined

function outcomeOf(decisions: readonly NetworkDecision[]): Outcome {
  for (const decision of decisions) {
    if (decision.do === 'wait') return waiting(decision.on)
    if (decision.do === 'report') return waiting(decision.message)
  }
  return settled
}

/** One writer for each kind, made when the kind is served. */
function createWriters({ environment, kinds }: NetworkObjectParts): WriterOf {
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
      strict: true,
      writes,
    })
    writers.set(kind, writer)
    return writer
  }
}
