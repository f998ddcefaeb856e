/** What the API server enforces of the ownership table, and how to ask whether it does. */
import { apiVersionOf, type Kind, type KubeObject, type OwnershipEnforcement, type OwnershipProbe } from 'kube-control-loop'
import { bridgeAccount } from './account.ts'
import { BridgeAttachment, BridgeNetwork, labels, NetworkAttachmentDefinition, ownership } from './api/index.ts'

const { namespace } = bridgeAccount

/** Requesters are left to permissions. */
export const enforcement: OwnershipEnforcement = {
  app: 'bridge',
  namespace,
  table: ownership,
  identities: { bridge: [`system:serviceaccount:${namespace}:${bridgeAccount.name}`] },
}

const name = 'ownership-probe'
const probe = (kind: Kind, spec: object, marks: Record<string, string> = {}): OwnershipProbe => ({
  kind,
  object: { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace, labels: marks }, spec } as KubeObject,
})

/** The smallest valid object of each enforced kind; none is ever stored. */
export const ownershipProbes: readonly OwnershipProbe[] = [
  probe(BridgeNetwork, { ranges: ['fd20::/64'] }),
  probe(BridgeAttachment, { network: { name }, interface: {} }),
  probe(NetworkAttachmentDefinition, { config: '{}' }, { [labels.bridge]: name }),
]
