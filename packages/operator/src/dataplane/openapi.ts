/**
 * What the API server publishes about one kind, cut down to what says which fields there are.
 * Source: Kubernetes OpenAPI v3 (KEP-2896); structural schemas of CustomResourceDefinitions (apiextensions.k8s.io/v1).
 */
import { ApiError, type Client } from 'kube-control-loop'
import type { KindRef } from './types.ts'

/** One place of a kind's objects. Nothing given: whatever stands there is taken. */
export type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  /** What stands under keys that `properties` does not name. */
  readonly others?: Schema
  readonly items?: Schema
  readonly enum?: readonly unknown[]
}

type Published = { readonly [key: string]: unknown }

const isMap = (value: unknown): value is Published => typeof value === 'object' && value !== null && !Array.isArray(value)

const anything: Schema = {}
/** Deeper than any schema that a person reads; where one refers to itself, all below is taken. */
const deepest = 40

export type DocumentParts = {
  readonly kind: KindRef
  /** Of a CustomResourceDefinition: a map that names no fields keeps none. */
  readonly prunes: boolean
}

/** The kind in the document of its group and version; undefined when it is not in there. Total. */
export function schemaIn(document: unknown, { kind, prunes }: DocumentParts): Schema | undefined {
  const components = isMap(document) && isMap(document.components) ? document.components : {}
  const schemas = isMap(components.schemas) ? components.schemas : {}
  const [group, version] = kind.apiVersion.split('/')
  const isKind = (name: unknown) => isMap(name) && name.group === group && name.version === version && name.kind === kind.kind
  const root = Object.values(schemas).find((schema) => {
    const names = isMap(schema) ? schema['x-kubernetes-group-version-kind'] : undefined
    return Array.isArray(names) && names.some(isKind)
  })
  return root === undefined ? undefined : cut(root, { schemas, prunes, depth: 0 })
}

type Place = { schemas: Published; prunes: boolean; depth: number }

function cut(given: unknown, place: Place): Schema {
  const published = referred(given, place.schemas)
  if (!isMap(published) || place.depth > deepest) return anything
  const below = { ...place, depth: place.depth + 1 }
  const { type, items, enum: values } = published
  if (type === 'object' || (type === undefined && isMap(published.properties))) return cutMap(published, below)
  return {
    ...(typeof type === 'string' ? { type } : {}),
    ...(type === 'array' && items !== undefined ? { items: cut(items, below) } : {}),
    ...(Array.isArray(values) ? { enum: values } : {}),
  }
}

function cutMap(published: Published, below: Place): Schema {
  const { properties, additionalProperties: more } = published
  const named = isMap(properties) ? Object.entries(properties) : []
  const embedded = published['x-kubernetes-embedded-resource'] === true ? ['apiVersion', 'kind', 'metadata'] : []
  const isOpen = published['x-kubernetes-preserve-unknown-fields'] === true || more === true
  const takesAll = isOpen || (!isMap(properties) && more === undefined && !below.prunes)
  const others = isMap(more) ? cut(more, below) : takesAll ? anything : undefined
  return {
    type: 'object',
    properties: Object.fromEntries([
      ...embedded.map((name) => [name, anything]),
      // Every object has metadata, and all of it is known.
      ...named.map(([name, schema]) => [name, below.depth === 1 && name === 'metadata' ? anything : cut(schema, below)]),
    ]),
    ...(others ? { others } : {}),
  }
}

/** Behind `$ref`, also where it stands alone in `allOf`, as the server writes it beside a default or a description. */
function referred(given: unknown, schemas: Published, hops = 0): unknown {
  if (!isMap(given) || hops > 8) return undefined
  const { $ref, allOf } = given
  if (typeof $ref === 'string') return referred(schemas[$ref.replace('#/components/schemas/', '')], schemas, hops + 1)
  const [only, ...rest] = Array.isArray(allOf) ? allOf : []
  const isReference = isMap(only) && typeof only.$ref === 'string' && rest.length === 0 && given.properties === undefined
  return isReference ? referred(only, schemas, hops + 1) : given
}

/** Where a document is found now; the address changes with its content. */
export type DocumentAddress = string

/** Undefined when the server publishes nothing of this group and version, or no OpenAPI v3 at all. Throws other faults. */
export async function addressOf(client: Client, ref: KindRef, signal: AbortSignal): Promise<DocumentAddress | undefined> {
  const index = await found(client, '/openapi/v3', signal)
  const paths = isMap(index) && isMap(index.paths) ? index.paths : {}
  const entry = paths[`apis/${ref.apiVersion}`]
  const address = isMap(entry) ? entry.serverRelativeURL : undefined
  return typeof address === 'string' && address.startsWith('/openapi/v3/') ? address : undefined
}

/** Throws what the server answers, save 404. */
export function documentAt(client: Client, address: DocumentAddress, signal: AbortSignal): Promise<unknown> {
  const { pathname, searchParams } = new URL(address, 'https://server')
  return found(client, pathname, signal, Object.fromEntries(searchParams))
}

async function found(client: Client, path: string, signal: AbortSignal, query?: Record<string, string>): Promise<unknown> {
  try {
    return parsed(await client.raw({ method: 'GET', path, ...(query ? { query } : {}) }, signal))
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

/** The index comes as JSON that calls itself plain text. */
function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return body
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
