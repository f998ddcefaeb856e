/** Lists of a CRD that server-side apply merges by key, and what is wrong with their keys. For tests. Source: KEP-2332. */
import type { Manifest } from './manifest.ts'

type Schema = {
  type?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema
  required?: string[]
  default?: unknown
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
}

/**
 * Keys that a writer could leave out: not required, or filled in by a default. Two entries that differ in the writer's hands would
 * be one at the server, which refuses the whole apply. Each as `version path[key]: why`.
 */
export function looseListKeys(crd: Manifest): string[] {
  const { versions } = crd.spec as { versions: { name: string; schema: { openAPIV3Schema: Schema } }[] }
  return versions.flatMap(({ name, schema }) => looseIn(schema.openAPIV3Schema, '').map((found) => `${name} ${found}`))
}

function looseIn(schema: Schema, path: string): string[] {
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) => looseIn(one, `${path}.${name}`)),
    ...(schema.items ? looseIn(schema.items, `${path}[]`) : []),
    ...(schema.additionalProperties ? looseIn(schema.additionalProperties, `${path}.*`) : []),
  ]
  if (schema['x-kubernetes-list-type'] !== 'map') return inner
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const own = keys.flatMap((key) => {
    const isRequired = schema.items?.required?.includes(key) === true
    const why = schema.items?.properties?.[key]?.default === undefined ? 'not required' : 'has a default'
    return isRequired && why !== 'has a default' ? [] : [`${path}[${key}]: ${why}`]
  })
  return [...(keys.length === 0 ? [`${path}: no key`] : own), ...inner]
}
