/**
 * CEL (https://cel.dev) behind one function: a source text becomes a function of the scope. An expression sees the variables
 * of TemplateScope and nothing else: no clock, no environment, no other objects.
 */
import { type ASTNode, Environment, EvaluationError, Optional } from '@marcbachmann/cel-js'
import { type Select, selectsIn, unknownField } from './fields.ts'
import { deepestNesting, meterOf, mostSteps, nestingOf } from './meter.ts'
import { isNode, type Reads, readsOf } from './reads.ts'
import type { TemplateScope } from './types.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** What an absent optional value yields; it leaves its key out. */
export const absent = Symbol('absent')
export type Absent = typeof absent

/** An expression that does not compile or evaluate. `column` counts from 1 within the expression; absent when unknown. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
  readonly code = 'EXPRESSION_ERROR'
  readonly column: number | undefined
  constructor(message: string, column: number | undefined, options?: ErrorOptions) {
    super(message, options)
    this.column = column
  }
}

export type Expression = {
  (scope: CelScope): Json | Absent
  /** What it reads, field by field. */
  readonly selects: readonly Select[]
}

/** The variables that one place offers; `why` the others are not there, for people. */
export type Offered = { readonly names: readonly (keyof TemplateScope)[]; readonly why: string }

/** What expressions read, as it is stored; each converts the parts that it reads. */
export type CelScope = { readonly values: Readonly<Record<string, unknown>> }

const variables: readonly (keyof TemplateScope)[] = [
  'context',
  'subnets',
  'interface',
  'claim',
  'network',
  'attachment',
  'networkObject',
]

export const everything: Offered = { names: variables, why: '' }
/** The object of a network is the first that is made, and for all its interfaces. */
export const ofNetworks: Offered = {
  names: ['context', 'subnets', 'network'],
  why: 'the object of a network is made before any interface: only context, subnets and network are there',
}

function createEnvironment({ names }: Offered): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  for (const name of names) environment.registerVariable(name, 'dyn')
  return environment
}

const environments = new Map([everything, ofNetworks].map((offered) => [offered, createEnvironment(offered)]))

/** Compiles once. Throws ExpressionError for what CEL refuses, unknown variables and functions included. */
export function compileExpression(source: string, offered: Offered = everything): Expression {
  const parsed = parse(source, offered)
  const checked = parsed.check()
  if (!checked.valid) throw explained(asExpressionError(checked.error), offered)
  const selects = selectsIn(parsed.ast)
  const unknown = unknownField(selects)
  if (unknown) throw new ExpressionError(unknown.message, unknown.at + 1)
  if (callsMatches(parsed.ast)) throw new ExpressionError(`matches() is not offered: ${whyNoMatches}`, undefined)
  if (nestingOf(parsed.ast) > deepestNesting) throw new ExpressionError(tooDeep, undefined)
  const meter = meterOf(parsed.ast, new ExpressionError(tooCostly, undefined))
  const reads = Object.entries(readsOf(parsed.ast))
  const evaluate = ({ values }: CelScope) => {
    let value: unknown
    try {
      value = meter.run(() => parsed(converted(values, reads)))
    } catch (error) {
      if (isAbsentSelect(error)) return absent
      throw error instanceof ExpressionError ? error : asExpressionError(error)
    }
    return toJson(value)
  }
  return Object.assign(evaluate, { selects })
}

/** A variable that there is elsewhere is no misspelling. */
function explained(error: ExpressionError, { names, why }: Offered): ExpressionError {
  const variable = variables.find((name) => !names.includes(name) && error.message === `Unknown variable: ${name}`)
  return variable ? new ExpressionError(`${variable} is not there: ${why}`, error.column, { cause: error }) : error
}

const tooDeep = `map, filter, all and exists stand more than ${deepestNesting} deep in each other`
const tooCostly = `it takes more than ${mostSteps} steps: fewer items, or smaller ones, are needed`

/** CEL promises RE2, which is linear; here it is JavaScript's, and one bad pattern would stop the process for all planes. */
const whyNoMatches = 'the time of a regular expression is not bounded here'

