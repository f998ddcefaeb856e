/** For people: of each documented status path, when it changes and where it comes from. A path without both does not compile. */
import type { StatusTexts } from 'kube-control-loop'
import type { statusOwners } from './status-owners.ts'

const allocated = 'what holds the addresses of the interface: AddressLeases, or IPClaims at an address service'
const ofAttachment = 'the attachment, the object that the DataPlane’s templates make for the interface'
const prepared =
  'the attachment: its condition that DataPlane.spec.report.prepared names (VPCAttachment.status.conditions[Ready] with Galactic), translated'
const programmed =
  'the attachment: its condition that DataPlane.spec.report.programmed names (VPCAttachment.status.conditions[Programmed] with Galactic), translated'
const onReport = 'when the data plane’s report on the attachment changes, or becomes out of date'
const onHolding = 'when the addresses are allocated, and when what holds one is lost or taken'
const sourcesWhen = 'together with the condition of that type; absent where no report was read'
const sourcesSource = 'the attachment and its managedFields, as they stood when the condition was translated'

export const statusTexts = {
  claim: {
    networkInterfaceRef: { when: 'when the claim is bound, and when it loses its interface', source: 'the binding of the claim' },
    addresses: {
      when: 'when the claim is bound, and when the gateway of a subnet changes',
      source: 'NetworkInterface.spec.addresses, as far as they are held',
    },
    externalAddresses: {
      when: 'when the claim is bound',
      source: 'NetworkInterface.spec.externalAddresses, as far as they are held',
    },
    conditionSources: { when: sourcesWhen, source: sourcesSource },
    'conditions/Bound': {
      when: 'when the claim is bound, turned away, or loses its interface',
      source: 'the binding of the claim',
    },
    'conditions/Allocated': { when: onHolding, source: allocated },
    'conditions/Prepared': { when: onReport, source: prepared },
    'conditions/Programmed': { when: onReport, source: programmed },
    'conditions/Ready': {
      when: 'when one of Bound, Allocated, Prepared and Programmed changes, or the claim is turned away',
      source: 'the four conditions beside it: the first that does not hold is named',
    },
  },
  interface: {
    phase: {
      when: 'when a claim takes the interface or lets go of it',
      source: 'spec.claimRef; Available once the attachment is gone',
    },
    networkContextRef: { when: 'when the location is known', source: 'spec.network and the location that is served' },
    attachmentRef: { when: 'when the attachment stands, and when it goes', source: ofAttachment },
    vpc: {
      when: 'when the data plane reports its identifier of the network',
      source: 'the attachment, by DataPlane.spec.report.vpc (VPCAttachment.status.vpc with Galactic)',
    },
    conditionSources: { when: sourcesWhen, source: sourcesSource },
    'conditions/Allocated': { when: onHolding, source: allocated },
    'conditions/Prepared': { when: onReport, source: prepared },
    'conditions/Programmed': { when: onReport, source: programmed },
  },
  interfaceHolder: {
    'conditions/HolderAvailable': {
      when: 'when the workload that holds the interface comes or goes',
      source: 'the system that runs the workload',
    },
  },
  network: {
    ipam: {
      when: 'when the network gets its prefix; it stays',
      source: 'spec.ipam, else a free /48 of fd20::/20; or the answer of an address service (its IPClaim)',
    },
    'conditions/IPAMAllocated': {
      when: 'when the ranges are held, or cannot be',
      source: 'spec.ipam and the other networks, or the answer of an address service',
    },
    'conditions/Ready': { when: 'together with IPAMAllocated', source: 'IPAMAllocated, and the names of the contexts' },
  },
  networkContext: {
    ipam: {
      when: 'when the context gets its IPv6 subnet',
      source: 'the Subnets of the context, and the answer of an address service (its IPClaim)',
    },
    'conditions/IPAMAllocated': {
      when: 'when a family gets its subnet, or cannot',
      source: 'the Subnets of the context and the ranges of its network, or the answer of an address service',
    },
    'conditions/Ready': { when: 'together with IPAMAllocated', source: 'IPAMAllocated' },
  },
  subnet: {
    startAddress: { when: 'when the range is held', source: 'spec.startAddress' },
    prefixLength: { when: 'when the range is held', source: 'spec.prefixLength' },
    'conditions/Allocated': { when: 'when the range is held, or cannot be read', source: 'the range in spec' },
    'conditions/Ready': {
      when: 'when Allocated or Programmed changes',
      source: 'Allocated, and Programmed if a router wrote it',
    },
  },
  dataPlane: {
    'conditions/Accepted': { when: 'when a DataPlane is written', source: 'spec, and the other DataPlanes of its locations' },
    'conditions/Installed': { when: 'when the kinds of the templates come or go', source: 'what the API server says it serves' },
    'conditions/Permitted': {
      when: 'when NSO’s role changes, and when a write is refused',
      source: 'the API server’s answers to SelfSubjectAccessReview',
    },
  },
} as const satisfies StatusTexts<typeof statusOwners>
