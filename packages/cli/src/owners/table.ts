/** Both ownership tables as one: who is documented to write what, and which component that is. */
import { nsoAccount, ownership as nsoOwnership } from '@nso/api'
import { galacticAccount } from 'galactic'
import { ownership as galacticOwnership } from 'galactic/api'
import type { MetadataOwner, ResourceOwnership, StatusOwner } from 'kube-control-loop'
import { groupOf } from './stored.ts'

export type Row = ResourceOwnership & {
  /** Whose table the row is from: its migration is that component's command. */
  readonly component: 'NSO' | 'Galactic'
}

export const rows: readonly Row[] = [
  ...nsoOwnership.map((row): Row => ({ ...row, component: 'NSO' })),
  ...galacticOwnership.map((row): Row => ({ ...row, component: 'Galactic' })),
]

/** A documented writer of one path. */
export type Owner = Pick<StatusOwner, 'writer' | 'identity' | 'when' | 'anyManager'> & Pick<MetadataOwner, 'shared' | 'keys'>

/** Identities that one component has for itself; all others are roles that anybody may have whom permissions allow it. */
const accounts = { nso: nsoAccount, galactic: galacticAccount } as const
const components: Readonly<Record<string, string>> = { nso: 'NSO', galactic: 'Galactic' }

const isClosed = (identity: string): identity is keyof typeof accounts => identity in accounts

/** The component whose identity this is; undefined for a role. */
export const componentOf = (identity: string): string | undefined => components[identity]

/** `system:serviceaccount:NAMESPACE:NAME` for a component's identity, else the role itself. */
export function userOf(identity: string): string {
  if (!isClosed(identity)) return identity
  const { namespace, name } = accounts[identity]
  return `system:serviceaccount:${namespace}:${name}`
}

/** Whether everybody who acts as this owner uses the one manager that the table names. */
export const isNamed = ({ identity, anyManager }: Pick<Owner, 'identity' | 'anyManager'>): boolean =>
  isClosed(identity) && anyManager !== true

export function rowOf(group: string, kind: string): Row | undefined {
  return rows.find((row) => row.kind.group === group && row.kind.kind === kind)
}

const all = 'conditions/*'

export function statusOwnersOf(row: Row, path: string): Owner[] {
  return row.status.filter(({ owns }) => owns.includes(path) || (path.startsWith('conditions/') && owns.includes(all)))
}

/** Types of the conditions that the table has for a kind, in its order. */
export function documentedConditions({ apiVersion, kind }: { apiVersion: string; kind: string }): string[] {
  const row = rowOf(groupOf(apiVersion), kind)
  return row?.status.flatMap(({ owns }) => owns.flatMap((path) => /^conditions\/(\w+)$/.exec(path)?.[1] ?? [])) ?? []
}

export function metadataOwnersOf(row: Row, path: string): Owner[] {
  return row.metadata.filter((owner) => owner.path === path)
}

/** Who is documented to remove a finalizer; undefined when nobody is. */
export function finalizerOwnerOf(row: Row | undefined, finalizer: string): Owner | undefined {
  return row && metadataOwnersOf(row, `metadata.finalizers/${finalizer}`)[0]
}

/** Each manager that is reserved for a component, with the identity that it goes with. */
export const reservedManagers: ReadonlyMap<string, string> = new Map(
  rows
    .flatMap((row): Owner[] => [...row.status, ...row.metadata])
    .filter(isNamed)
    .map(({ writer, identity }) => [writer, identity]),
)
