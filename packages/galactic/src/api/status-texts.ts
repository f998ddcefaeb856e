/** For people: of each documented status path, when it changes and where it comes from. A path without both does not compile. */
import type { StatusTexts } from 'kube-control-loop'
import type { routerOwners, statusOwners } from './ownership.ts'

const generation = { when: 'with every report', source: 'metadata.generation, as it was seen' }
const onIdentity = 'once, when the attachment gets its identity; it stays'
const onAdvertisement = 'when a router begins or ends to report on the advertisement'
const router = { when: 'as the router goes on', source: 'the router' }

export const statusTexts = {
  vpc: {
    observedGeneration: generation,
    vpc: { when: 'once, when the network gets its identifier; it stays', source: 'a free random identifier' },
    'conditions/Ready': { when: 'when the identifier is allocated', source: 'status.vpc' },
  },
  attachment: {
    observedGeneration: generation,
    vpc: { when: onIdentity, source: 'VPC.status.vpc of spec.vpc' },
    vpcAttachment: { when: onIdentity, source: 'the label of the NetworkAttachmentDefinition, which is the record' },
    networkAttachmentDefinition: {
      when: 'when the definition stands, and when it is gone',
      source: 'the NetworkAttachmentDefinition of the same name',
    },
    node: { when: onAdvertisement, source: 'BGPAdvertisement.spec.routerRef, by the BGPRouter’s node' },
    hostInterface: { when: onAdvertisement, source: 'both identifiers' },
    vrfInterface: { when: onAdvertisement, source: 'the identifier of the VPC' },
    podSubnet: { when: onAdvertisement, source: 'the BGPAdvertisement’s annotations, written by the node’s CNI plugin' },
    'conditions/Ready': {
      when: 'when the definition stands, or cannot be made',
      source: 'the VPC and the NetworkAttachmentDefinition',
    },
    'conditions/Programmed': { when: onAdvertisement, source: 'BGPAdvertisement.status.conditions[Advertised], repeated' },
  },
  advertisement: {
    observedGeneration: router,
    advertisedPrefixes: router,
    'conditions/*': router,
  },
  router: { observedGeneration: router, phase: router, peers: router, roles: router, 'conditions/*': router },
} as const satisfies StatusTexts<typeof statusOwners & typeof routerOwners>
