// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** Kinds of a data plane that a test plays itself: their definitions in every state, NSO's permission on them, and the DataPlane. */
import type { DataPlane } from '@nso/api'
import type { KubeObject, Manifest } from 'kube-control-loop'
import type { Plane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { location } from '../world.ts'

export const wireGroup = 'wires.example.dev'

type Fields = Readonly<Record<string, unknown>>

export const text = { type: 'string' }
export const whole = { type: 'integer' }
export const anyMap = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
export const conditionList = { type: 'array', items: anyMap }

export type WireVersion = {
  name?: string
  served?: boolean
  storage?: boolean
  spec?: Fields
  status?: object
}

export type WireKind = {
  kind: string
  plural?: string
  scope?: 'Namespaced' | 'Cluster'
  versions?: readonly WireVersion[]
  conversion?: object
}

const pluralOf = ({ kind, plural }: Pick<WireKind, 'kind' | 'plural'>) => plural ?? `${kind.toLowerCase()}s`

/** Where nothing is given: one version `v1` whose spec has `mtu` and whose status takes anything. */
export function wireCrd(given: WireKind): Manifest {
  const plural = pluralOf(given)
  const versions = (given.versions ?? [{}]).map(({ name = 'v1', served = true, storage, spec = { mtu: whole }, status }, at) => {
    const properties = { spec: { type: 'object', properties: spec }, status: status ?? anyMap }
    const schema = { openAPIV3Schema: { type: 'object', properties } }
    return { name, served, storage: storage ?? at === 0, subresources: { status: {} }, schema }
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${wireGroup}` },
    spec: {
      group: wireGroup,
      scope: given.scope ?? 'Namespaced',
      names: { kind: given.kind, listKind: `${given.kind}List`, plural, singular: given.kind.toLowerCase() },
      versions,
      ...(given.conversion ? { conversion: given.conversion } : {}),
    },
  }
}

export const crdPath = (plural: string) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${wireGroup}`

/** Lets NSO write all kinds of the group. */
export const wireRole: Manifest = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'nso-data-plane-wires', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
  rules: [{ apiGroups: [wireGroup], resources: ['*'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] }],
}

/** Serves no location of the tests unless told to. */
export function wirePlane(
  name: string,
  kind: string,
  given: { version?: string; here?: boolean; spec?: object; report?: object; network?: object; metadata?: object } = {},
): Manifest {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name },
    spec: {
      locations: given.here ? [location] : [`${name}-*`],
      ...(given.network ? { network: given.network } : {}),
      attachment: {
        apiVersion: `${wireGroup}/${given.version ?? 'v1'}`,
        kind,
        ...(given.metadata ? { metadata: given.metadata } : {}),
        spec: given.spec ?? { mtu: '${interface.spec.mtu}' },
      },
      report: { prepared: { condition: 'Ready' }, ...given.report },
    },
  }
}

type Connected = Pick<Plane, 'connection'>

/** One object of a played kind. */
export function wirePath(plural: string, namespace: string, name: string, version = 'v1'): string {
  return `/apis/${wireGroup}/${version}/namespaces/${namespace}/${plural}/${name}`
}

/** The object as it stands, or undefined. */
export async function readAt({ connection }: Connected, path: string): Promise<KubeObject | undefined> {
  const { status, body } = await connection.request({ method: 'GET', path })
  return status === 200 ? (body as KubeObject) : undefined
}

export const wireAt = (plane: Connected, path: string) => eventually(`${path} to stand`, () => readAt(plane, path))

/** The status as the data plane writes it, whatever it is. */
export async function reportAt({ connection }: Connected, path: string, status: unknown): Promise<void> {
  await connection.must({
    method: 'PATCH',
    path: `${path}/status`,
    contentType: 'application/json-patch+json',
    body: [{ op: 'add', path: '/status', value: status }],
  })
}

export const ready = (generation: number | undefined, more: object = {}) => ({
  type: 'Ready',
  status: 'True',
  reason: 'WireReady',
  message: 'as told',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: generation,
  ...more,
})

export async function mergeAt({ connection }: Connected, path: string, body: unknown): Promise<KubeObject> {
  return (await connection.must({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })) as KubeObject
}

export const dataPlanePath = (name: string) => `/apis/networking.datumapis.com/v1alpha/dataplanes/${name}`

/** A condition of a DataPlane, once it is as wanted: `status/reason`. */
export function planeCondition(plane: Connected, name: string, type: string, wanted: string): Promise<string> {
  return eventually(
    `DataPlane ${name} says ${type} ${wanted}`,
    async () => {
      const stored = (await plane.connection.must({ method: 'GET', path: dataPlanePath(name) })) as DataPlane
      const found = stored.status?.conditions?.find((one) => one.type === type)
      const isCurrent = found?.observedGeneration === stored.metadata.generation
      if (`${found?.status}/${found?.reason}` !== wanted || !isCurrent) throw new Error(JSON.stringify(stored.status?.conditions))
      return found?.message
    },
    { timeoutMs: 20_000 },
  )
}
