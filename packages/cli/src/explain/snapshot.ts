/** Everything that was read, in one plain value: of a live cluster, or of a dump. */
import type { KubeObject } from 'kube-control-loop'
import { groupOf } from '../owners/stored.ts'

/** Which kind; versions do not matter here, since a dump may have another. */
export type KindRef = { readonly group: string; readonly kind: string }

/** A kind of which nothing is known. */
export type Gap = KindRef & { why: 'forbidden' | 'not served' | 'not in the dump' | 'failed'; message: string }

export type Snapshot = {
  readonly origin: 'live' | 'dump'
  /** The server's time when it was asked; where a dump does not tell that, the newest time in it. Ages are counted from it. */
  readonly at: Date
  /** Whether `at` is the newest time in a dump: whatever has happened since left no trace in it. */
  readonly isNewest?: boolean
  readonly objects: readonly KubeObject[]
  /** Kinds whose absence means that there is none. */
  readonly read: readonly KindRef[]
  readonly gaps: readonly Gap[]
  /** Kinds of which a kubectl `List` has objects of that namespace: others of them are probably not there. */
  readonly listed?: readonly (KindRef & { readonly namespace: string | undefined })[]
  /** What else limits what can be said of it, as sentences. */
  readonly remarks?: readonly string[]
}

export const sameKind = (a: KindRef, b: KindRef): boolean => a.group === b.group && a.kind === b.kind

export const kindOf = ({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): KindRef => ({
  group: groupOf(apiVersion),
  kind,
})

export function listOf<O extends KubeObject>({ objects }: Snapshot, kind: KindRef, namespace?: string): O[] {
  return objects.filter((object): object is O => sameKind(kindOf(object), kind) && object.metadata.namespace === namespace)
}

export function findIn<O extends KubeObject>(
  snapshot: Snapshot,
  kind: KindRef,
  at: { namespace?: string | undefined; name: string },
): O | undefined {
  return listOf<O>(snapshot, kind, at.namespace).find(({ metadata }) => metadata.name === at.name)
}

const isRead = ({ read }: Snapshot, kind: KindRef): boolean => read.some((each) => sameKind(each, kind))

/** Whether a dump has others of the kind beside it, from which alone it follows that an object is not there. */
export function isListed(snapshot: Snapshot, kind: KindRef, namespace: string | undefined): boolean {
  const listed = snapshot.listed?.some((each) => sameKind(each, kind) && each.namespace === namespace) ?? false
  return listed && !isRead(snapshot, kind)
}

/** Why nothing is known of objects of a kind in a namespace; undefined when their absence means that they are not there. */
export function gapOf(snapshot: Snapshot, kind: KindRef, namespace: string | undefined): Gap | undefined {
  const gap = snapshot.gaps.find((each) => sameKind(each, kind))
  if (gap || isRead(snapshot, kind) || isListed(snapshot, kind, namespace)) return gap
  const where = namespace === undefined ? '' : ` of namespace ${namespace}`
  return { group: kind.group, kind: kind.kind, why: 'not in the dump', message: `no ${kind.kind}${where} is in the dump` }
}

/** Whether the objects came with their managedFields, as far as can be told. */
export function tellsWriters({ objects }: Snapshot): boolean {
  return objects.some(({ metadata }) => (metadata.managedFields ?? []).length > 0)
}
