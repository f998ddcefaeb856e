/**
 * Fields that expressions name on NSO's own kinds, checked against their schemas: an absent value leaves its key out, so a
 * misspelt field would otherwise never be noticed.
 */
import { Network, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { KindDefinition } from 'kube-control-loop'
import { isNode, selectPath } from './reads.ts'

const kinds: Readonly<Record<string, KindDefinition>> = {
  context: NetworkContext,
  interface: NetworkInterface,
  claim: NetworkInterfaceClaim,
  network: Network,
}

const metadataFields = [
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

export type UnknownField = { readonly message: string; readonly at: number }

/** The first field in the expression that its kind does not have. Only selects written out from a variable are looked at. */
export function unknownField(ast: unknown): UnknownField | undefined {
  if (Array.isArray(ast)) return firstOf(ast, unknownField)
  if (!isNode(ast)) return undefined
  const path = selectPath(ast)
  const found = path && misspelt(path)
  return found ? { message: found, at: ast.pos } : unknownField(ast.args)
}

function firstOf<T, R>(items: readonly T[], look: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = look(item)
    if (found !== undefined) return found
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
