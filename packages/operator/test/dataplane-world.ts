// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** A control plane with NSO's kinds, on which the data-plane controllers run under NSO's own identity. */
import { type DataPlane, nsoAccount, nsoManifests } from '@nso/api'
import {
  createAccessSource,
  createCache,
  createHttpTransport,
  createManager,
  type KubeObject,
  type Manager,
  type Manifest,
  silentLogger,
  systemClock,
} from 'kube-control-loop'
import type { Recorder } from 'kube-control-loop/testing'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { type Caches, createCaches } from '../src/caches.ts'
import { createDataPlanes, type DataPlaneModule } from '../src/dataplane/index.ts'
import { noteOf } from '../src/events.ts'
import { auditBodies, record } from './support/record.ts'

export type World = {
  plane: Plane
  manager: Manager
  caches: Caches
  module: DataPlaneModule
  /** Stops the controllers and leaves the plane. */
  stop(): Promise<void>
}

/** Stopping it fails where any version of any object was not as documented. */
export async function startWorld(name: string): Promise<Plane & { recorder: Recorder }> {
  const plane = await startPlane({ name, fresh: true, auditBodies })
  const { crds, rbac } = nsoManifests()
  await plane.apply([...crds, ...rbac])
  const recorder = await record(plane)
  return {
    ...plane,
    recorder,
    async stop() {
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await plane.stop()
      }
    },
  }
}

/** One life of the process, without anything but data planes in it. */
export async function startControllers(plane: Plane): Promise<World> {
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: nsoAccount })
  const transport = createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig }),
    clock: systemClock,
    userAgent: 'nso-dataplane-test',
  })
  const manager = createManager({
    name: 'nso',
    transport,
    metricPrefix: 'nso_',
    eventController: 'networking.datumapis.com/nso',
    identity: crypto.randomUUID(),
    log: silentLogger,
  })
  const caches = createCaches((kind, options) => manager.cache(kind, options))
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const module = createDataPlanes({
    ...parts,
    client: manager.client,
    environment: manager.writers,
    caches,
    recordEvent: manager.events.record,
    tell: (about, happening) => manager.events.record(about, noteOf(happening)),
    createCache: (kind, options = {}, reflector = {}) => createCache(manager.client, kind, options, { ...parts, reflector }),
  })
  for (const controller of module.controllers) manager.add(controller)
  const end = new AbortController()
  const running = [manager.run(end.signal), module.run(end.signal)]
  return {
    plane,
    manager,
    caches,
    module,
    async stop() {
      end.abort(new Error('the test ends'))
      await Promise.all(running)
    },
  }
}

export const toyGroup = 'planes.example.dev'

/** A namespaced kind of a data plane of its own, with a default in its schema. */
export function toyCrd(kind: string, plural: string, scope: 'Namespaced' | 'Cluster' = 'Namespaced'): Manifest {
  const spec = {
    type: 'object',
    properties: {
      mode: { type: 'string', default: 'plain' },
      mtu: { type: 'integer' },
      ends: {
        type: 'array',
        items: { type: 'object', properties: { at: { type: 'string' }, weight: { type: 'integer', default: 1 } } },
      },
    },
  }
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${toyGroup}` },
    spec: {
      group: toyGroup,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }],
    },
  }
}

/** Lets NSO write a toy kind, past its gathered role. */
export function otherGrant(plural: string): Manifest[] {
  const { metadata: _, ...role } = toyRole(plural)
  const metadata = { name: `other-${plural}` }
  const api = 'rbac.authorization.k8s.io'
  const binding = {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...nsoAccount }],
  }
  return [{ ...role, metadata }, binding]
}

/** What lets NSO write a toy kind. */
export function toyRole(plural: string, verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete']): Manifest {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `toy-${plural}`, labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
    rules: [{ apiGroups: [toyGroup], resources: [plural], verbs }],
  }
}

export function toyPlane(name: string, kind: string, given: { locations?: string[]; spec?: object } = {}): Manifest {
  const spec = given.spec ?? {
    mode: '${interface.spec.attachmentMode == "Netns" ? optional.none() : optional.of("tap")}',
    mtu: '${interface.spec.mtu}',
    ends: '${interface.spec.addresses.map(a, {"at": a.address})}',
  }
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name },
    spec: {
      locations: given.locations ?? [`${name}-*`],
      attachment: { apiVersion: `${toyGroup}/v1`, kind, metadata: { labels: '${interface.metadata.labels}' }, spec },
      report: { prepared: { condition: 'Ready' }, vpc: '${attachment.status.wire}' },
    },
  }
}

/** The conditions of a DataPlane as `status/reason` by type, once they are as wanted. */
export async function planeSays(
  world: { plane: Pick<Plane, 'connection'> },
  name: string,
  wanted: Partial<Record<'Accepted' | 'Installed' | 'Permitted', string>>,
) {
  const path = `/apis/networking.datumapis.com/v1alpha/dataplanes/${name}`
  return await eventually(
    `DataPlane ${name} says ${JSON.stringify(wanted)}`,
    async () => {
      const { status, metadata } = (await world.plane.connection.must({ method: 'GET', path })) as DataPlane
      const said = Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, each]))
      for (const [type, short] of Object.entries(wanted)) {
        const condition = said[type]
        if (`${condition?.status}/${condition?.reason}` !== short) throw new Error(JSON.stringify(status?.conditions))
        if (condition?.observedGeneration !== metadata.generation)
          throw new Error(`${type} speaks of ${condition?.observedGeneration}`)
      }
      return {
        Accepted: said.Accepted?.message ?? '',
        Installed: said.Installed?.message ?? '',
        Permitted: said.Permitted?.message ?? '',
      }
    },
    { timeoutMs: 30_000 },
  )
}

/** An object as it stands, or undefined. */
export async function read(plane: Plane, path: string): Promise<KubeObject | undefined> {
  const answer = await plane.connection.request({ method: 'GET', path })
  return answer.status === 200 ? (answer.body as KubeObject) : undefined
}
