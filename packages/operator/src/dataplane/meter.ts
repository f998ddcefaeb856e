/**
 * Bounds what one evaluation of an expression costs. CEL always ends, but a short text can ask for millions of items, and all
 * data planes share one event loop. Each step costs the size of the value that it yields, values inside values counted each
 * time they occur; so what is built, walked or compared is paid for, and so is the result.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import { isNode } from './reads.ts'

/** Steps of one evaluation; a few tens of milliseconds at worst. A template that passes on a large object takes some hundred. */
export const mostSteps = 100_000

/** `map`, `filter` and the quantifiers, one in the other. */
export const deepestNesting = 2

const charactersPerStep = 8
/** Asking a time for its part in a time zone takes far longer than any other step. */
const timeZoneSteps = 500

const comprehensions = new Set(['map', 'filter', 'all', 'exists', 'exists_one'])

export type Meter = {
  /** Runs one evaluation. Throws the given error, also where the expression itself would have passed over it. */
  run<T>(evaluate: () => T): T
}

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown
type Call = { name: string; receiver: unknown; args: readonly unknown[] }

/** The method call that a node is. */
function methodOf(node: ASTNode): Call | undefined {
  if (node.op !== 'rcall') return undefined
  const [name, receiver, args] = node.args as unknown as [string, unknown, readonly unknown[]]
  return { name, receiver, args }
}

/** How many comprehensions of the expression run inside one another, at most. */
export function nestingOf(node: unknown): number {
  if (Array.isArray(node)) return Math.max(0, ...node.map(nestingOf))
  if (!isNode(node)) return 0
  const method = methodOf(node)
  if (!method || !comprehensions.has(method.name)) return nestingOf(node.args)
  return Math.max(nestingOf(method.receiver), 1 + nestingOf(method.args))
}

/** Meters a parsed and checked expression from now on; `tooCostly` ends an evaluation that takes too many steps. */
export function meterOf(ast: unknown, tooCostly: Error): Meter {
  let left = mostSteps
  let sizes = new WeakMap<object, number>()
  const pay = (value: unknown, more: number) => {
    left -= 1 + more + sizeOf(value, sizes)
    // Always the same error: a quantifier may meet it once for each of its items.
    if (left < 0) throw tooCostly
    return value
  }
  meter(ast, false, pay)
  return {
    run(evaluate) {
      left = mostSteps
      sizes = new WeakMap()
      const value = evaluate()
      if (left < 0) throw tooCostly
      return value
    },
  }
}

/** `selected`: a field of the value is taken, which costs nothing for the rest of it. */
function meter(node: unknown, selected: boolean, pay: (value: unknown, more: number) => unknown): void {
  if (Array.isArray(node)) for (const each of node) meter(each, false, pay)
  if (!isNode(node)) return
  const isPath = node.op === 'id' || node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]'
  if (isPath && node.op !== 'id') {
    const [from, ...rest] = node.args as unknown as readonly unknown[]
    meter(from, true, pay)
    meter(rest, false, pay)
  } else meter(node.args, false, pay)
  if (selected && isPath) return
  const method = methodOf(node)
  const more = method?.name.startsWith('get') && method.args.length > 0 ? timeZoneSteps : 0
  intercept(node, (value) => pay(value, more))
}

/** The library replaces a node's `evaluate` when it first runs: what it puts there is kept behind ours. */
function intercept(node: ASTNode, seen: (value: unknown) => unknown): void {
  const hooked = node as unknown as { evaluate: Evaluate }
  let inner = hooked.evaluate
  const evaluate: Evaluate = (evaluator, self, context) => seen(inner.call(node, evaluator, self, context))
  Object.defineProperty(hooked, 'evaluate', {
    configurable: true,
    get: () => evaluate,
    set(next: Evaluate) {
      inner = next
    },
  })
}

/** The size of a value with all that is in it, as often as it is in it. */
function sizeOf(value: unknown, known: WeakMap<object, number>): number {
  if (typeof value === 'string') return Math.ceil(value.length / charactersPerStep)
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return Math.ceil(value.byteLength / charactersPerStep)
  const before = known.get(value)
  if (before !== undefined) return before
  let size = 0
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) size += 1 + sizeOf(inner, known)
  known.set(value, size)
  return size
}
