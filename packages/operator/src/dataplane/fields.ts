/**
 * Fields that expressions name: on NSO's own kinds they are checked here against their schemas, since an absent value leaves its
 * key out, so that a misspelt field would otherwise never be noticed. Those of a data plane's kinds: see served-fields.ts.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import { Network, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { KindDefinition } from 'kube-control-loop'
import { isNode, selectPath } from './reads.ts'

const kinds: Readonly<Record<string, KindDefinition>> = {
  context: NetworkContext,
  interface: NetworkInterface,
  claim: NetworkInterfaceClaim,
  network: Network,
}

export const metadataFields = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
]

/** A chain of fields written out from a variable, such as `interface.spec.mtu`; `at` is the offset of its last name. */
export type Select = { readonly names: readonly string[]; readonly at: number }

/** Each such chain of an expression, as far as it is written out. A name that a macro binds is no variable. */
export function selectsIn(ast: unknown): readonly Select[] {
  const found: Select[] = []
  collect(ast, new Set(), found)
  return found
}

function collect(node: unknown, bound: ReadonlySet<unknown>, found: Select[]): void {
  if (Array.isArray(node)) {
    for (const each of node) collect(each, bound, found)
  } else if (isNode(node)) {
    const names = selectPath(node)
    if (!names) collect(node.args, withBound(node, bound), found)
    else if (!bound.has(names[0])) found.push({ names, at: node.pos })
  }
}

const binding = new Set<unknown>(['map', 'filter', 'all', 'exists', 'exists_one', 'bind'])

/** The receiver is evaluated before the name is bound; that it counts as bound there too only lets a misspelling pass. */
function withBound(node: ASTNode, bound: ReadonlySet<unknown>): ReadonlySet<unknown> {
  if (node.op !== 'rcall') return bound
  const [macro, , args] = node.args as unknown as readonly [unknown, unknown, readonly unknown[]]
  const name = binding.has(macro) ? args[0] : undefined
  return isNode(name) && name.op === 'id' ? new Set([...bound, name.args]) : bound
}

export type UnknownField = { readonly message: string; readonly at: number }

/** The first field among them that NSO's kinds do not have. */
export function unknownField(selects: readonly Select[]): UnknownField | undefined {
  for (const { names, at } of selects) {
    const message = misspelt(names)
    if (message) return { message, at }
  }
  return undefined
}

function misspelt([variable = '', ...path]: readonly string[]): string | undefined {
  const kind = Object.hasOwn(kinds, variable) ? kinds[variable] : undefined
  const [top, ...below] = path
  if (!kind || top === undefined) return undefined
  const known = fieldsUnder(kind, top)
  return known === 'none' || !isWithin(known, below) ? `${kind.kind} has no field ${path.join('.')}` : undefined
}

/** A JSON schema as far as it matters here: without `properties` anything may stand there. */
type Schema = { readonly properties?: Readonly<Record<string, Schema>> }

const anything: Schema = {}

function fieldsUnder(kind: KindDefinition, top: string): Schema | 'none' {
  if (top === 'spec') return kind.spec as Schema
  if (top === 'status' && kind.status) return kind.status as Schema
  if (top === 'metadata') return { properties: Object.fromEntries(metadataFields.map((name) => [name, anything])) }
  return top === 'apiVersion' || top === 'kind' ? anything : 'none'
}

function isWithin({ properties }: Schema, [name, ...below]: readonly string[]): boolean {
  if (name === undefined || !properties) return true
  const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
  return inner !== undefined && isWithin(inner, below)
}
