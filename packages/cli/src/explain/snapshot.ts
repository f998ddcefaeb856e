/** Everything that was read, in one plain value: of a live cluster, or of a dump. */
import type { KubeObject } from 'kube-control-loop'
import { groupOf } from '../owners/stored.ts'

/** Which kind; versions do not matter here, since a dump may have another. */
export type KindRef = { readonly group: string; readonly kind: string }

/** A kind of which nothing is known. */
export type Gap = KindRef & { why: 'forbidden' | 'not served' | 'not in the dump' | 'failed'; message: string }

export type Snapshot = {
  readonly origin: 'live' | 'dump'
  /** The server's time when it was asked; the newest time that stands in a dump. Ages are counted from it. */
  readonly at: Date
  readonly objects: readonly KubeObject[]
  /** Kinds whose absence means that there is none. */
  readonly read: readonly KindRef[]
  readonly gaps: readonly Gap[]
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

/** Why nothing is known of a kind; undefined when its absence means that there is none. */
export function gapOf(snapshot: Snapshot, kind: KindRef): Gap | undefined {
  const gap = snapshot.gaps.find((each) => sameKind(each, kind))
  if (gap || snapshot.read.some((each) => sameKind(each, kind))) return gap
  if (snapshot.objects.some((object) => sameKind(kindOf(object), kind))) return undefined
  return { group: kind.group, kind: kind.kind, why: 'not in the dump', message: `no ${kind.kind} is in the dump` }
}

/** Whether the objects came with their managedFields, as far as can be told. */
export function tellsWriters({ objects }: Snapshot): boolean {
  return objects.some(({ metadata }) => (metadata.managedFields ?? []).length > 0)
}
