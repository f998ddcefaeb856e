/** What is kept in memory: four kinds, and the indexes by which one object's change finds the others it concerns. */
import { type Cache, type CacheOptions, type Kind, keyFor } from 'kube-control-loop'
import { livePods, Pod } from 'kube-multus'
import { BridgeAttachment, BridgeNetwork, NetworkAttachmentDefinition } from './api/index.ts'

type Followed<K> = K extends Kind<infer S, infer T> ? Cache<S, T> : never

export type Caches = {
  /** Index `bridge`: by the device in its status. */
  readonly networks: Followed<typeof BridgeNetwork>
  /** Indexes `network`: by key of the BridgeNetwork named; `bridge`: by the device in its status. */
  readonly attachments: Followed<typeof BridgeAttachment>
  readonly definitions: Followed<typeof NetworkAttachmentDefinition>
  /** Index `definition`: Pods that ask for it or have it, by its key. */
  readonly pods: Followed<typeof Pod>
}

const bridge = ({ status }: { status?: { bridge?: string | undefined } | undefined }) => (status?.bridge ? [status.bridge] : [])

/** Index functions look at objects that anyone may have made: they take nothing for granted and never throw. */
export function createCaches(make: <S, T>(kind: Kind<S, T>, options: CacheOptions<S, T>) => Cache<S, T>): Caches {
  return {
    networks: make(BridgeNetwork, { indexes: { bridge } }),
    attachments: make(BridgeAttachment, {
      indexes: {
        bridge,
        network: ({ metadata, spec }) => (spec?.network?.name ? [keyFor(spec.network.name, metadata.namespace)] : []),
      },
    }),
    definitions: make(NetworkAttachmentDefinition, {}),
    pods: make(Pod, livePods),
  }
}
