/** Pods, cut down to what Multus says on them: a cache of them stays small also in a large cluster. */
import type { CacheOptions, Kind, KubeObject } from 'kube-control-loop'
import { networkStatusOf, podAnnotations, requestedDefinitions } from './network-status.ts'

/** A Pod as it is kept: names, times and two annotations. */
export const Pod: Kind<unknown, unknown> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
export type Pod = KubeObject

const kept: readonly string[] = Object.values(podAnnotations)

export function prunePod({ apiVersion, kind, metadata }: Pod): Pod {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations = {} } = metadata
  const told = Object.entries(annotations).filter(([key]) => kept.includes(key))
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(told.length > 0 ? { annotations: Object.fromEntries(told) } : {}),
    },
    spec: undefined,
  }
}

/** Definitions that a Pod asks for or has, as `namespace/name`. */
export function definitionsOf(pod: Pod): readonly string[] {
  const status = networkStatusOf(pod)
  const attached = status.is === 'read' ? status.attached.map(({ name }) => name).filter((name) => name.includes('/')) : []
  return [...new Set([...requestedDefinitions(pod), ...attached])]
}

/**
 * For a cache of the Pods that may have an interface: one that has ended has none any more, and leaves the selection. Index
 * `definition`: those that ask for or have a definition, by its `namespace/name`.
 */
export const livePods: CacheOptions<unknown, unknown> = {
  fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  prune: prunePod,
  indexes: { definition: definitionsOf },
}
