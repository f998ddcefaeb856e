/** The sample network and claims that `nso start` brings to Ready: the three shapes a workload may ask for. */
import { Network, NetworkInterfaceClaim, ServingLocation } from '@nso/api'
import { apiVersionOf, type KubeObject } from 'kube-control-loop'

export const sampleNamespace = 'nso-demo'
export const sampleNetwork = 'default'
export const sampleLocation = 'local-1'

/** On everything that `nso start` makes for its samples: it removes nothing that lacks it. */
export const sampleLabels = { 'app.kubernetes.io/managed-by': 'nso-cli' } as const

export function isSample({ metadata }: KubeObject): boolean {
  return Object.entries(sampleLabels).every(([name, value]) => metadata.labels?.[name] === value)
}

const shapes = [
  { prefix: 'web', spec: { ipFamilies: ['IPv6'] } },
  { prefix: 'db', spec: { ipFamilies: ['IPv6', 'IPv4'] } },
  { prefix: 'vm', spec: { ipFamilies: ['IPv6'], attachmentMode: 'Hypervisor' } },
] as const

export function servingLocation(): KubeObject {
  return {
    apiVersion: apiVersionOf(ServingLocation),
    kind: ServingLocation.kind,
    metadata: { name: sampleLocation, labels: sampleLabels },
    spec: { topology: { 'topology.datum.net/city-code': 'DLS' } },
  }
}

export function network(): KubeObject {
  return {
    apiVersion: apiVersionOf(Network),
    kind: Network.kind,
    metadata: { name: sampleNetwork, namespace: sampleNamespace, labels: sampleLabels },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460 },
  }
}

/** `count` claims as a user would write them (the CRD fills in the defaults), the shapes in turn: IPv6, dual stack, Hypervisor mode. */
export function claims(count: number, namespace = sampleNamespace): KubeObject[] {
  return Array.from({ length: count }, (_, index) => {
    const shape = shapes[index % shapes.length] ?? shapes[0]
    return {
      apiVersion: apiVersionOf(NetworkInterfaceClaim),
      kind: NetworkInterfaceClaim.kind,
      metadata: { name: `${shape.prefix}-${Math.floor(index / shapes.length)}`, namespace, labels: sampleLabels },
      spec: { network: { name: sampleNetwork }, ...shape.spec },
    }
  })
}
