/**
 * Templates of a DataPlane: any JSON value whose strings may hold `${…}` expressions. Compiled once, rendered many times.
 * A string that is exactly one expression yields its value with its type; any other string is text with values joined in.
 * An absent value leaves its key (or list item, or the whole text it would be part of) out.
 */
import { type Absent, absent, type CelScope, compileExpression, type Expression, ExpressionError, type Json } from './cel.ts'
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

/**
 * Compiles the value at `path` of the DataPlane; `pointer` is where its rendering stands in the rendered object. Every
 * problem in it is collected; `errors` empty: the template is usable.
 */
export function compileTemplate(
  value: unknown,
  path: string,
  pointer = '',
): { template: Template; errors: readonly TemplateError[] } {
  const errors: TemplateError[] = []
  return { template: compileValue(value, { path, pointer, errors }), errors }
}

/** `pointer` is undefined inside lists, where an item has no place of its own. */
type Place = { path: string; pointer: string | undefined; errors: TemplateError[] }

function compileValue(value: unknown, place: Place): Template {
  if (typeof value === 'string') return compileString(value, place)
  if (Array.isArray(value)) return compileList(value, place)
  if (typeof value === 'object' && value !== null) return compileMap(value, place)
  if (value === null || value === undefined) return () => absent
  return () => value as Json
}

function compileList(value: readonly unknown[], { path, errors }: Place): Template {
  const items = value.map((item, index) => compileValue(item, { path: `${path}[${index}]`, pointer: undefined, errors }))
  return (scope) => items.map((item) => item(scope)).filter((item) => item !== absent)
}

function compileMap(value: object, { path, pointer, errors }: Place): Template {
  const entries = Object.entries(value).map(([key, inner]) => {
    const at = pointer === undefined ? undefined : `${pointer}/${escapePointer(key)}`
    return { key, at, template: compileValue(inner, { path: `${path}.${key}`, pointer: at, errors }) }
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

type Part = string | { expression: Expression; column: number }

function compileString(value: string, { path, errors }: Place): Template {
  const parts = compileParts(value, path, errors)
  const [first] = parts
  if (first === undefined) return () => ''
  if (parts.length > 1) return (scope) => joined(parts, path, scope)
  return typeof first === 'string' ? () => first : (scope) => evaluate(first, path, scope)
}

function compileParts(value: string, path: string, errors: TemplateError[]): readonly Part[] {
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
    try {
      return { expression: compileExpression(piece.source), column: piece.at + 1 }
    } catch (error) {
      const problem = located(error, path, piece.at + 1)
      errors.push(problem)
      return { expression: () => absent, column: piece.at + 1 }
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
