/**
 * From a kind to its CustomResourceDefinition: a structural schema (KEP-1693) with defaults, rules (KEP-2876), list types
 * (KEP-2332), print columns, and for each field the one who writes it.
 */
import type { Manifest } from './manifest.ts'
import type { ResourceOwnership } from './ownership.ts'
import type { KindDefinition } from './schema.ts'

type Schema = { [keyword: string]: unknown }

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Entries of an object-valued keyword such as `properties`; none when it is absent. */
const entries = (value: unknown): [string, Schema][] =>
  isSchema(value) ? Object.entries(value).flatMap(([name, schema]) => (isSchema(schema) ? [[name, schema]] : [])) : []

/** A copy that the API server accepts: a property with a default is not required, a list without a type is atomic. */
export function structural(schema: Schema): Schema {
  const { properties, items, required, ...rest } = schema
  const out: Schema = { ...rest }
  const fields = entries(properties)
  const needed = Array.isArray(required)
    ? required.filter((name) => !fields.some(([field, s]) => field === name && 'default' in s))
    : []
  if (needed.length > 0) out.required = needed
  if (fields.length > 0) out.properties = Object.fromEntries(fields.map(([name, s]) => [name, structural(s)]))
  if (isSchema(items)) {
    out.items = structural(items)
    out['x-kubernetes-list-type'] ??= 'atomic'
  }
  return out
}

/** A documented writer, in words: a field manager by name, somebody else by what they are. */
const named = ({ writer, identity }: { writer: string; identity: string }) => (writer === identity ? `the ${writer}` : writer)

const sentence = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(' ')

/** Who writes each status path, and from what: `field` or `conditions/<Type>` to a sentence. */
function writersOf(ownership: ResourceOwnership): Map<string, string> {
  const source = (path: string) => {
    const text = ownership.texts?.[path]
    return text ? `, from ${text.source}` : ''
  }
  const written = ownership.status.flatMap((owner) =>
    owner.owns.map((path): [string, string] => [path, `Written only by ${named(owner)}${source(path)}.`]),
  )
  const reserved = (ownership.reserved ?? []).map(({ path, why }): [string, string] => [
    path,
    `Reserved, written by nobody: ${why}.`,
  ])
  return new Map([...written, ...reserved])
}

function conditionWriters(writers: Map<string, string>): string {
  const types = [...writers].flatMap(([path, by]) =>
    path.startsWith('conditions/') ? [{ type: path.slice('conditions/'.length), by }] : [],
  )
  const groups = Map.groupBy(types, ({ by }) => by)
  return [...groups].map(([by, of]) => `${of.map(({ type }) => (type === '*' ? 'All' : type)).join(', ')}: ${by}`).join(' ')
}

/** The status schema with, in each description, who writes the field. */
function withWriters(status: Schema, ownership: ResourceOwnership): Schema {
  const writers = writersOf(ownership)
  const describe = ([name, schema]: [string, Schema]): [string, Schema] => {
    const by = name === 'conditions' ? conditionWriters(writers) : writers.get(name)
    return [name, { ...schema, description: sentence(text(schema.description), by) }]
  }
  return { ...status, properties: Object.fromEntries(entries(status.properties).map(describe)) }
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)

function specWriters(ownership: ResourceOwnership): string | undefined {
  const owner = ownership.metadata.find(({ path }) => path === 'spec')
  return owner && `Written only by ${named(owner)}, ${owner.when}.`
}

function objectSchema(kind: KindDefinition, ownership: ResourceOwnership | undefined): Schema {
  const spec = structural({ ...kind.spec })
  const status = kind.status && structural({ ...kind.status })
  return {
    description: kind.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: ownership ? { ...spec, description: sentence(text(spec.description), specWriters(ownership)) } : spec,
      ...(status ? { status: ownership ? withWriters(status, ownership) : status } : {}),
    },
    ...(kind.rules.length > 0 ? { 'x-kubernetes-validations': kind.rules } : {}),
  }
}

/** The manifest of a kind. With its row of the ownership table, descriptions name the writers. */
export function crdOf(kind: KindDefinition, ownership?: ResourceOwnership): Manifest {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        ...(kind.shortNames.length > 0 ? { shortNames: [...kind.shortNames] } : {}),
      },
      scope: kind.scope,
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          ...(kind.columns.length > 0 ? { additionalPrinterColumns: kind.columns } : {}),
          schema: { openAPIV3Schema: objectSchema(kind, ownership) },
          ...(kind.status ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  }
}

/** The row of a table that speaks of a kind. */
export function ownershipOf(kind: KindDefinition, table: readonly ResourceOwnership[]): ResourceOwnership | undefined {
  return table.find((row) => row.kind.group === kind.group && row.kind.kind === kind.kind)
}
