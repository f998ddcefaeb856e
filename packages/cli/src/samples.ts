/** The sample networks and claims that `nso start` brings to Ready: the shapes a workload may ask for. */
import { Network, NetworkInterfaceClaim, ServingLocation, Subnet } from '@nso/api'
import { apiVersionOf, type KubeObject } from 'kube-control-loop'
import type { ClaimShape } from './planes/data-plane.ts'

export const sampleNamespace = 'nso-demo'
export const sampleNetwork = 'default'
export const sampleLocation = 'local-1'

/** On everything that `nso start` makes for its samples: it removes nothing that lacks it. */
export const sampleLabels = { 'app.kubernetes.io/managed-by': 'nso-cli' } as const

export function isSample({ metadata }: KubeObject): boolean {
  return Object.entries(sampleLabels).every(([name, value]) => metadata.labels?.[name] === value)
}

export function servingLocation(): KubeObject {
  return {
    apiVersion: apiVersionOf(ServingLocation),
    kind: ServingLocation.kind,
    metadata: { name: sampleLocation, labels: sampleLabels },
    spec: { topology: { 'topology.datum.net/city-code': 'DLS' } },
  }
}

export function network(name: string): KubeObject {
  return {
    apiVersion: apiVersionOf(Network),
    kind: Network.kind,
    metadata: { name, namespace: sampleNamespace, labels: sampleLabels },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460 },
  }
}

/** An address service gives single IPv4 addresses; the range that they are of, with its gateway, is said by hand. */
export function ipv4Subnet(context: string, location: string): KubeObject {
  return {
    apiVersion: apiVersionOf(Subnet),
    kind: Subnet.kind,
    metadata: { name: `${context}-ipv4`, namespace: sampleNamespace, labels: sampleLabels },
    spec: {
      ...{ subnetClass: 'private', networkContext: { name: context }, location: { name: location } },
      ...{ ipFamily: 'IPv4', startAddress: '10.128.0.0', prefixLength: 16 },
    },
  }
}

/** `count` claims as a user would write them (the CRD fills in the defaults), the shapes in turn. */
export function claims(shapes: readonly ClaimShape[], count: number): KubeObject[] {
  return Array.from({ length: count }, (_, index) => {
    const shape = shapes[index % shapes.length]
    const name = `${shape?.prefix}-${Math.floor(index / shapes.length)}`
    return {
      apiVersion: apiVersionOf(NetworkInterfaceClaim),
      kind: NetworkInterfaceClaim.kind,
      metadata: { name, namespace: sampleNamespace, labels: sampleLabels },
      spec: { network: { name: shape?.network }, ...shape?.spec },
    }
  })
}
