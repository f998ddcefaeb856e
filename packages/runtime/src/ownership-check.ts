/** Compares an ownership table with the schemas of its kinds and with the declared conditions. For tests. */
import type { ConditionDefinition } from './condition.ts'
import { ownershipOf } from './crd.ts'
import type { OwnershipTable, ResourceOwnership } from './ownership.ts'
import type { KindDefinition } from './schema.ts'

export type OwnershipGaps = {
  /** Kinds without a row, and rows without a kind. */
  kinds: string[]
  /** Status paths that neither a writer nor `reserved` names. */
  undocumented: string[]
  /** Named paths that no schema and no declared condition has. */
  unknown: string[]
  /** Paths that two writers claim. */
  twice: string[]
  /** Lists with more than one writer that are no map by key: each writer would erase what the others wrote. */
  unkeyed: string[]
}

type Conditions = Readonly<Record<string, Readonly<Record<string, ConditionDefinition>>>>

const named = (row: ResourceOwnership) => [
  ...row.status.flatMap(({ owns }) => owns),
  ...(row.reserved ?? []).map(({ path }) => path),
]

function statusPaths(kind: KindDefinition, conditions: Conditions[string] | undefined): string[] {
  const properties = kind.status && 'properties' in kind.status ? Object.keys(kind.status.properties as object) : []
  const types = conditions ? Object.keys(conditions) : ['*']
  return properties.flatMap((name) => (name === 'conditions' ? types.map((type) => `conditions/${type}`) : [name]))
}

/** Whether a list of the status is a map by key; undefined for what is no list. */
function isKeyed(kind: KindDefinition, field: string): boolean | undefined {
  const properties = (kind.status && 'properties' in kind.status ? kind.status.properties : {}) as Record<
    string,
    Record<string, unknown>
  >
  const schema = properties[field]
  return schema?.type === 'array' ? schema['x-kubernetes-list-type'] === 'map' : undefined
}

function gapsOf(
  kind: KindDefinition,
  row: ResourceOwnership,
  conditions: Conditions[string] | undefined,
): Omit<OwnershipGaps, 'kinds'> {
  const say = (path: string) => `${kind.kind}.${path}`
  const known = statusPaths(kind, conditions)
  const paths = named(row)
  const lists = Map.groupBy(
    row.status.flatMap(({ owns, writer }) => owns.map((path) => ({ field: path.split('/')[0] ?? path, writer }))),
    ({ field }) => field,
  )
  const shared = [...lists].filter(([, owners]) => new Set(owners.map(({ writer }) => writer)).size > 1).map(([field]) => field)
  return {
    undocumented: known.filter((path) => !paths.includes(path)).map(say),
    unknown: paths.filter((path) => !known.includes(path)).map(say),
    twice: paths.filter((path, index) => paths.indexOf(path) !== index).map(say),
    unkeyed: shared.filter((field) => isKeyed(kind, field) === false).map(say),
  }
}

/** All gaps over all kinds; every list is empty when table, schemas and conditions agree. Conditions by kind, then by type. */
export function ownershipGaps(kinds: readonly KindDefinition[], table: OwnershipTable, conditions: Conditions): OwnershipGaps {
  const gaps: OwnershipGaps = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }
  for (const row of table)
    if (!kinds.some((kind) => kind.group === row.kind.group && kind.kind === row.kind.kind)) gaps.kinds.push(row.kind.kind)
  for (const kind of kinds) {
    const row = ownershipOf(kind, table)
    if (!row) {
      gaps.kinds.push(kind.kind)
      continue
    }
    const found = gapsOf(kind, row, conditions[kind.kind])
    gaps.undocumented.push(...found.undocumented)
    gaps.unknown.push(...found.unknown)
    gaps.twice.push(...found.twice)
    gaps.unkeyed.push(...found.unkeyed)
  }
  return gaps
}
