/**
 * A Kubernetes kind as a value: where its objects are served, and (as a phantom) what they look like.
 * Source: Kubernetes API conventions (group, version, resource) and KEP-555 (server-side apply) for `managedFields`.
 */

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export type ManagedFieldsEntry = {
  manager?: string
  operation?: 'Apply' | 'Update'
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: Record<string, unknown>
  subresource?: string
}

/** Metadata of a stored object. Everything the server fills in is optional here, since a body to be created lacks it. */
export type ObjectMeta = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFieldsEntry[]
}

/** An object of the API. `spec` and `status` are what the kind says; a kind without one types it as `unknown`. */
export type KubeObject<Spec = unknown, Status = unknown> = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: Spec
  status?: Status
}

export type Kind<Spec = unknown, Status = unknown> = {
  /** API group; empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Resource name in paths: lower case, plural. */
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** Never set: carries the types of the kind's objects for the compiler. */
  readonly types?: { spec: Spec; status: Status }
}

/** The object type of a kind: `ObjectOf<typeof Widget>`. */
export type ObjectOf<K> = K extends Kind<infer Spec, infer Status> ? KubeObject<Spec, Status> : never

/** The spec type and the status type of a kind. */
export type SpecOf<K> = K extends Kind<infer Spec, unknown> ? Spec : never
export type StatusOf<K> = K extends Kind<unknown, infer Status> ? Status : never

/** `namespace/name`, or `name` where there is no namespace: the key of caches and queues. */
export type Key = string

export function keyOf(object: { metadata: { name: string; namespace?: string | undefined } }): Key {
  return keyFor(object.metadata.name, object.metadata.namespace)
}

export function keyFor(name: string, namespace?: string): Key {
  return namespace ? `${namespace}/${name}` : name
}

export function splitKey(key: Key): { name: string; namespace?: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** `group/version`, or `version` for the core group. */
export function apiVersionOf(kind: Kind): string {
  return kind.group ? `${kind.group}/${kind.version}` : kind.version
}

/** Path of a collection, an object, or a subresource of it. */
export function pathOf(kind: Kind, at: { namespace?: string | undefined; name?: string; subresource?: string }): string {
  const base = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`
  const space = kind.scope === 'Namespaced' && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : ''
  const object = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`
  return `${base}${space}/${kind.plural}${object}${at.subresource ? `/${at.subresource}` : ''}`
}
