/** Every condition of this package's kinds with its reasons. An unlisted reason does not compile. */
import { condition } from 'kube-control-loop'

export const networkConditions = {
  /** Attachments may be made on it. */
  Ready: condition('Ready', { True: ['BridgeNamed'], False: [], Unknown: [] }),
} as const

export const attachmentConditions = {
  /** A workload may start with it. */
  Ready: condition('Ready', {
    True: ['DefinitionReady'],
    False: [
      'AwaitingNetwork',
      'NetworkReplaced',
      'AddressOutsideNetwork',
      'GatewayOutsideNetwork',
      'DefinitionConflict',
      'AwaitingDefinitionRemoval',
      'DefinitionsNotInstalled',
      'DefinitionsForbidden',
      'Detaching',
    ],
    Unknown: [],
  }),
  /** A Pod has the interface, as Multus reports it. */
  Programmed: condition('Programmed', {
    True: ['Attached'],
    False: ['NotAttached', 'AddressesDiffer'],
    Unknown: ['ReportUnreadable', 'PodsForbidden'],
  }),
} as const

/** The conditions of each kind, for checks over all of them. */
export const conditionsByKind = { BridgeNetwork: networkConditions, BridgeAttachment: attachmentConditions } as const