function callsMatches(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(callsMatches)
  if (!isNode(node)) return false
  const args: unknown = node.args
  const isCall = (node.op === 'call' || node.op === 'rcall') && Array.isArray(args) && args[0] === 'matches'
  return isCall || callsMatches(args)
}

function parse(source: string, offered: Offered): ReturnType<Environment['parse']> {
  try {
    return (environments.get(offered) ?? createEnvironment(offered)).parse(source)
  } catch (error) {
    throw asExpressionError(error)
  }
}

function asExpressionError(error: unknown): ExpressionError {
  const known = error as { summary?: string; message?: string; range?: { start: number } } | undefined
  const message = known?.summary ?? known?.message ?? String(error)
  return new ExpressionError(message, known?.range && known.range.start + 1, { cause: error })
}

/**
 * A select that fails on something reached from a scope variable is an absent optional field. The same failure inside a
 * comprehension (`map(a, a.gateway)`) is an error: leaving out the whole list would hide it; `has()` says what is meant.
 */
function isAbsentSelect(error: unknown): boolean {
  if (!(error instanceof EvaluationError)) return false
  const { code, node } = error as { code?: string; node?: ASTNode }
  if (code === 'unknown_variable') return true
  return (code === 'no_such_key' || code === 'index_out_of_bounds') && node !== undefined && isRootedInScope(node)
}

function isRootedInScope(node: ASTNode): boolean {
  let current: unknown = node
  while (isNode(current)) {
    if (current.op === 'id') return variables.some((name) => name === (current as { args: unknown }).args)
    current = current.op === 'rcall' ? current.args[1] : Array.isArray(current.args) ? current.args[0] : undefined
  }
  return false
}

export const celScope = (scope: TemplateScope): CelScope => ({ values: scope })

/** The variables of one expression. */
function converted(values: CelScope['values'], reads: readonly (readonly [string, Reads])[]): Record<string, unknown> {
  const variables: Record<string, unknown> = {}
  for (const [name, parts] of reads) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value !== undefined) variables[name] = toCelIn(value, parts)
  }
  return variables
}

/** Of a map only what is read; anything else as a whole, so that an expression meets it for what it is. */
function toCelIn(value: unknown, parts: Reads): unknown {
  if (parts === 'all' || typeof value !== 'object' || value === null || Array.isArray(value)) return toCel(value)
  const map: Record<string, unknown> = {}
  for (const [name, below] of Object.entries(parts)) {
    const inner = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    if (inner !== undefined) map[name] = toCelIn(inner, below)
  }
  return map
}

/** JSON as CEL sees it: integers are `int` (BigInt), so that `interface.spec.mtu + 4` means what it says. */
function toCel(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(toCel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, toCel(inner)]),
  )
}

/** A CEL value as JSON. `null` counts as absent. Throws ExpressionError for what JSON cannot carry without loss. */
function toJson(value: unknown): Json | Absent {
  if (value === null || value === undefined) return absent
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return finite(value)
  if (typeof value === 'bigint') return integer(value)
  if (value instanceof Optional) return value.hasValue() ? toJson(value.value()) : absent
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(toJson).filter((item) => item !== absent)
  if (isPlain(value)) return entriesToJson(Object.entries(value))
  if (value instanceof Map) return entriesToJson([...value])
  const primitive: unknown = value.valueOf()
  if (typeof primitive === 'bigint') return integer(primitive)
  throw new ExpressionError('the result is no value that JSON can carry', undefined)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function entriesToJson(entries: readonly (readonly [unknown, unknown])[]): Json {
  const rendered = entries.map(([key, inner]) => [String(key), toJson(inner)] as const)
  return Object.fromEntries(rendered.filter((entry): entry is readonly [string, Json] => entry[1] !== absent))
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ExpressionError(`the result ${value} is no JSON number`, undefined)
  return value
}

function integer(value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new ExpressionError(`the integer ${value} is too large to be carried exactly`, undefined)
  return number
}
