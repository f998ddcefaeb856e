/** Kinds and manifests of the plane under `plane.ts`: a group of its own for each variant, so that all may live in one cluster. */
import { labels } from '@nso/api'
import type { Condition, Kind, KubeObject, Manifest } from 'kube-control-loop'
import type { Fault } from './faults.ts'

export type Socket = KubeObject<{ board: string; mtu?: number }, { code?: string; conditions?: Condition[] }>
export type Board = KubeObject<{ ranges?: string[] }, object>
export type Plug = KubeObject<{ socket: string }, { carrier?: 'Up' | 'Down' }>

export type Kinds = {
  readonly group: string
  readonly socket: Kind<Socket['spec'], NonNullable<Socket['status']>>
  readonly board: Kind<Board['spec'], NonNullable<Board['status']>>
  readonly plug: Kind<Plug['spec'], NonNullable<Plug['status']>>
}

export const system = 'sockets-system'
export const finalizerOf = ({ group }: Kinds): string => `${group}/hold`

export function kindsOf(name: string): Kinds {
  const group = `${name}.sockets.example.dev`
  const kind = (kind: string, plural: string) => ({ group, version: 'v1', scope: 'Namespaced', kind, plural }) as const
  return { group, socket: kind('Socket', 'sockets'), board: kind('Board', 'boards'), plug: kind('Plug', 'plugs') }
}

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const record = (properties: object) => ({ type: 'object', properties })

const condition = {
  ...record({
    type: text,
    status: { ...text, enum: ['True', 'False', 'Unknown'] },
    reason: { ...text, minLength: 1 },
    message: text,
    lastTransitionTime: { ...text, format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64' },
  }),
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
}

function conditionsFor(fault: Fault | undefined) {
  const listType =
    fault === 'conditions-as-a-whole'
      ? { 'x-kubernetes-list-type': 'atomic' }
      : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }
  return { type: 'array', items: condition, ...listType }
}

function crd(kind: Kind, spec: object, status: object | undefined): Manifest {
  const { group, plural } = kind
  const names = { kind: kind.kind, listKind: `${kind.kind}List`, plural, singular: kind.kind.toLowerCase() }
  const schema = { openAPIV3Schema: record({ spec, ...(status ? { status } : {}) }) }
  const version = { name: kind.version, served: true, storage: true, ...(status ? { subresources: { status: {} } } : {}), schema }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version] },
  }
}

export function crds({ socket, board, plug }: Kinds, fault: Fault | undefined): Manifest[] {
  const device = fault === 'field-dropped' ? {} : { device: text }
  const asked = record({ ...device, board: text, mtu: { type: 'integer' }, addresses: texts })
  return [
    crd(socket, asked, record({ code: text, conditions: conditionsFor(fault) })),
    crd(board, record({ ranges: texts }), fault === 'network-without-status' ? undefined : record({})),
    crd(plug, record({ socket: text }), record({ carrier: { ...text, enum: ['Up', 'Down'] } })),
  ]
}

const role = (name: string, rules: object[], more: object = {}): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, ...more },
  rules,
})

/** Of the plane: what its process may do, and who it is. */
export function rbac(name: string, { group }: Kinds, fault: Fault | undefined): Manifest[] {
  const rule = (resources: string[], verbs: string[], apiGroups = [group]) => ({ apiGroups, resources, verbs })
  const api = 'rbac.authorization.k8s.io'
  const rules = [
    rule(['sockets', 'boards'], ['get', 'list', 'watch', 'patch']),
    rule(['sockets/status'], ['patch']),
    rule(['plugs'], ['get', 'list', 'watch', 'create', 'patch', 'delete']),
    rule(['events'], ['create', 'patch'], ['events.k8s.io']),
    ...(fault === 'may-read-interfaces' ? [rule(['networkinterfaces'], ['get'], ['networking.datumapis.com'])] : []),
  ]
  const binding = {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `sockets-${name}` },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: `sockets-${name}` },
    subjects: [{ kind: 'ServiceAccount', namespace: system, name }],
  }
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: system, name } }
  return [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: system } }, account, role(`sockets-${name}`, rules), binding]
}

/** Of the requester: the permission to ask for sockets and boards. */
export function joint(name: string, { group }: Kinds, fault: Fault | undefined): Manifest {
  const made = ['get', 'list', 'watch', 'create', 'delete']
  const sockets = ['sockets', ...(fault === 'report-for-everybody' ? ['sockets/status'] : [])]
  const rules = [
    { apiGroups: [group], resources: sockets, verbs: [...made, 'patch'] },
    { apiGroups: [group], resources: ['boards'], verbs: made },
  ]
  return role(`nso-data-plane-${name}`, rules, { labels: { [labels.aggregateToNso]: 'true' } })
}

/** Keeps everybody but the plane of a group, which has the group's first word as its name, from writing reports. */
export function guard(): Manifest {
  const expression = `request.userInfo.username == 'system:serviceaccount:${system}:' + request.resource.group.split('.')[0]`
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'sockets' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['sockets/status'] }],
      },
      validations: [{ expression, reason: 'Forbidden', message: 'only the data plane reports on sockets' }],
    },
  }
}

export function guarded(name: string, { group }: Kinds): Manifest {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `sockets-${name}` },
    spec: {
      policyName: 'sockets',
      validationActions: ['Deny'],
      matchResources: {
        resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['UPDATE'], resources: ['sockets/status'] }],
      },
    },
  }
}

/** An expression of a template. */
const cel = (expression: string) => `$\{${expression}}`

export function dataPlane(name: string, kinds: Kinds): Manifest {
  const template = (kind: string, spec: object) => ({
    apiVersion: `${kinds.group}/v1`,
    kind,
    metadata: { finalizers: [finalizerOf(kinds)] },
    spec,
  })
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name },
    spec: {
      contract: 'v1',
      locations: [`${name}-*`],
      capabilities: { attachmentModes: ['Netns'], programmed: 'Reported' },
      network: template('Board', { ranges: cel('subnets.map(s, s.cidr)') }),
      attachment: template('Socket', {
        board: cel('context.metadata.name'),
        device: cel('interface.spec.interfaceName'),
        mtu: cel('interface.spec.mtu'),
        addresses: cel('interface.spec.addresses.map(a, a.address)'),
      }),
      report: {
        prepared: { condition: 'Ready' },
        programmed: { condition: 'Programmed' },
        vpc: cel('attachment.status.code'),
      },
    },
  }
}
