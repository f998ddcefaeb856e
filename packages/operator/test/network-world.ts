/** What the tests of the network controllers share: a control plane of their own, the controllers on it, and objects. */
import assert from 'node:assert/strict'
import { type Network, NetworkContext, nsoAccount, nsoManifests, ServingLocation, Subnet } from '@nso/api'
import {
  type Client,
  createClient,
  createLoop,
  isWrite,
  type Kind,
  type KubeObject,
  type Loop,
  noWriteMetrics,
  silentLogger,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { type Recorder, type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { type Block, overlaps, readBlock } from '../src/addresses/cidr.ts'
import type { Caches } from '../src/caches.ts'
import { createNetworkControllers } from '../src/network/index.ts'
import type { RangeService } from '../src/network/range-claim.ts'
import { transportTo, viewOf } from './server.ts'
import { auditBodies, record } from './support/record.ts'

export const forever = AbortSignal.timeout(600_000)
export const by = { fieldManager: 'test' }

export type System = AsyncDisposable & {
  readonly script: ScriptedTransport
  readonly caches: Caches
  readonly errors: number
  readonly races: number
  writes(): string[]
  idle(): boolean
}

/** Makes what a process has for an address service, and follows it until the signal. */
export type WithRanges = (script: Transport, signal: AbortSignal) => Promise<RangeService>

/** The controllers as one process would run them, over a transport of their own, until disposed. */
export async function startSystem(namespace: string, over: Transport, withRanges?: WithRanges): Promise<System> {
  const stop = new AbortController()
  const script = scriptTransport(over)
  let races = 0
  const raceRequeue = () => {
    races += 1
  }
  const view = await viewOf(script, {
    namespace,
    signal: stop.signal,
    metrics: { ...noWriteMetrics, raceRequeue },
    names: ['networks', 'contexts', 'subnets', 'servingLocations', 'interfaces'],
  })
  let errors = 0
  const failed = () => {
    errors += 1
  }
  const metrics = {
    controller: () => ({ passed() {}, failed, active() {}, workers() {} }),
    queue: () => ({ added() {}, depth() {}, waited() {}, worked() {}, retried() {} }),
  }
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger, metrics }
  const ranges = await withRanges?.(script, stop.signal)
  const controllers = createNetworkControllers({
    ...view,
    clock: systemClock,
    standalone: true,
    ...(ranges ? { ranges } : {}),
  })
  const loops: Loop[] = controllers.map((controller) => createLoop(controller, parts))
  const running = loops.map((loop) => loop.run(stop.signal, stop.signal))
  return {
    script,
    caches: view.caches,
    get errors() {
      return errors
    },
    get races() {
      return races
    },
    writes: () =>
      script.requests.filter(({ request }) => isWrite(request)).map(({ request }) => `${request.method} ${request.path}`),
    idle: () => loops.every(({ queue: { held } }) => held.waiting + held.working + held.timers + held.failing === 0),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(running)
      for (const loop of loops) loop.close()
    },
  }
}

/** A control plane, seen as its administrator and as NSO. */
export type World = AsyncDisposable & {
  readonly plane: Plane
  /** Holds every version of every object against the tables, and fails the disposal where one is not as documented. */
  readonly recorder: Recorder
  readonly client: Client
  /** What the controllers may do: NSO's own account. */
  readonly asNso: Transport
  system(namespace: string, over?: Transport, withRanges?: WithRanges): Promise<System>
  /** As a user sends it: without what only the server sets. */
  create<S, T>(kind: Kind<S, T>, object: KubeObject<S, T>): Promise<KubeObject<S, T>>
  remove<S, T>(object: KubeObject<S, T>, kind: Kind<S, T>): Promise<void>
  find<S, T>(kind: Kind<S, T>, namespace: string, name: string): Promise<KubeObject<S, T> | undefined>
  readyContext(namespace: string, name: string): Promise<NetworkContext>
  subnetsIn(namespace: string): Promise<Subnet[]>
  /** Starts the controllers again on what stands: whatever they still want to write shows. */
  assertAtRest(namespace: string): Promise<void>
  /** Locations belong to the whole cluster: each test begins without. */
  clearLocations(): Promise<void>
}

/** With ServingLocations of its own, since they belong to the whole cluster. */
export async function startWorld(): Promise<World> {
  const plane = await startPlane({ name: 'network-test', auditBodies })
  const { crds, rbac } = nsoManifests()
  await plane.apply([...crds, ...rbac])
  const recorder = await record(plane)
  const transport = transportTo(plane.kubeconfigPath)
  const asNso = transportTo(await plane.kubeconfigFor({ serviceAccount: nsoAccount }))
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const world: World = {
    plane,
    recorder,
    client,
    asNso,
    system: (namespace, over = asNso, withRanges) => startSystem(namespace, over, withRanges),
    create(kind, object) {
      const { uid: _, resourceVersion: __, generation: ___, ...metadata } = object.metadata
      return client.create(kind, { ...object, metadata }, by, forever)
    },
    async remove(object, kind) {
      await client.remove(kind, object.metadata, {}, forever)
    },
    find: (kind, namespace, name) => client.find(kind, { namespace, name }, forever),
    readyContext: (namespace, name) =>
      eventually(`context ${name} is ready`, async () => {
        const context = await world.find(NetworkContext, namespace, name)
        return context && isReady(context) ? context : undefined
      }),
    subnetsIn: async (namespace) => (await client.list(Subnet, { namespace }, forever)).items,
    async assertAtRest(namespace) {
      await using again = await world.system(namespace)
      await eventually('every key was looked at', () => again.idle() || undefined)
      assert.deepEqual(again.writes(), [])
    },
    async clearLocations() {
      for (const location of (await client.list(ServingLocation, {}, forever)).items)
        await world.remove(location, ServingLocation)
    },
    async [Symbol.asyncDispose]() {
      await asNso.close()
      await transport.close()
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await plane.stop()
      }
    },
  }
  return world
}

export function network(namespace: string, name: string, spec: Partial<Network['spec']> = {}): Network {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Network',
    metadata: { name, namespace },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460, ...spec },
  }
}

export function location(name: string): ServingLocation {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'ServingLocation',
    metadata: { name },
    spec: { topology: { 'topology.datum.net/city-code': 'DFW' } },
  }
}

export function condition(
  object: KubeObject<unknown, { conditions?: { type: string; status: string; reason: string; message: string }[] }> | undefined,
  type: string,
) {
  return object?.status?.conditions?.find((each) => each.type === type)
}

export function isReady(object: NetworkContext | Network | undefined): boolean {
  return condition(object, 'Ready')?.status === 'True'
}

export function blockOf({ spec }: Subnet): Block {
  const block = readBlock(`${spec.startAddress}/${spec.prefixLength}`)
  assert.ok(block)
  return block
}

export function assertDisjoint(subnets: readonly Subnet[]): void {
  for (const [n, one] of subnets.entries()) {
    for (const other of subnets.slice(n + 1)) {
      assert.ok(!overlaps(blockOf(one), blockOf(other)), `${one.metadata.name} overlaps ${other.metadata.name}`)
    }
  }
}
