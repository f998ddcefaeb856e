/** For people: of each documented status path, when it changes and where it comes from. A path without both does not compile. */
import type { StatusTexts } from 'kube-control-loop'
import type { statusOwners } from './ownership.ts'

const observedGeneration = { when: 'with every report', source: 'metadata.generation, as it was seen' }

export const statusTexts = {
  network: {
    observedGeneration,
    bridge: { when: 'once, before any attachment is made on it; it stays', source: 'metadata.uid: a free name made from it' },
    'conditions/Ready': { when: 'when the device has its name, and while deletion waits', source: 'status.bridge' },
  },
  attachment: {
    observedGeneration,
    bridge: { when: 'once, when its definition is made; it stays', source: 'BridgeNetwork.status.bridge of spec.network' },
    networkAttachmentDefinition: {
      when: 'when the definition stands, and when it is gone',
      source: 'the NetworkAttachmentDefinition of the same name',
    },
    'conditions/Ready': {
      when: 'when the definition stands, or cannot be made',
      source: 'the BridgeNetwork and the NetworkAttachmentDefinition',
    },
    'conditions/Programmed': {
      when: 'when Multus writes or takes away its report on a Pod, and when that Pod ends',
      source: 'the annotation k8s.v1.cni.cncf.io/network-status of Pods',
    },
  },
} as const satisfies StatusTexts<typeof statusOwners>
