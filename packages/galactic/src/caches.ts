/** What Galactic keeps in memory: five kinds, and the indexes by which one object's change finds the others it concerns. */
import type { Cache, CacheOptions, Kind, KubeObject } from 'kube-control-loop'
import { BGPAdvertisement, BGPRouter, labels, NetworkAttachmentDefinition, VPC, VPCAttachment } from './api/index.ts'
import { advertisementNames, type Identity, identityKey } from './identifiers/identity.ts'

type CacheOf<K> = K extends Kind<infer S, infer T> ? Cache<S, T> : never

export type Caches = {
  readonly vpcs: CacheOf<typeof VPC>
  readonly attachments: CacheOf<typeof VPCAttachment>
  readonly definitions: CacheOf<typeof NetworkAttachmentDefinition>
  /** Of the system namespace only: an advertisement made elsewhere is nobody's report. */
  readonly advertisements: CacheOf<typeof BGPAdvertisement>
  readonly routers: CacheOf<typeof BGPRouter>
}

export type MakeCache = <S, T>(kind: Kind<S, T>, options: CacheOptions<S, T>) => Cache<S, T>

/** The identity that stands in an attachment's status; never changes once both parts are there. */
export function recordedIdentity(attachment: { status?: { vpc?: string; vpcAttachment?: string } }): Identity | undefined {
  const { vpc, vpcAttachment } = attachment.status ?? {}
  return vpc && vpcAttachment ? { vpc, attachment: vpcAttachment } : undefined
}

/** The identity that a definition's labels record. */
export function labelledIdentity({ metadata }: Pick<KubeObject, 'metadata'>): Identity | undefined {
  const { [labels.vpc]: vpc, [labels.vpcAttachment]: attachment } = metadata.labels ?? {}
  return vpc && attachment ? { vpc, attachment } : undefined
}

const listed = <T>(value: T | undefined): readonly T[] => (value === undefined ? [] : [value])

/** Index functions look at objects that anyone may have made: they take nothing for granted and never throw. */
export function createCaches(make: MakeCache, systemNamespace: string): Caches {
  return {
    vpcs: make(VPC, { indexes: { id: (vpc) => listed(vpc.status?.vpc) } }),
    attachments: make(VPCAttachment, {
      indexes: {
        vpc: ({ metadata, spec }) => listed(spec?.vpc?.name).map((name) => `${metadata.namespace}/${name}`),
        identity: (attachment) => listed(recordedIdentity(attachment)).map(identityKey),
        advertisement: (attachment) => listed(recordedIdentity(attachment)).flatMap(advertisementNames),
      },
    }),
    definitions: make(NetworkAttachmentDefinition, {
      indexes: {
        vpcId: ({ metadata }) => listed(metadata.labels?.[labels.vpc]),
        identity: (definition) => listed(labelledIdentity(definition)).map(identityKey),
        advertisement: (definition) => listed(labelledIdentity(definition)).flatMap(advertisementNames),
      },
    }),
    advertisements: make(BGPAdvertisement, {
      namespace: systemNamespace,
      indexes: { router: ({ spec }) => listed(spec?.routerRef?.name) },
    }),
    routers: make(BGPRouter, { namespace: systemNamespace }),
  }
}
