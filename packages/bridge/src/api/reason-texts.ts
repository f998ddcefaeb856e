/** For people on call: what each reason means and what to do about it. A reason without both does not compile. */
import type { ReasonTexts } from 'kube-control-loop'
import type { conditionsByKind } from './conditions.ts'

const nothing = 'Nothing.'

export const reasonTexts = {
  BridgeNetwork: {
    Ready: {
      True: { BridgeNamed: { means: 'The network has the name of its bridge device.', remedy: nothing } },
      False: {},
      Unknown: {},
    },
  },
  BridgeAttachment: {
    Ready: {
      True: { DefinitionReady: { means: 'The definition stands: a workload may start.', remedy: nothing } },
      False: {
        AwaitingNetwork: {
          means: 'The BridgeNetwork of spec.network does not exist, is being deleted, or has no device name yet.',
          remedy: 'Make the BridgeNetwork. A name is given in milliseconds; if it stays away, see the logs of the controller.',
        },
        NetworkReplaced: {
          means: 'The BridgeNetwork was deleted and made again. The attachment keeps the bridge that it had.',
          remedy: 'Delete the attachment and let it be made again.',
        },
        AddressOutsideNetwork: {
          means: 'An address is in none of the ranges of the BridgeNetwork: its workload would reach nobody.',
          remedy: 'Add the range to spec.ranges of the BridgeNetwork, or correct the address.',
        },
        GatewayOutsideNetwork: {
          means: 'The node is to have a gateway address that is not in the range of the address it belongs to.',
          remedy: 'Correct spec.interface.gateways, or use a network without hostGateway.',
        },
        DefinitionConflict: {
          means: 'A NetworkAttachmentDefinition of this name belongs to somebody else. It is not touched.',
          remedy: 'Delete or rename that definition.',
        },
        AwaitingDefinitionRemoval: {
          means: 'An earlier definition of this name is being deleted.',
          remedy: 'See which finalizers hold it: metadata.finalizers of the definition.',
        },
        DefinitionsNotInstalled: {
          means: 'The API server serves no NetworkAttachmentDefinitions.',
          remedy: 'Install Multus, which brings their CRD; attachments go on by themselves.',
        },
        DefinitionsForbidden: {
          means: 'The API server refuses the controller a verb on NetworkAttachmentDefinitions. The message names it.',
          remedy: 'Install the ClusterRole `bridge` again (config/bridge/rbac); attachments go on within half a minute.',
        },
        Detaching: {
          means: 'The attachment is being deleted and waits until no Pod uses it, for a limited time.',
          remedy: 'Delete the Pod in the message. After the grace the attachment goes all the same.',
        },
      },
      Unknown: {},
    },
    Programmed: {
      True: { Attached: { means: 'Multus reports the interface on a Pod, with all its addresses.', remedy: nothing } },
      False: {
        NotAttached: {
          means: 'No Pod has the interface.',
          remedy: 'Normal before the Pod starts and after it ends. Else see its events: Multus tells there what failed.',
        },
        AddressesDiffer: {
          means: 'A Pod has the interface with other addresses than were asked for.',
          remedy: 'Start the Pod again, so that it is attached by the definition as it is now.',
        },
      },
      Unknown: {
        ReportUnreadable: {
          means: 'A Pod asks for the interface, and what Multus wrote on it cannot be read.',
          remedy: 'Look at the annotation k8s.v1.cni.cncf.io/network-status of the Pod in the message.',
        },
        PodsForbidden: {
          means: 'The API server refuses the controller to read Pods.',
          remedy: 'Install the ClusterRole `bridge` again (config/bridge/rbac); the report goes on within seconds.',
        },
      },
    },
  },
} as const satisfies ReasonTexts<typeof conditionsByKind>
