/**
 * What a DataPlane writes to and reads from its kinds, held against the schemas that the server publishes. Pure. The server drops a
 * field that it does not know without a word, and a field that is never there reads as absent: neither would ever be noticed.
 */
import type { DataPlane } from '@nso/api'
import { metadataFields } from './fields.ts'
import type { Schema } from './openapi.ts'
import { split } from './split.ts'
import { type FieldRead, TemplateError } from './template.ts'
import type { KindRef } from './types.ts'

export type ServedKind = { readonly ref: KindRef; readonly schema: Schema | undefined }

export type ServedKinds = { readonly attachment: ServedKind; readonly network?: ServedKind | undefined }

/** Everything that the schemas speak against; nothing where a schema is not known. */
export function unknownFields(
  spec: Pick<DataPlane['spec'], 'attachment' | 'network' | 'report'>,
  reads: readonly FieldRead[],
  { attachment, network }: ServedKinds,
): readonly TemplateError[] {
  const read: Readonly<Record<string, ServedKind | undefined>> = { attachment, networkObject: network }
  return [
    ...written(spec.attachment?.spec, 'spec.attachment.spec', attachment),
    ...(network ? written(spec.network?.spec, 'spec.network.spec', network) : []),
    ...reads.flatMap(({ names: [variable = '', ...names], path, column }) => {
      const kind = read[variable]
      return kind ? readFrom(kind, names, { path, column }) : []
    }),
    ...reported(spec.report, attachment),
  ]
}

type Place = { readonly path: string; readonly column?: number }

const problem = ({ path, column }: Place, message: string): TemplateError[] => [new TemplateError(path, column, message)]

function written(template: unknown, path: string, { ref, schema }: ServedKind): TemplateError[] {
  if (!schema) return []
  const step = stepTo(schema, 'spec')
  if (step) return fitting(template, { path, field: 'spec', ref }, step)
  return [new TemplateError(path, undefined, lacks(ref, 'spec', schema))]
}

type At = { readonly path: string; readonly field: string; readonly ref: KindRef }

/** What is plain to see of a template: its keys, and values without expressions. */
function fitting(value: unknown, at: At, schema: Schema): TemplateError[] {
  if (value === null || value === undefined || hasExpression(value)) return joinedText(value, at, schema)
  if (Array.isArray(value)) {
    const { items = {} } = schema
    return [
      ...typed('array', at, schema),
      ...value.flatMap((item, index) => fitting(item, { ...at, path: `${at.path}[${index}]`, field: `${at.field}[]` }, items)),
    ]
  }
  if (typeof value === 'object') {
    const wrong = typed('object', at, schema)
    return wrong.length > 0 ? wrong : Object.entries(value).flatMap(([key, inner]) => entry(key, inner, at, schema))
  }
  return literal(value, at, schema)
}

function entry(key: string, inner: unknown, { path, field, ref }: At, schema: Schema): TemplateError[] {
  const step = stepTo(schema, key)
  const at = { path: `${path}.${key}`, field: `${field}.${key}`, ref }
  return step ? fitting(inner, at, step) : problem(at, lacks(ref, at.field, schema))
}

const hasExpression = (value: unknown): boolean =>
  typeof value === 'string' && piecesOf(value).some(({ kind }) => kind === 'expression')

/** Text around expressions makes it text, whatever they yield; an expression alone may yield anything. */
function joinedText(value: unknown, at: At, schema: Schema): TemplateError[] {
  return typeof value === 'string' && piecesOf(value).length > 1 ? typed('string', at, schema) : []
}

function piecesOf(value: string): ReturnType<typeof split> {
  try {
    return split(value)
  } catch {
    // Told of when it was compiled.
    return []
  }
}

function literal(value: unknown, at: At, schema: Schema): TemplateError[] {
  const type = typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value
  const wrong = typed(type, at, schema)
  if (wrong.length > 0 || !schema.enum || schema.enum.includes(value)) return wrong
  return problem(at, `${named(at.ref)} takes one of ${listed(schema.enum)} at ${at.field}, not ${JSON.stringify(value)}`)
}

function typed(type: string, at: At, schema: Schema): TemplateError[] {
  const isRight = schema.type === undefined || schema.type === type || (schema.type === 'number' && type === 'integer')
  return isRight ? [] : problem(at, `${named(at.ref)} has ${article(schema.type)} at ${at.field}, not ${article(type)}`)
}

function readFrom({ ref, schema }: ServedKind, names: readonly string[], place: Place): TemplateError[] {
  if (!schema) return []
  if (names[0] === 'metadata') {
    const isKnown = names[1] === undefined || metadataFields.includes(names[1])
    return isKnown ? [] : problem(place, `${named(ref)} has no field metadata.${names[1]}`)
  }
  let here: Schema = schema
  for (const [index, name] of names.entries()) {
    const next = stepTo(here, name)
    if (!next) return problem(place, lacks(ref, names.slice(0, index + 1).join('.'), here))
    here = next
  }
  return []
}

/** The conditions' names are free, but there must be somewhere for them to stand. */
function reported(report: Partial<DataPlane['spec']['report']> | undefined, kind: ServedKind): TemplateError[] {
  const wanted = Object.entries({ prepared: report?.prepared, programmed: report?.programmed })
  return wanted.flatMap(([name, says]) =>
    says ? readFrom(kind, ['status', 'conditions'], { path: `spec.report.${name}.condition` }) : [],
  )
}

/** Where a key leads; undefined when the server keeps nothing there. */
function stepTo(schema: Schema, key: string): Schema | undefined {
  if (schema.type === undefined) return schema
  if (schema.type !== 'object') return undefined
  const { properties = {}, others } = schema
  return Object.hasOwn(properties, key) ? properties[key] : others
}

const named = ({ kind, apiVersion }: KindRef): string => `${kind} (${apiVersion})`

function lacks(ref: KindRef, field: string, { type, properties = {} }: Schema): string {
  if (type !== 'object') return `${named(ref)} has no field ${field}: there is ${article(type)}`
  const there = Object.keys(properties)
  return `${named(ref)} has no field ${field}: ${there.length > 0 ? `there it has ${listed(there)}` : 'nothing is kept there'}`
}

const mostListed = 10

function listed(all: readonly unknown[]): string {
  const more = all.length > mostListed ? ` and ${all.length - mostListed} more` : ''
  return `${all.slice(0, mostListed).map(String).join(', ')}${more}`
}

const words: Readonly<Record<string, string>> = { array: 'a list', object: 'a map', string: 'text', integer: 'an integer' }

const article = (type = 'anything'): string => words[type] ?? `a ${type}`
