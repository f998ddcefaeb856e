/** Which parts of its variables an expression reads, so that only those are converted for it. Pure. */
import type { ASTNode } from '@marcbachmann/cel-js'

/** `all`: the whole value; else the named fields of a map, and nothing else of it. */
export type Reads = 'all' | { readonly [field: string]: Reads }

type Growing = 'all' | { [field: string]: Growing }

/**
 * By variable. Only selects written out from a name are narrowed down (`interface.spec.mtu`); whatever else is done with a
 * value reads all of it. A name that a macro binds counts as the variable of that name: more is converted then, never less.
 */
export function readsOf(ast: unknown): Readonly<Record<string, Reads>> {
  const reads: Record<string, Growing> = Object.create(null)
  collect(ast, reads)
  return reads
}

function collect(node: unknown, reads: Record<string, Growing>): void {
  if (Array.isArray(node)) {
    for (const each of node) collect(each, reads)
  } else if (isNode(node)) {
    const path = selectPath(node)
    if (path) add(reads, path)
    else collect(node.args, reads)
  }
}

export const isNode = (value: unknown): value is ASTNode => typeof value === 'object' && value !== null && 'op' in value

/** `interface.spec.mtu` as its names; undefined for anything else. */
export function selectPath(node: ASTNode): readonly string[] | undefined {
  if (node.op === 'id') return typeof node.args === 'string' ? [node.args] : undefined
  if (node.op !== '.' && node.op !== '.?') return undefined
  const [inner, name] = node.args as unknown as [ASTNode, unknown]
  const before = selectPath(inner)
  return before && typeof name === 'string' ? [...before, name] : undefined
}

function add(reads: Record<string, Growing>, path: readonly string[]): void {
  let here = reads
  for (const [index, name] of path.entries()) {
    const known = here[name]
    if (known === 'all') return
    if (index === path.length - 1) here[name] = 'all'
    else {
      const below: Record<string, Growing> = known ?? Object.create(null)
      here[name] = below
      here = below
    }
  }
}
