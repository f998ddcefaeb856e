/**
 * Templates of a DataPlane: any JSON value whose strings may hold `${…}` expressions. Compiled once, rendered many times.
 * A string that is exactly one expression yields its value with its type; any other string is text with values joined in.
 * An absent value leaves its key (or list item, or the whole text it would be part of) out.
 */
import {
  type Absent,
  absent,
  type CelScope,
  compileExpression,
  ExpressionError,
  everything,
  type Json,
  type Offered,
} from './cel.ts'
import { escapePointer } from './patch.ts'
import { type Piece, SplitError, split } from './split.ts'

/** A template that does not compile or render. The message is for people and begins with path and column. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  readonly code = 'TEMPLATE_ERROR'
  /** Where in the DataPlane, e.g. `spec.attachment.spec.interface.mtu`. */
  readonly path: string
  /** Counts from 1 within the string at `path`; absent when the whole value is meant. */
  readonly column: number | undefined
  constructor(path: string, column: number | undefined, problem: string, options?: ErrorOptions) {
    super(column === undefined ? `${path}: ${problem}` : `${path}, column ${column}: ${problem}`, options)
    this.path = path
    this.column = column
  }
}

/**
 * Renders once. `leftOut` collects the JSON pointers of keys that the template names but that have no value now.
 * Throws TemplateError when an expression fails for another reason than an absent optional value.
 */
export type Template = (scope: CelScope, leftOut?: string[]) => Json | Absent

/** A chain of fields that an expression reads, with where in the DataPlane it does. */
export type FieldRead = { readonly path: string; readonly column: number; readonly names: readonly string[] }

export type CompiledTemplate = {
  readonly template: Template
  readonly errors: readonly TemplateError[]
  readonly reads: readonly FieldRead[]
}

/**
 * Compiles the value at `path` of the DataPlane; `pointer` is where its rendering stands in the rendered object. Every
 * problem in it is collected; `errors` empty: the template is usable.
 */
export function compileTemplate(value: unknown, path: string, pointer = '', offered: Offered = everything): CompiledTemplate {
  const errors: TemplateError[] = []
  const reads: FieldRead[] = []
  return { template: compileValue(value, { path, pointer, errors, reads, offered }), errors, reads }
}

/** `pointer` is undefined inside lists, where an item has no place of its own. */
type Place = { path: string; pointer: string | undefined; errors: TemplateError[]; reads: FieldRead[]; offered: Offered }

function compileValue(value: unknown, place: Place): Template {
  if (typeof value === 'string') return compileString(value, place)
  if (Array.isArray(value)) return compileList(value, place)
  if (typeof value === 'object' && value !== null) return compileMap(value, place)
  if (value === null || value === undefined) return () => absent
  return () => value as Json
}

function compileList(value: readonly unknown[], place: Place): Template {
  const items = value.map((item, index) => compileValue(item, { ...place, path: `${place.path}[${index}]`, pointer: undefined }))
  return (scope) => items.map((item) => item(scope)).filter((item) => item !== absent)
}

function compileMap(value: object, place: Place): Template {
  const entries = Object.entries(value).map(([key, inner]) => {
    const at = place.pointer === undefined ? undefined : `${place.pointer}/${escapePointer(key)}`
    return { key, at, template: compileValue(inner, { ...place, path: `${place.path}.${key}`, pointer: at }) }
  })
  return (scope, leftOut) => {
    const rendered: [string, Json][] = []
    for (const { key, at, template } of entries) {
      const value = template(scope, leftOut)
      if (value !== absent) rendered.push([key, value])
      else if (at !== undefined) leftOut?.push(at)
    }
    return Object.fromEntries(rendered)
  }
}

type Part = string | { expression: (scope: CelScope) => Json | Absent; column: number }

function compileString(value: string, place: Place): Template {
  const { path } = place
  const parts = compileParts(value, place)
  const [first] = parts
  if (first === undefined) return () => ''
  if (parts.length > 1) return (scope) => joined(parts, path, scope)
  return typeof first === 'string' ? () => first : (scope) => evaluate(first, path, scope)
}

function compileParts(value: string, place: Place): readonly Part[] {
  const { path, errors } = place
  let pieces: readonly Piece[]
  try {
    pieces = split(value)
  } catch (error) {
    if (!(error instanceof SplitError)) throw error
    errors.push(new TemplateError(path, error.at + 1, error.message, { cause: error }))
    return []
  }
  return pieces.map((piece) => {
    if (piece.kind === 'text') return piece.text
    const from = piece.at + 1
    try {
      const expression = compileExpression(piece.source, place.offered)
      place.reads.push(...expression.selects.map(({ names, at }) => ({ path, column: from + at, names })))
      return { expression, column: from }
    } catch (error) {
      errors.push(located(error, path, from))
      return { expression: () => absent, column: from }
    }
  })
}

/** Turns an expression's error into one that says where in the DataPlane it stands; anything else is a bug and passes. */
function located(error: unknown, path: string, from: number): TemplateError {
  if (!(error instanceof ExpressionError)) throw error
  return new TemplateError(path, from + (error.column ?? 1) - 1, error.message, { cause: error })
}

function evaluate(part: Exclude<Part, string>, path: string, scope: CelScope): Json | Absent {
  try {
    return part.expression(scope)
  } catch (error) {
    throw located(error, path, part.column)
  }
}

function joined(parts: readonly Part[], path: string, scope: CelScope): string | Absent {
  let text = ''
  for (const part of parts) {
    const value = typeof part === 'string' ? part : evaluate(part, path, scope)
    if (value === absent) return absent
    if (typeof value === 'object' && typeof part === 'object') {
      throw new TemplateError(path, part.column, 'a list or map cannot be joined into text')
    }
    text += String(value)
  }
  return text
}
