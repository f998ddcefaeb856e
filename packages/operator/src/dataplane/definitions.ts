/**
 * Definitions of kinds, watched: what tells that a missing kind may be served by now, so that nobody has to ask again and again.
 * They only wake; whether a kind is served, discovery alone says. Source: apiextensions.k8s.io/v1 CustomResourceDefinition.
 */
import type { CacheOptions, FollowedCache, Kind, KubeObject, ReflectorOptions } from 'kube-control-loop'
import type { KindRef } from './types.ts'

/** Makes a cache that the caller runs and stops. */
export type MakeFollowed = <S, T>(
  kind: Kind<S, T>,
  options?: CacheOptions<S, T>,
  reflector?: ReflectorOptions,
) => FollowedCache<S, T>

export type DefinitionState =
  /** Definitions are not followed now, or may not be read: nothing is known. */
  | 'unknown'
  /** No definition has the group: the kind is missing, or is served by an aggregated API server, which has no definition. */
  | 'no-group'
  /** Others have the group, none the kind in this version, or the one that does is not established. */
  | 'missing'
  /** Established, with the version served. */
  | 'established'

export type Definitions = {
  stateOf(ref: KindRef): DefinitionState
  /** Calls back when a definition of the kind's group moves in what matters for serving, or following begins or ends. */
  subscribe(ref: KindRef, handler: () => void): () => void
  /** Calls back when a definition of the kind's group changes in whatever its spec holds, its schemas too, or following begins or ends. */
  onDefinition(ref: KindRef, handler: () => void): () => void
  /** Whether a definition of the kind stands, in whatever version, served or not: then objects of it may. Undefined: not known. */
  stands(ref: KindRef): boolean | undefined
  /** Whether nothing speaks against a kind as it was found: a definition made anew may have another plural, or another scope. */
  fits(kind: Pick<Kind, 'group' | 'kind' | 'plural'>): boolean
  /** Tries to follow at once instead of after the present delay: the permission may be there now. */
  poke(): void
  /** Follows until aborted. */
  run(signal: AbortSignal): Promise<void>
}

/** What is kept of a definition: all the others' schemas would take megabytes. */
export type DefinitionSpec = {
  group: string
  scope: string
  names: { kind: string; plural: string }
  versions: readonly { name: string; served: boolean }[]
}
export type DefinitionStatus = { conditions?: readonly { type: string; status: string }[] }
type Definition = KubeObject<DefinitionSpec, DefinitionStatus>

const definitionKind: Kind<DefinitionSpec, DefinitionStatus> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
}

/** First and longest delay in ms after a failure: a role of an earlier NSO lets no definition be read, perhaps for good. */
export const refusedRetryMs = [200, 60_000] as const

export function createDefinitions({ createCache }: { createCache: MakeFollowed }): Definitions {
  const cache = createCache(
    definitionKind,
    { prune: pruned, indexes: { group: ({ spec }) => [spec.group] } },
    { retryMs: refusedRetryMs },
  )
  const watched = ({ apiVersion }: KindRef, what: (one: Definition | undefined) => string, handler: () => void) => {
    const [group] = apiVersion.split('/')
    const concerns = (one: Definition | undefined) => one?.spec.group === group
    const undo = [
      cache.subscribe(({ before, after }) => {
        if ((concerns(before) || concerns(after)) && what(before) !== what(after)) handler()
      }),
      cache.onState(handler),
    ]
    return () => {
      for (const each of undo) each()
    }
  }
  return {
    stateOf({ apiVersion, kind }) {
      if (cache.state !== 'synced') return 'unknown'
      const [group = '', version = ''] = apiVersion.split('/')
      const ofGroup = cache.by('group', group)
      if (ofGroup.length === 0) return 'no-group'
      return ofGroup.some((one) => one.spec.names.kind === kind && serves(one, version)) ? 'established' : 'missing'
    },
    stands({ apiVersion, kind }) {
      if (cache.state !== 'synced') return undefined
      return cache.by('group', apiVersion.split('/')[0] ?? '').some((one) => one.spec.names.kind === kind)
    },
    fits({ group, kind, plural }) {
      if (cache.state !== 'synced') return true
      const named = cache.by('group', group).filter(({ spec }) => spec.names.kind === kind)
      return named.length === 0 || named.some(({ spec }) => spec.names.plural === plural && spec.scope === 'Namespaced')
    },
    subscribe: (ref, handler) => watched(ref, essence, handler),
    onDefinition: (ref, handler) => watched(ref, (one) => `${one?.metadata.generation} ${essence(one)}`, handler),
    poke() {
      if (cache.state !== 'synced') cache.poke()
    },
    run: cache.run,
  }
}

const serves = ({ spec, status }: Definition, version: string): boolean =>
  spec.versions.some(({ name, served }) => served && name === version) &&
  status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true

const essence = (one: Definition | undefined): string => JSON.stringify([one?.metadata.uid, one?.spec, one?.status])

export function pruned({ apiVersion, kind, metadata, spec, status }: Definition): Definition {
  const { name, uid, generation, resourceVersion, deletionTimestamp } = metadata
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: {
      group: spec.group,
      scope: spec.scope,
      names: { kind: spec.names.kind, plural: spec.names.plural },
      versions: spec.versions.map(({ name: version, served }) => ({ name: version, served })),
    },
    status: {
      conditions: (status?.conditions ?? [])
        .filter(({ type }) => type === 'Established')
        .map(({ type, status: is }) => ({ type, status: is })),
    },
  }
}
