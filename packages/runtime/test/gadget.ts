/** A kind of these tests' own, with two writers of its status and a seeded condition, on the real API server. */
import {
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  createWriteRegistry,
  type Kind,
  type KubeObject,
  systemClock,
  type Transport,
  type WriteLabels,
  type WriteMetrics,
} from 'kube-control-loop'
import { type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { installManifests, type PlaneAccess } from 'kube-localplane'
import { sharedPlane, testNamespace } from 'kube-localplane/testing'

export type GadgetSpec = { size?: number; owner?: string; huge?: number }
export type GadgetCondition = {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}
export type GadgetStatus = {
  phase?: string
  note?: string
  ref?: { name: string; hint?: string }
  addresses?: { address: string }[]
  conditions?: GadgetCondition[]
}
export type Gadget = KubeObject<GadgetSpec, GadgetStatus>

export const Gadget: Kind<GadgetSpec, GadgetStatus> = {
  group: 'writers.example.dev',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  scope: 'Namespaced',
}

/** Two documented owners of one status. */
export const alice = {
  writer: 'alice',
  identity: 'alice',
  owns: ['phase', 'note', 'ref', 'addresses', 'conditions/Ready', 'conditions/Sound'],
  when: 'each pass',
} as const
export const bob = { writer: 'bob', identity: 'bob', owns: ['conditions/Carried'], when: 'the other side reports' } as const

const text = { type: 'string' }
const condition = {
  type: 'object',
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  properties: {
    type: text,
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: text,
    message: text,
    lastTransitionTime: { type: 'string', format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64' },
  },
}
export const seed = {
  type: 'Ready',
  status: 'Unknown',
  reason: 'Pending',
  message: 'Waiting',
  lastTransitionTime: '1970-01-01T00:00:00Z',
} as const

export const gadgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.writers.example.dev' },
  spec: {
    group: 'writers.example.dev',
    scope: 'Namespaced',
    names: { kind: 'Gadget', listKind: 'GadgetList', plural: 'gadgets', singular: 'gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer' }, owner: text, huge: { type: 'integer', format: 'int64' } },
              },
              status: {
                type: 'object',
                default: { conditions: [seed] },
                properties: {
                  phase: text,
                  note: text,
                  ref: { type: 'object', required: ['name'], properties: { name: text, hint: text } },
                  addresses: { type: 'array', items: { type: 'object', properties: { address: text } } },
                  conditions: {
                    type: 'array',
                    items: condition,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}

export type Counted = {
  races: WriteLabels[]
  gones: WriteLabels[]
  conflicts: { resource: string; field: string; manager: string }[]
  rounds: { resource: string }[]
}

/** Metrics that keep what was counted. */
export function countingMetrics(): WriteMetrics & Counted {
  const counted: Counted = { races: [], gones: [], conflicts: [], rounds: [] }
  return {
    ...counted,
    raceRequeue(labels) {
      counted.races.push(labels)
    },
    gone(labels) {
      counted.gones.push(labels)
    },
    ownershipConflict(labels) {
      counted.conflicts.push(labels)
    },
    ownershipRound(labels) {
      counted.rounds.push(labels)
    },
  }
}

export type Bench = AsyncDisposable & {
  namespace: string
  client: Client
  wire: ScriptedTransport
  transport: Transport
  metrics: WriteMetrics & Counted
  signal: AbortSignal
  create(name: string, metadata?: Partial<Gadget['metadata']>): Promise<Gadget>
  read(name: string): Promise<Gadget>
}

export type BenchOptions = {
  /** Absent: the shared one. */
  plane?: PlaneAccess
  /** Absent: the admin's. */
  kubeconfig?: string
  retryForMs?: number
}

/** A namespace of its own and a client whose wire is recorded. */
export async function openBench(prefix: string, options: BenchOptions = {}): Promise<Bench> {
  const plane = options.plane ?? (await sharedPlane())
  await installManifests(plane, [gadgetCrd])
  const namespace = await testNamespace(plane, prefix)
  const access = createAccessSource({ clock: systemClock, kubeconfig: options.kubeconfig ?? plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'gadget-tests' })
  const wire = scriptTransport(transport, { clock: systemClock })
  const { retryForMs = 10_000 } = options
  const client = createClient(wire, { clock: systemClock, jitter: Math.random, retryForMs })
  const signal = AbortSignal.timeout(60_000)
  const metrics = countingMetrics()
  return {
    namespace: namespace.name,
    client,
    wire,
    transport,
    metrics,
    signal,
    create: (name, metadata = {}) =>
      client.create(Gadget, gadget(name, namespace.name, metadata), { fieldManager: 'creator' }, signal),
    async read(name) {
      const found = await client.find(Gadget, { name, namespace: namespace.name }, signal)
      if (!found) throw new Error(`no gadget ${name}`)
      return found
    },
    async [Symbol.asyncDispose]() {
      await transport.close()
      await namespace[Symbol.asyncDispose]()
    },
  }
}

export function gadget(name: string, namespace: string, metadata: Partial<Gadget['metadata']> = {}): Gadget {
  return { apiVersion: 'writers.example.dev/v1', kind: 'Gadget', metadata: { name, namespace, ...metadata }, spec: { size: 1 } }
}

/** What every writer of these tests is given. */
export function environmentOf(bench: Bench) {
  return { client: bench.client, metrics: bench.metrics, registry: createWriteRegistry(), kind: Gadget, controller: 'gadget' }
}
