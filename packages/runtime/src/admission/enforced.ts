/** Which paths of a kind are enforced, and who may change them: the ownership table seen from the admission policy. Pure. */
import type { MetadataOwner, OwnershipTable, ResourceOwnership, StatusOwner } from '../ownership.ts'

/** One way to be let through: an identity, and the field managers it must use. */
export type Pass = {
  readonly identity: string
  /** The documented name first, then those of the previous release; an empty string is a request without a field manager. */
  readonly managers: readonly [documented: string, ...former: string[]]
  /** The identity chooses its own manager; any that no other writer has. */
  readonly anyManager: boolean
}

/** Paths with the same writers: they share one validation. */
export type PathGroup = {
  /** Part of names of variables: letters, digits and `_`. */
  readonly id: string
  readonly on: 'status' | 'metadata'
  readonly paths: readonly string[]
  /** None: nobody writes these paths. */
  readonly passes: readonly Pass[]
}

export type EnforcedKind = {
  readonly kind: ResourceOwnership['kind']
  readonly hasStatus: boolean
  readonly marked: string | undefined
  readonly groups: readonly PathGroup[]
}

const passOf = ({ identity, writer, formerly = [], ...owner }: StatusOwner | MetadataOwner): Pass => ({
  identity,
  managers: [writer, ...formerly],
  anyManager: 'anyManager' in owner,
})

/** Deletion is no write of a path; who may delete is a matter of permissions. */
const isWritten = ({ path }: MetadataOwner) => path !== 'deletion'

/** A map of which keys are documented is enforced in these only: what others keep beside them in it is theirs. */
const keysOf = (owner: MetadataOwner): MetadataOwner[] =>
  owner.keys?.map((key) => ({ ...owner, path: `${owner.path}/${key}` })) ?? [owner]

/** Metadata paths that only closed identities write, each with all its writers. */
function metadataPaths(row: ResourceOwnership, closed: readonly string[]): [string, Pass[]][] {
  const byPath = Map.groupBy(row.metadata.filter(isWritten).flatMap(keysOf), ({ path }) => path)
  return [...byPath].flatMap(([path, owners]): [string, Pass[]][] => {
    const isOpen = owners.some(({ identity, shared }) => shared === true || !closed.includes(identity))
    return isOpen ? [] : [[path, owners.map(passOf)]]
  })
}

function metadataGroups(row: ResourceOwnership, closed: readonly string[]): PathGroup[] {
  const together = Map.groupBy(metadataPaths(row, closed), ([, passes]) => JSON.stringify(passes))
  return [...together].map(([passes, paths], index) => ({
    id: `metadata${index + 1}`,
    on: 'metadata',
    paths: paths.map(([path]) => path),
    passes: JSON.parse(passes),
  }))
}

function statusGroups(row: ResourceOwnership, closed: readonly string[]): PathGroup[] {
  const owners = row.status.filter(({ identity }) => closed.includes(identity))
  const written = owners.map(
    (owner, index): PathGroup => ({ id: `status${index + 1}`, on: 'status', paths: owner.owns, passes: [passOf(owner)] }),
  )
  const reserved = row.reserved?.map(({ path }) => path) ?? []
  return reserved.length > 0 ? [...written, { id: 'reserved', on: 'status', paths: reserved, passes: [] }] : written
}

/** A row of the table for the policy; undefined where nothing of it is enforced. `closed`: identities whose paths are. */
export function enforcedKind(row: ResourceOwnership, closed: readonly string[]): EnforcedKind | undefined {
  const groups = [...statusGroups(row, closed), ...metadataGroups(row, closed)]
  if (!groups.some(({ passes }) => passes.length > 0)) return undefined
  return { kind: row.kind, hasStatus: row.status.length > 0, marked: row.marked, groups }
}

export function enforcedKinds(table: OwnershipTable, closed: readonly string[]): EnforcedKind[] {
  return table.flatMap((row) => enforcedKind(row, closed) ?? [])
}

/** Manager names that only one closed identity may use: identity to names, over the whole table. */
export function reservedManagers(table: OwnershipTable, closed: readonly string[]): Map<string, string[]> {
  const owners = table.flatMap(({ status, metadata }) => [...status, ...metadata])
  const named = owners.filter((owner) => closed.includes(owner.identity) && !passOf(owner).anyManager)
  const byIdentity = Map.groupBy(named, ({ identity }) => identity)
  return new Map([...byIdentity].map(([identity, of]) => [identity, [...new Set(of.map(({ writer }) => writer))].sort()]))
}
