/** An IPClaim as NSO makes it, and what one that stands says of itself. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { annotations, type NetworkContext, NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import { apiVersionOf, type Key, type KubeObject, keyFor } from 'kube-control-loop'
import { IPClaim, type ScopeReference } from 'kube-ipam'
import { type Block, readAddress, readBlock } from '../cidr.ts'
import type { AddressRequest } from '../port.ts'
import { ipClaimName } from './names.ts'
import type { Project } from './project.ts'

/**
 * On each IPClaim: the namespace here of the claim that it was made for, which several clusters may share by name. The claim's
 * name and uid stand beside it, under the keys that interfaces use.
 */
const sourceNamespace = 'networking.datumapis.com/source-namespace'
const sourceNamespaceUid = 'networking.datumapis.com/source-namespace-uid'
/** The version at which it was last taken up by a claim that found it standing: moved, so that deletions decided before are refused. */
export const takenUpAt = 'networking.datumapis.com/taken-up-at'

export type Place = Pick<NetworkContext['spec'], 'network' | 'location'>

/** What an address is for: the same network and location, the same pool and uniqueness. */
export function scopeOf({ network, location }: Place): Record<'network' | 'location', ScopeReference> {
  const { group } = NetworkInterface
  return {
    network: { apiGroup: group, kind: 'Network', name: network.name },
    location: { apiGroup: group, kind: 'Location', name: location.name },
  }
}

export type Wish = {
  readonly claim: NetworkInterfaceClaim
  readonly place: Place
  readonly project: Project
  /** Of the claim's namespace. */
  readonly namespaceUid: string | undefined
}

export function ipClaimFor({ claim, place, project, namespaceUid }: Wish, request: AddressRequest): IPClaim {
  const { name, namespace, uid } = claim.metadata
  return {
    apiVersion: apiVersionOf(IPClaim),
    kind: IPClaim.kind,
    metadata: {
      name: ipClaimName(name, request),
      namespace: project.namespace,
      annotations: {
        [annotations.allocationClaim]: name,
        ...(uid === undefined ? {} : { [annotations.claimUid]: uid }),
        ...(namespace === undefined ? {} : { [sourceNamespace]: namespace }),
        ...(namespaceUid === undefined ? {} : { [sourceNamespaceUid]: namespaceUid }),
      },
    },
    spec: {
      ...(request.class === undefined ? { ipFamily: request.family } : { className: request.class }),
      reclaimPolicy: claim.spec.reclaimPolicy ?? 'Delete',
      scope: scopeOf(place),
    },
  }
}

/** For which claim an IPClaim was made. One of earlier software does not say. */
export type Source = {
  readonly namespace: string
  readonly namespaceUid: string | undefined
  readonly claim: string
  readonly uid: string
}

export function sourceOf({ metadata }: Pick<IPClaim, 'metadata'>): Source | undefined {
  const written = metadata.annotations ?? {}
  const namespace = written[sourceNamespace]
  const claim = written[annotations.allocationClaim]
  if (!namespace || !claim) return undefined
  return { namespace, namespaceUid: written[sourceNamespaceUid], claim, uid: written[annotations.claimUid] ?? '' }
}

function sourceKeyOf(ipClaim: Pick<IPClaim, 'metadata'>): Key | undefined {
  const source = sourceOf(ipClaim)
  return source && keyFor(source.claim, source.namespace)
}

/** The block that it holds; undefined while it holds none, or says what is none: an address inside of a block is no block. */
export function blockOf({ status }: IPClaim): Block | undefined {
  const text = status?.allocatedCIDR ?? ''
  const block = readBlock(text)
  return block && readAddress(text)?.address === block.start ? block : undefined
}

/** Whether it is for this place. */
export function isScoped({ spec }: Pick<IPClaim, 'spec'>, place: Place): boolean {
  const wanted = scopeOf(place)
  return (['network', 'location'] as const).every((role) => spec.scope?.[role]?.name === wanted[role].name)
}

/** Index of the cache of IPClaims: by the claim that each was made for. */
export const ipClaimIndexes = {
  source: (ipClaim: IPClaim) => [sourceKeyOf(ipClaim) ?? []].flat(),
} as const

/** Whether two versions of one IPClaim are the same to whoever judges them: conditions and others' notes may differ. */
export function isSameToJudge(one: IPClaim, other: IPClaim): boolean {
  const judged = (each: IPClaim) => {
    const { metadata, spec, status } = pruned(each)
    return [metadata.uid, metadata.annotations, spec, status?.allocatedCIDR]
  }
  return isDeepStrictEqual(judged(one), judged(other))
}

/** What is kept of each: a service may have very many. */
export function pruned(ipClaim: IPClaim): IPClaim {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers, annotations: written } = ipClaim.metadata
  const kept = [annotations.allocationClaim, annotations.claimUid, sourceNamespace, sourceNamespaceUid, takenUpAt]
  const { conditions: _, ...status } = ipClaim.status ?? {}
  return {
    ...ipClaim,
    metadata: {
      ...defined({ name, namespace, uid, resourceVersion, deletionTimestamp, finalizers }),
      annotations: Object.fromEntries(kept.flatMap((key) => (written?.[key] === undefined ? [] : [[key, written[key]]]))),
    },
    ...(ipClaim.status ? { status } : {}),
  }
}

function defined(
  metadata: { [K in keyof KubeObject['metadata']]: KubeObject['metadata'][K] | undefined },
): KubeObject['metadata'] {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined)) as KubeObject['metadata']
}
