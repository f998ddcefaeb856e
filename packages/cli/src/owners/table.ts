/** All ownership tables as one: who is documented to write what, and which component that is. */
import { nsoAccount, ownership as nsoOwnership, reasonTexts as nsoReasons } from '@nso/api'
import { galacticAccount } from 'galactic'
import { ownership as galacticOwnership, reasonTexts as galacticReasons } from 'galactic/api'
import { bridgeAccount } from 'kube-bridge'
import { ownership as bridgeOwnership, reasonTexts as bridgeReasons } from 'kube-bridge/api'
import type { KubeObject, MetadataOwner, ReasonText, ResourceOwnership, StatusOwner } from 'kube-control-loop'
import { groupOf, pick } from './stored.ts'

/** Those that have a table: NSO and the data planes of this repository. Of others their DataPlane is all that is known. */
const components = {
  NSO: { identity: 'nso', account: nsoAccount, table: nsoOwnership, reasons: nsoReasons, migration: 'nso migrate' },
  Galactic: {
    ...{ identity: 'galactic', account: galacticAccount, table: galacticOwnership },
    ...{ reasons: galacticReasons, migration: 'galactic migrate' },
  },
  Bridge: { identity: 'bridge', account: bridgeAccount, table: bridgeOwnership, reasons: bridgeReasons, migration: undefined },
} as const

export type Component = keyof typeof components

export const componentNames = Object.keys(components) as readonly Component[]

export type Row = ResourceOwnership & {
  /** Whose table the row is from; absent where it follows from a DataPlane. */
  readonly component?: Component
}

export const rows: readonly Row[] = componentNames.flatMap((component) =>
  components[component].table.map((row: ResourceOwnership): Row => ({ ...row, component })),
)

/** A documented writer of one path. */
export type Owner = Pick<StatusOwner, 'writer' | 'identity' | 'when' | 'anyManager'> & Pick<MetadataOwner, 'shared' | 'keys'>

const closed = new Map<string, Component>(componentNames.map((name) => [components[name].identity, name]))

/** The component whose identity this is; undefined for a role, that anybody may have whom permissions allow it. */
export const componentOf = (identity: string): Component | undefined => closed.get(identity)

/** `system:serviceaccount:NAMESPACE:NAME` for a component's identity, else the role itself. */
export function userOf(identity: string): string {
  const component = componentOf(identity)
  if (component === undefined) return identity
  const { namespace, name } = components[component].account
  return `system:serviceaccount:${namespace}:${name}`
}

/** The command that moves what earlier software owns in this table; undefined where there was none. */
export const migrationOf = ({ component }: Pick<Row, 'component'>): string | undefined =>
  component && components[component].migration

/** Whether everybody who acts as this owner uses the one manager that the table names. */
export const isNamed = ({ identity, anyManager }: Pick<Owner, 'identity' | 'anyManager'>): boolean =>
  closed.has(identity) && anyManager !== true

/** Whether an object is one of those that the row is about, where several tables have objects of one kind. */
export const isMarked = ({ marked }: Row, labels: Readonly<Record<string, string>> | undefined): boolean =>
  marked === undefined || labels?.[marked] !== undefined

type Named = Pick<KubeObject, 'apiVersion' | 'kind'> & { readonly metadata?: KubeObject['metadata'] }

/** The row of an object: of the component that marked it, else of the first that has the kind. Of a name alone: that of the kind. */
export function rowOf({ apiVersion, kind, metadata }: Named): Row | undefined {
  const ofKind = rows.filter((row) => row.kind.group === groupOf(apiVersion) && row.kind.kind === kind)
  return ofKind.find((row) => isMarked(row, metadata?.labels)) ?? ofKind[0]
}

/** What the reason of a condition is documented to mean, by the table that has the kind; undefined where none has it. */
export function reasonTextOf(
  object: Named,
  condition: { type: string; status?: string; reason?: string },
): ReasonText | undefined {
  const row = rowOf(object)
  const { type, status = '', reason = '' } = condition
  const text = row?.component && pick(components[row.component].reasons, object.kind, type, status, reason)
  return typeof pick(text, 'remedy') === 'string' ? (text as ReasonText) : undefined
}

const all = 'conditions/*'

export function statusOwnersOf(row: Row, path: string): Owner[] {
  return row.status.filter(({ owns }) => owns.includes(path) || (path.startsWith('conditions/') && owns.includes(all)))
}

/** Types of the conditions that the table has for a kind, in its order. */
export function documentedConditions(object: Named): string[] {
  const row = rowOf(object)
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
