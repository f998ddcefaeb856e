/**
 * The one ClusterRole into which those of all data planes are gathered, watched: what tells that a permission was given or taken.
 * It only wakes; what NSO may do, a review alone says, since other bindings may grant as well. Others write the role: the
 * control plane's aggregation controller. Source: rbac.authorization.k8s.io/v1 ClusterRole.
 */
import { isDeepStrictEqual } from 'node:util'
import { nsoRole } from '@nso/api'
import type { Kind, KubeObject } from 'kube-control-loop'
import { type MakeFollowed, refusedRetryMs } from './definitions.ts'

export type GrantedRole = {
  /** Whether a change would be seen; not so while the role may not be read. */
  readonly isFollowed: boolean
  /** Calls back when its rules change. */
  onChange(handler: () => void): () => void
  /** Follows until aborted. */
  run(signal: AbortSignal): Promise<void>
}

const roleKind: Kind = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  scope: 'Cluster',
}

const rulesOf = (role: KubeObject | undefined): unknown => (role as { rules?: unknown } | undefined)?.rules ?? []

export function createGrantedRole({ createCache }: { createCache: MakeFollowed }): GrantedRole {
  const cache = createCache(roleKind, { fieldSelector: `metadata.name=${nsoRole}` }, { retryMs: refusedRetryMs })
  return {
    get isFollowed() {
      return cache.state === 'synced'
    },
    onChange: (handler) =>
      cache.subscribe(({ before, after, initial }) => {
        if (!initial && !isDeepStrictEqual(rulesOf(before), rulesOf(after))) handler()
      }),
    run: cache.run,
  }
}
