/** A claim that is Ready and all that stands for it, as plain objects, to be changed by tests. */
import assert from 'node:assert/strict'
import type { KubeObject, ManagedFieldsEntry } from 'kube-control-loop'
import { explain } from '../src/explain/explain.ts'
import { type Gap, kindOf, type Snapshot, sameKind } from '../src/explain/snapshot.ts'

export const now = '2026-11-30T12:01:00Z'
export const aMinuteAgo = '2026-11-30T12:00:00Z'
export const nso = 'networking.datumapis.com/v1alpha'
export const cloud = 'cloud.datumapis.com/v1alpha1'

type Status = Record<string, unknown> & { conditions?: Record<string, unknown>[] }
export type Loose = KubeObject<Record<string, unknown>, Status>

export const condition = (type: string, status: string, reason: string, observedGeneration = 1) => ({
  ...{ type, status, reason, message: `${type} is ${status}`, lastTransitionTime: aMinuteAgo, observedGeneration },
})
export const seed = (type: string) => ({
  ...{
    type,
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  },
})

/** The entry of a manager that has applied these conditions and fields. */
export function entry(manager: string, types: readonly string[], fields: readonly string[] = []): ManagedFieldsEntry {
  const leaf = { '.': {}, 'f:type': {}, 'f:status': {}, 'f:reason': {}, 'f:message': {}, 'f:lastTransitionTime': {} }
  const conditions = Object.fromEntries(types.map((type) => [`k:${JSON.stringify({ type })}`, leaf]))
  return {
    ...{ manager, operation: 'Apply', subresource: 'status', time: aMinuteAgo, apiVersion: nso, fieldsType: 'FieldsV1' },
    fieldsV1: { 'f:status': { 'f:conditions': conditions, ...Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) } },
  }
}

type Given = {
  apiVersion?: string
  kind: string
  name: string
  namespace?: string | undefined
  spec?: object
  manager?: string
  status?: Status
  meta?: object
}

/** An object whose whole status one manager has applied. */
export function stored({ apiVersion = nso, kind, name, namespace = 'default', spec = {}, manager, status, meta }: Given): Loose {
  const { conditions = [], ...fields } = status ?? {}
  const types = conditions.filter(({ reason }) => reason !== 'Pending' || manager === undefined).map(({ type }) => String(type))
  return {
    ...{ apiVersion, kind, spec: spec as Record<string, unknown> },
    metadata: {
      ...{ name, namespace, uid: `uid-of-${kind}`, generation: 1, creationTimestamp: aMinuteAgo },
      ...(manager ? { managedFields: [entry(manager, types, Object.keys(fields))] } : {}),
      ...meta,
    },
    ...(status ? { status } : {}),
  }
}

export const lease = (namespace: string, name: string, spec: object = {}) =>
  stored({
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name },
    spec: { holderIdentity: 'one', leaseDurationSeconds: 15, renewTime: '2026-11-30T12:00:58.000000Z', ...spec },
  })

const source = { apiVersion: cloud, kind: 'VPCAttachment', name: 'web-0', uid: 'uid-of-VPCAttachment' }
const sources = (...types: string[]) =>
  types.map((type) => ({
    type,
    dataPlane: 'galactic',
    object: source,
    generation: 1,
    condition: type === 'Prepared' ? 'Ready' : type,
    manager: 'galactic-vpcattachment',
  }))

