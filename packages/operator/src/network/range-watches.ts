/** What wakes objects whose ranges an address service holds. */
import { labels } from '@nso/api'
import { type Cache, type Change, type Key, type KubeObject, keyOf, splitKey, type Watch, watch } from 'kube-control-loop'
import { type RangeService, uidIn } from './range-claim.ts'

/**
 * `owners` has the indexes `uid`, `namespace` and `going`. A claim that goes may have been the last one in a range that could
 * not be given back.
 */
export function rangeWatches<S, T>(service: RangeService, owners: Cache<S, T>, of: 'network' | 'context'): Watch[] {
  const keys = (objects: readonly KubeObject[]): Key[] => objects.map(keyOf)
  return [
    watch(service.claims, ({ key, after }) => {
      const uid = uidIn(splitKey(key).name, of)
      return [...(after ? [] : keys(owners.by('going', ''))), ...(uid === undefined ? [] : keys(owners.by('uid', uid)))]
    }),
    watch(service.namespaces, (change) => (isAnother(change) ? keys(owners.by('namespace', change.key)) : [])),
  ]
}

/** Whether the namespace is of another project than before. */
function isAnother({ before, after }: Change<KubeObject>): boolean {
  return [labels.upstreamCluster, labels.upstreamNamespace].some(
    (key) => before?.metadata.labels?.[key] !== after?.metadata.labels?.[key],
  )
}
