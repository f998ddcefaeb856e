/** What the API server enforces of Galactic's ownership table, and how to ask whether it does. */
import { apiVersionOf, type Kind, type KubeObject, type OwnershipEnforcement, type OwnershipProbe } from 'kube-control-loop'
import { galacticAccount } from './account.ts'
import { labels, NetworkAttachmentDefinition, ownership, VPC, VPCAttachment } from './api/index.ts'

/** Requesters, nodes and routers are left to permissions. */
export const enforcement: OwnershipEnforcement = {
  app: 'galactic',
  namespace: galacticAccount.namespace,
  table: ownership,
  identities: { galactic: [`system:serviceaccount:${galacticAccount.namespace}:${galacticAccount.name}`] },
}

const name = 'ownership-probe'

function probe(kind: Kind, spec: object, labels: Record<string, string> = {}): OwnershipProbe {
  const metadata = { name, namespace: galacticAccount.namespace, labels }
  return { kind, object: { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec } as KubeObject }
}

/** The smallest valid object of each enforced kind; none is ever stored. */
export const ownershipProbes: readonly OwnershipProbe[] = [
  probe(VPC, { networks: ['fd20::/64'] }),
  probe(VPCAttachment, { vpc: { name }, interface: {} }),
  probe(NetworkAttachmentDefinition, { config: '{}' }, { [labels.vpcAttachment]: name }),
]
