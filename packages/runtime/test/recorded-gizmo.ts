/** A kind with two documented writers, each under an identity of its own, and a stranger: the world of the recorder's tests. */
import {
  apiVersionOf,
  type Client,
  type Condition,
  condition,
  conditions,
  crdOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  defineKind,
  freeObject,
  type KubeObject,
  optional,
  pathOf,
  type ResourceOwnership,
  record,
  seeded,
  systemClock,
  text,
} from 'kube-control-loop'
import { createRecorder, type RecordedKind, type Recorder } from 'kube-control-loop/testing'
import { type ApiConnection, connect, followAudit, type Plane, startPlane } from 'kube-localplane'
import { testNamespace } from 'kube-localplane/testing'

const group = 'recorder.example.dev'
export const finalizer = `${group}/hold`
export const mark = `${group}/mark`

export const Gizmo = defineKind({
  group,
  version: 'v1',
  kind: 'Gizmo',
  plural: 'gizmos',
  description: '',
  spec: freeObject(),
  status: record(
    { phase: optional(text()), note: optional(text()), later: optional(text()), conditions: optional(conditions('')) },
    { default: seeded('Ready', 'Carried') },
  ),
})

const ownership: ResourceOwnership = {
  kind: Gizmo,
  status: [
    { writer: 'alice-status', identity: 'alice', owns: ['phase', 'note', 'conditions/Ready', 'conditions/Sound'], when: '' },
    { writer: 'bob-status', identity: 'bob', owns: ['conditions/Carried'], when: '' },
  ],
  metadata: [
    { path: 'spec', writer: 'creator', identity: 'creator', when: '' },
    { path: `metadata.finalizers/${finalizer}`, writer: 'alice-status', identity: 'alice', when: '' },
    { path: `metadata.annotations/${mark}`, writer: 'bob', identity: 'bob', when: '' },
  ],
  reserved: [{ path: 'later', why: 'nobody knows it' }],
}

export const gizmo: RecordedKind = {
  kind: Gizmo,
  ownership,
  conditions: {
    Ready: condition('Ready', { True: ['Done'], False: ['Broken'], Unknown: ['Pending'] }),
    Sound: condition('Sound', { True: ['Sound'], False: [], Unknown: [] }),
    Carried: condition('Carried', { True: ['Carried'], False: ['Dropped'], Unknown: ['Pending'] }),
  },
}

export const users = ['alice', 'bob', 'mallory'] as const
export type User = (typeof users)[number]

export type Status = { phase?: string; note?: string; later?: string; conditions?: Partial<Condition>[] }

export type Site = AsyncDisposable & { open(): Promise<Bench> }

/** One gizmo, `web`, and who may touch it. */
export type Bench = AsyncDisposable & {
  namespace: string
  recorder: Recorder
  create(metadata?: Partial<KubeObject['metadata']>): Promise<unknown>
  /** Server-side apply on `/status`. */
  apply(user: User, manager: string, status: Status, force?: boolean): Promise<unknown>
  /** A merge patch of the object, or of a subresource. */
  merge(user: User, patch: unknown, subresource?: 'status', manager?: string): Promise<unknown>
  /** Reads, changes and puts the whole object, as clients without server-side apply do. */
  put(user: User, change: (object: KubeObject<unknown, Status>) => unknown, subresource?: 'status'): Promise<unknown>
  read(): Promise<KubeObject<unknown, Status>>
  remove(): Promise<unknown>
}

export async function openSite(): Promise<Site> {
  const plane = await startPlane({ name: 'recorder', controllers: false, auditBodies: [{ group }] })
  await plane.apply([crdOf(Gizmo)] as never)
  const of = async (user: User) => [user, await connect(await plane.kubeconfigFor({ user, groups: ['system:masters'] }))] as const
  const connections = Object.fromEntries(await Promise.all(users.map(of))) as Record<User, ApiConnection>
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'recorder-test' })
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const benches: Bench[] = []
  return {
    async open() {
      const bench = await open(plane, client, connections)
      benches.push(bench)
      return bench
    },
    async [Symbol.asyncDispose]() {
      // A test that failed half-way has not ended its recorder.
      await Promise.allSettled(benches.map((bench) => bench[Symbol.asyncDispose]()))
      for (const connection of Object.values(connections)) connection.close()
      await transport.close()
      await plane.stop()
    },
  }
}

/** A recorder of one namespace, as the glue of a package would make it. */
export async function recordGizmos(plane: Plane, client: Client, namespace: string): Promise<Recorder> {
  const common = { client, clock: systemClock, jitter: Math.random, inNamespace: (name: string) => name === namespace }
  const identities = { alice: ['alice'], bob: ['bob'], creator: ['admin'] }
  const recorder = createRecorder({ ...common, kinds: [gizmo], identities, writes: await followAudit(plane, () => true) })
  await recorder.started
  return recorder
}

async function open(plane: Plane, client: Client, connections: Record<User, ApiConnection>): Promise<Bench> {
  const { name: namespace } = await testNamespace(plane, 'gizmos')
  const identity = { apiVersion: apiVersionOf(Gizmo), kind: Gizmo.kind, metadata: { name: 'web', namespace } }
  const path = pathOf(Gizmo, { namespace, name: 'web' })
  const recorder = await recordGizmos(plane, client, namespace)
  const sub = (subresource?: 'status') => (subresource ? `/${subresource}` : '')
  const read = async () => (await plane.connection.must({ path })) as unknown as KubeObject<unknown, Status>
  return {
    namespace,
    recorder,
    read,
    create(metadata = {}) {
      const body = { ...identity, metadata: { ...identity.metadata, ...metadata }, spec: {} }
      return plane.connection.must({ method: 'POST', path: pathOf(Gizmo, { namespace }), body })
    },
    apply(user, manager, status, force = false) {
      const request = { method: 'PATCH', contentType: 'application/apply-patch+yaml', body: { ...identity, status } } as const
      return connections[user].must({ ...request, path: `${path}/status?fieldManager=${manager}&force=${force}` })
    },
    merge: (user, body, subresource, manager) =>
      connections[user].must({
        method: 'PATCH',
        contentType: 'application/merge-patch+json',
        path: `${path}${sub(subresource)}${manager === undefined ? '' : `?fieldManager=${manager}`}`,
        body,
      }),
    async put(user, change, subresource) {
      return connections[user].must({ method: 'PUT', path: `${path}${sub(subresource)}`, body: change(await read()) })
    },
    remove: () => plane.connection.must({ method: 'DELETE', path }),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  }
}
