/** The recorder over all kinds that Galactic serves, writes or reads. */
import { recordingOf } from 'kube-multus/testing/planes'
import {
  BGPAdvertisement,
  BGPRouter,
  conditionsByKind,
  NetworkAttachmentDefinition,
  ownership,
  VPC,
  VPCAttachment,
} from '../../src/api/index.ts'
import { galacticAccount } from '../../src/manifests.ts'
import { standInNodeAccount } from '../../testing/stand-in-node/index.ts'

const user = ({ namespace, name }: { namespace: string; name: string }) => `system:serviceaccount:${namespace}:${name}`
const node = [user(standInNodeAccount), '*']

export const recording = recordingOf({
  kinds: [VPC, VPCAttachment, NetworkAttachmentDefinition, BGPAdvertisement, BGPRouter],
  table: ownership,
  conditions: conditionsByKind,
  // Whoever is none of these may ask for attachments, and play the node and its router.
  identities: { galactic: [user(galacticAccount)], node, router: node },
  also: { BGPRouter: [{ path: 'spec', identity: 'node' }] },
})
