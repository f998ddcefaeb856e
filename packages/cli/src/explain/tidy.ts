/** Objects of a dump, with metadata of the types that an API server gives: whatever else stands there is left out. */
import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from 'kube-control-loop'
import { isFields } from '../owners/stored.ts'

type Loose = Record<string, unknown>

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])
const maps = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** The fields of these names that are text. */
function textFields(value: Loose, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name]]] : [])))
}

function textMap(value: unknown): Record<string, string> {
  return isFields(value) ? textFields(value, Object.keys(value)) : {}
}

function entryOf(value: Loose): ManagedFieldsEntry {
  const known = textFields(value, ['manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'subresource'])
  return { ...known, ...(isFields(value.fieldsV1) ? { fieldsV1: value.fieldsV1 } : {}) }
}

const isReference = (value: Loose): boolean =>
  ['apiVersion', 'kind', 'name', 'uid'].every((name) => typeof value[name] === 'string')

function metadataOf(value: Loose, name: string): ObjectMeta {
  return {
    ...{ name, labels: textMap(value.labels), annotations: textMap(value.annotations) },
    ...textFields(value, ['namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp']),
    ...(typeof value.generation === 'number' ? { generation: value.generation } : {}),
    finalizers: texts(value.finalizers),
    ownerReferences: maps(value.ownerReferences).filter(isReference) as OwnerReference[],
    managedFields: maps(value.managedFields).map(entryOf),
  }
}

/** Undefined for what names no object. */
export function tidied(value: unknown): KubeObject | undefined {
  if (!isFields(value) || !isFields(value.metadata)) return undefined
  const { apiVersion, kind, metadata, spec, status } = value
  const { name } = metadata
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string' || name === '') return undefined
  const known = { apiVersion, kind, metadata: metadataOf(metadata, name), spec: isFields(spec) ? spec : {} }
  return { ...known, ...(isFields(status) ? { status } : {}) }
}
