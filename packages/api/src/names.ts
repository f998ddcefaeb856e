/** Names that other programs read: finalizers, labels, annotations. They are part of the API. */

export const finalizers = {
  /** On a claim; removed by the claim controller only. */
  claim: 'networking.datumapis.com/networkinterfaceclaim-release',
  /** On an interface; removed by the interface controller only. */
  interface: 'networking.datumapis.com/networkinterface-release',
  /** On a context while an interface of its network stands; context-hold controller only. */
  contextInUse: 'networking.datumapis.com/networkcontext-in-use',
  /** On a context while its subnets stand, or an address service holds its range; network controllers only. */
  contextSubnet: 'networking.datumapis.com/networkcontext-subnet-release',
  /** On a network while its contexts stand; network controllers only. */
  network: 'networking.datumapis.com/network-controller',
  /** On a network whose prefix is held at an address service; network controllers only. */
  networkPrefix: 'networking.datumapis.com/network-prefix-release',
  /** On a data plane while it serves interfaces; data-plane controller only. */
  dataPlane: 'networking.datumapis.com/data-plane-in-use',
} as const

export const annotations = {
  /** On an interface: the claim whose name its allocations carry. */
  allocationClaim: 'networking.datumapis.com/allocation-claim',
  /** On an interface: uid of the claim in spec.claimRef, so that a claim made again under the name is told apart. */
  claimUid: 'networking.datumapis.com/claim-uid',
  /** On an interface: the chosen data plane, `<name>/<uid>` (see `dataPlaneChoice`). */
  dataPlane: 'networking.datumapis.com/data-plane',
} as const

export const labels = {
  network: 'networking.datumapis.com/network',
  networkUid: 'networking.datumapis.com/network-uid',
  location: 'networking.datumapis.com/location',
  /** On a ClusterRole: its rules are part of NSO's. */
  aggregateToNso: 'networking.datumapis.com/aggregate-to-nso',
  /** On a namespace or a context: the project it belongs to. */
  upstreamCluster: 'meta.datumapis.com/upstream-cluster-name',
  upstreamNamespace: 'meta.datumapis.com/upstream-namespace',
} as const

/** Labels of a claim that its interface repeats. */
export const propagatedLabelPrefix = 'compute.datumapis.com/'

/** The value of the `dataPlane` annotation. */
export function dataPlaneChoice(plane: { name: string; uid: string }): string {
  return `${plane.name}/${plane.uid}`
}

/** Reads the `dataPlane` annotation; undefined when it is absent or not of the form. */
export function parseDataPlaneChoice(text: string | undefined): { name: string; uid: string } | undefined {
  const [name, uid, ...rest] = text?.split('/') ?? []
  return name && uid && rest.length === 0 ? { name, uid } : undefined
}

/** Name of the presence of a network in a location. Names are not cut: over 253 characters the API server refuses. */
export function contextName(network: string, location: string): string {
  return `${network}-${location}`
}