/** A claim that is Ready, and all that stands for it. */
export function world() {
  const parts = (...types: string[]) =>
    types.map((type) => condition(type, 'True', type === 'Prepared' ? 'AttachmentReady' : type))
  return {
    claim: stored({
      ...{
        kind: 'NetworkInterfaceClaim',
        name: 'web-0',
        manager: 'nso-networkinterfaceclaim',
        spec: { network: { name: 'net' } },
      },
      status: {
        networkInterfaceRef: { name: 'web-0' },
        conditionSources: sources('Prepared', 'Programmed'),
        conditions: parts('Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready'),
      },
    }),
    nic: stored({
      ...{ kind: 'NetworkInterface', name: 'web-0', manager: 'nso-networkinterface' },
      spec: { network: { name: 'net' }, claimRef: { name: 'web-0' } },
      status: {
        phase: 'Bound',
        networkContextRef: { name: 'net-here' },
        conditions: parts('Allocated', 'Prepared', 'Programmed'),
      },
      meta: {
        labels: { 'networking.datumapis.com/location': 'here' },
        annotations: {
          'networking.datumapis.com/data-plane': 'galactic/uid-of-DataPlane',
          'networking.datumapis.com/claim-uid': 'uid-of-NetworkInterfaceClaim',
        },
      },
    }),
    attachment: stored({
      ...{ apiVersion: cloud, kind: 'VPCAttachment', name: 'web-0', manager: 'galactic-vpcattachment' },
      status: {
        observedGeneration: 1,
        conditions: [condition('Ready', 'True', 'AttachmentDefinitionReady'), condition('Programmed', 'True', 'Advertised')],
      },
      meta: {
        ownerReferences: [
          { apiVersion: nso, kind: 'NetworkInterface', name: 'web-0', uid: 'uid-of-NetworkInterface', controller: true },
        ],
      },
    }),
    vpc: stored({
      ...{ apiVersion: cloud, kind: 'VPC', name: 'net-here', manager: 'galactic-vpc' },
      status: { vpc: '1', conditions: [condition('Ready', 'True', 'IdentifierAllocated')] },
      meta: {
        ownerReferences: [
          { apiVersion: nso, kind: 'NetworkContext', name: 'net-here', uid: 'uid-of-NetworkContext', controller: true },
        ],
      },
    }),
    plane: stored({
      ...{ kind: 'DataPlane', name: 'galactic', namespace: undefined, manager: 'nso-dataplane' },
      spec: {
        locations: ['*'],
        network: { apiVersion: cloud, kind: 'VPC' },
        attachment: { apiVersion: cloud, kind: 'VPCAttachment' },
        report: { prepared: { condition: 'Ready' }, programmed: { condition: 'Programmed' } },
      },
      status: { conditions: parts('Accepted', 'Installed', 'Permitted') },
    }),
    definition: stored({ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'web-0' }),
    network: stored({ kind: 'Network', name: 'net', manager: 'nso-network', status: { conditions: parts('Ready') } }),
    context: stored({
      kind: 'NetworkContext',
      name: 'net-here',
      manager: 'nso-networkcontext',
      status: { conditions: parts('Ready') },
    }),
    subnet: stored({ kind: 'Subnet', name: 'net-here-0', spec: { networkContext: { name: 'net-here' } } }),
    nsoLease: lease('nso-system', 'network-services-operator.networking.datumapis.com'),
    galacticLease: lease('galactic-system', 'galactic.cloud.datumapis.com'),
  }
}

export type World = { [Name in keyof ReturnType<typeof world> | 'extra']?: Loose }
const clusterScoped = (object: Loose) =>
  object.kind === 'DataPlane' ? { ...object, metadata: without(object.metadata, 'namespace') } : object
function without<T extends object>(object: T, key: keyof T): T {
  const { [key]: _, ...rest } = object
  return rest as T
}

export function snapshotOf(given: World, gaps: Gap[] = []): Snapshot {
  const objects = Object.values(given).map(clusterScoped)
  const read = Object.values(world()).map(kindOf)
  return {
    origin: 'live',
    at: new Date(now),
    objects,
    gaps,
    read: read.filter((kind) => !gaps.some((gap) => sameKind(gap, kind))),
  }
}

export const target = { kind: 'claim', namespace: 'default', name: 'web-0' } as const

export function explained(change: (given: World) => void, gaps: Gap[] = []) {
  const given: World = world()
  change(given)
  const explanation = explain(snapshotOf(given, gaps), target)
  assert.ok(explanation)
  return explanation
}

/** Replaces a condition, as its documented writer would. */
export function says(object: Loose | undefined, ...conditions: Record<string, unknown>[]): void {
  const status = object?.status
  if (!status) throw new Error('it has no status')
  status.conditions = (status.conditions ?? []).map((one) => conditions.find(({ type }) => type === one.type) ?? one)
}

export const deleting = (object: Loose | undefined, ...finalizers: string[]) =>
  Object.assign(object?.metadata ?? {}, { deletionTimestamp: aMinuteAgo, finalizers })
export const notPrepared = ({ claim, nic }: World, reason = 'Pending') => {
  for (const object of [claim, nic])
    says(object, condition('Prepared', 'Unknown', reason), condition('Ready', 'Unknown', 'NotPrepared'))
}
