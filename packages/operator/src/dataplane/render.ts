/** Bodies of the objects that NSO makes for a data plane: the template's spec and metadata, under our name and ownership. */
import type { KubeObject, OwnerReference } from 'kube-control-loop'
import { absent, type CelScope, everything, type Json, type Offered } from './cel.ts'
import type { Rendered } from './patch.ts'
import { compileTemplate, type FieldRead, type Template, TemplateError } from './template.ts'

/** One object template of a DataPlane as its administrator writes it. */
export type ObjectTemplate = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: { readonly labels?: unknown; readonly annotations?: unknown; readonly finalizers?: unknown }
  readonly spec: unknown
}

export type CompiledObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly errors: readonly TemplateError[]
  /** What its expressions read. */
  readonly reads: readonly FieldRead[]
  /** `owner` gives name, namespace and the controlling reference. Throws TemplateError with a message for people. */
  render(owner: KubeObject, scope: CelScope): Rendered
}

/** `path` is where the template stands in the DataPlane, for messages. */
export function compileObject(source: Partial<ObjectTemplate>, path: string, offered: Offered = everything): CompiledObject {
  const { apiVersion = '', kind = '' } = source
  const part = (value: unknown, name: string, pointer: string) => ({
    path: `${path}.${name}`,
    ...compileTemplate(value, `${path}.${name}`, pointer, offered),
  })
  const spec = part(source.spec, 'spec', '/spec')
  const labels = part(source.metadata?.labels, 'metadata.labels', '/metadata/labels')
  const annotations = part(source.metadata?.annotations, 'metadata.annotations', '/metadata/annotations')
  const finalizers = part(source.metadata?.finalizers, 'metadata.finalizers', '/metadata/finalizers')
  return {
    apiVersion,
    kind,
    errors: [spec, labels, annotations, finalizers].flatMap(({ errors }) => errors),
    reads: [spec, labels, annotations, finalizers].flatMap(({ reads }) => reads),
    render(owner, scope) {
      const leftOut: string[] = []
      const metadata = {
        ...textMap('labels', labels, scope, leftOut),
        ...textMap('annotations', annotations, scope, leftOut),
        ...texts(finalizers, scope),
      }
      const body = {
        apiVersion,
        kind,
        metadata: { ...place(owner), ...metadata, ownerReferences: [controllerReference(owner)] },
        spec: map(spec, spec.template(scope, leftOut)),
      }
      return { body, leftOut }
    },
  }
}

type Part = { path: string; template: Template }

const place = ({ metadata: { name, namespace } }: KubeObject) => (namespace === undefined ? { name } : { name, namespace })

/** blockOwnerDeletion stays false: setting it would need permission on the owner's finalizers. */
export function controllerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  if (!metadata.uid) throw new TypeError(`${kind} ${metadata.name} has no uid: it was never stored`)
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: false }
}

function map({ path }: Part, value: Json | typeof absent): { readonly [key: string]: Json } {
  if (value === absent) return {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as { readonly [key: string]: Json }
  throw new TemplateError(path, undefined, 'must yield a map')
}

function textMap(field: string, part: Part, scope: CelScope, leftOut: string[]): Record<string, Record<string, string>> {
  const rendered = map(part, part.template(scope, leftOut))
  const entries = Object.entries(rendered).map(([key, value]): [string, string] => {
    if (typeof value === 'string') return [key, value]
    throw new TemplateError(`${part.path}.${key}`, undefined, 'must yield text')
  })
  return entries.length === 0 ? {} : { [field]: Object.fromEntries(entries) }
}

function texts(part: Part, scope: CelScope): { finalizers?: string[] } {
  const value = part.template(scope)
  if (value === absent) return {}
  const all = Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
  if (!Array.isArray(value) || all.length < value.length)
    throw new TemplateError(part.path, undefined, 'must yield a list of texts')
  return all.length === 0 ? {} : { finalizers: all }
}
