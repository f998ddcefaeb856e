/**
 * A kind's schema as ONE value: the compiler takes the objects' types from it, `crd.ts` the CustomResourceDefinition.
 * The types are those of stored objects: a property with a default is always there, so the type requires it and the CRD does not.
 */
import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import type { Kind } from './kind.ts'

/** A rule in the Common Expression Language that the API server enforces (KEP-2876). */
export type CelRule = {
  rule: string
  message: string
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired'
}

export type PrintColumn = {
  name: string
  type: 'string' | 'integer' | 'boolean' | 'date'
  jsonPath: string
  description?: string
  /** 0 or absent: always shown; greater: only with `-o wide`. */
  priority?: number
}

export type KindDefinition<Spec = unknown, Status = unknown> = Kind<Spec, Status> & {
  readonly description: string
  readonly shortNames: readonly string[]
  readonly columns: readonly PrintColumn[]
  readonly spec: TSchema
  /** Absent: the kind has no status and no status subresource. */
  readonly status: TSchema | undefined
  /** Rules over the whole object: those that must hold also when `status` is cleared. */
  readonly rules: readonly CelRule[]
}

type Declaration<S extends TSchema, T extends TSchema> = {
  group: string
  version: string
  kind: string
  plural: string
  scope?: 'Namespaced' | 'Cluster'
  description: string
  shortNames?: readonly string[]
  columns?: readonly PrintColumn[]
  spec: S
  status?: T
  rules?: readonly CelRule[]
}

/** Declares a kind. `scope` is Namespaced unless said. */
export function defineKind<S extends TSchema, T extends TSchema>(
  declared: Declaration<S, T>,
): KindDefinition<Static<S>, Static<T>> {
  const { scope = 'Namespaced', shortNames = [], columns = [], rules = [], status, ...rest } = declared
  return { ...rest, scope, shortNames, columns, rules, status }
}

type Options = TSchemaOptions & { description?: string; default?: unknown; rules?: readonly CelRule[] }

/** Moves `rules` under the name that the API server knows. */
function options({ rules, ...rest }: Options = {}): TSchemaOptions {
  return rules ? { ...rest, 'x-kubernetes-validations': rules } : rest
}

/** Text. `maxLength` also bounds the cost of rules over it. */
export const text = (o: Options & { minLength?: number; maxLength?: number; pattern?: string; format?: string } = {}) =>
  Type.String(options(o))

/** One of a few words. */
export const oneOf = <const Words extends readonly string[]>(words: Words, o: Options = {}) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...options(o) })

export const int32 = (o: Options & { minimum?: number; maximum?: number } = {}) =>
  Type.Integer({ format: 'int32', ...options(o) })
export const int64 = (o: Options & { minimum?: number; maximum?: number } = {}) =>
  Type.Integer({ format: 'int64', ...options(o) })
export const flag = (o: Options = {}) => Type.Boolean(options(o))

/** An object with these properties; others are pruned by the server. */
export const record = <P extends Record<string, TSchema>>(properties: P, o: Options = {}) => Type.Object(properties, options(o))

/** A list that is replaced as a whole: one owner. */
export const list = <I extends TSchema>(
  items: I,
  o: Options & { minItems?: number; maxItems?: number; 'x-kubernetes-list-type'?: string } = {},
) => Type.Array(items, options(o))

/** Arbitrary keys with text values. */
export const textMap = (o: Options & { minProperties?: number; maxProperties?: number } = {}) =>
  Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' }, ...options(o) })

/** An object the server stores as it is. */
export const freeObject = (o: Options = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...options(o) })

/** Any JSON value, stored as it is. */
export const anything = (o: Options = {}) => Type.Unsafe<unknown>({ 'x-kubernetes-preserve-unknown-fields': true, ...options(o) })

export const optional = Type.Optional
export type { Static } from 'typebox'

/** A reference by name in the same namespace. */
export const nameRef = (description: string, o: Options & { minLength?: number; maxLength?: number } = {}) => {
  const { rules, ...bounds } = o
  return record(
    { name: text({ description: 'Name of the object.', ...bounds }) },
    rules ? { description, rules } : { description },
  )
}

const typePattern =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$'

/** Bounds of metav1.Condition. */
const conditionSchema = record({
  type: text({ description: 'What the condition is about, in CamelCase.', maxLength: 316, pattern: typePattern }),
  status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
  reason: text({
    description: 'One CamelCase word for programs: why it has this status.',
    minLength: 1,
    maxLength: 1024,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: text({ description: 'For people. May be empty.', maxLength: 32768 }),
  lastTransitionTime: text({ description: 'When `status` last changed.', format: 'date-time' }),
  observedGeneration: optional(int64({ description: 'Generation of the object that the condition speaks of.', minimum: 0 })),
})

/** The `conditions` of a status: a map by type, so that each condition has its own owner (KEP-2332). */
export const conditions = (description: string) =>
  Type.Array(conditionSchema, {
    description,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })

/** Default of a status: these conditions Unknown until their writer speaks. No manager owns a seed. */
export const seeded = (...types: readonly string[]) => ({
  conditions: types.map((type) => ({
    type,
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  })),
})

/**
 * A status field set once, then neither changed nor cleared. The rule stands on the whole object, so that clearing the status is
 * refused too. A refusal means that another leader was first: read the object and use its value (write-once.ts).
 */
export const setOnce = (field: string): CelRule => ({
  rule: `!has(oldSelf.status) || !has(oldSelf.status.${field}) || (has(self.status) && has(self.status.${field}) && self.status.${field} == oldSelf.status.${field})`,
  message: `status.${field} is written once`,
})

/** `self == oldSelf`: set once, then fixed. */
export const immutable = (what: string): CelRule[] => [
  { rule: 'self == oldSelf', message: `${what} is immutable and cannot be changed after creation` },
]
