/** Builders of stored objects for tests: each takes what the sentence under test is about, and fills in the rest. */
import {
  annotations,
  finalizers,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  type Subnet,
} from '@nso/api'
import type { ObjectMeta } from 'kube-control-loop'

const apiVersion = 'networking.datumapis.com/v1alpha'
const namespace = 'default'

function meta(name: string, given: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name, namespace, uid: `${name}-uid`, resourceVersion: '1', generation: 1, ...given }
}

export function aClaim(
  given: {
    metadata?: Partial<ObjectMeta>
    spec?: Partial<NetworkInterfaceClaim['spec']>
    status?: NetworkInterfaceClaim['status']
  } = {},
): NetworkInterfaceClaim {
  return {
    apiVersion,
    kind: 'NetworkInterfaceClaim',
    metadata: meta('web-0', { finalizers: [finalizers.claim], ...given.metadata }),
    spec: {
      network: { name: 'net' },
      interfaceName: 'eth0',
      attachmentMode: 'Netns',
      ipFamilies: ['IPv6'],
      reclaimPolicy: 'Delete',
      ...given.spec,
    },
    ...(given.status ? { status: given.status } : {}),
  }
}

export function anInterface(
  given: { metadata?: Partial<ObjectMeta>; spec?: Partial<NetworkInterface['spec']>; status?: NetworkInterface['status'] } = {},
): NetworkInterface {
  return {
    apiVersion,
    kind: 'NetworkInterface',
    metadata: meta('web-0', {
      uid: 'nic-uid',
      finalizers: [finalizers.interface],
      labels: { [labels.location]: 'here' },
      annotations: { [annotations.allocationClaim]: 'web-0', [annotations.claimUid]: 'web-0-uid' },
      ...given.metadata,
    }),
    spec: {
      network: { name: 'net' },
      claimRef: { name: 'web-0' },
      interfaceName: 'eth0',
      attachmentMode: 'Netns',
      mtu: 1460,
      addresses: [{ family: 'IPv6', address: 'fd20:0:0:1::1:0:0/96', gateway: 'fd20:0:0:1::1', primary: true }],
      reclaimPolicy: 'Delete',
      ...given.spec,
    },
    ...(given.status ? { status: given.status } : {}),
  }
}

/** Retained and released: no claim holds it. */
export function aFreeInterface(
  given: { spec?: Partial<NetworkInterface['spec']>; phase?: 'Available' | 'Bound' } = {},
): NetworkInterface {
  const nic = anInterface({
    metadata: { annotations: { [annotations.allocationClaim]: 'web-0' } },
    spec: { reclaimPolicy: 'Retain', ...given.spec },
    status: { phase: given.phase ?? 'Available' },
  })
  const { claimRef: _, ...spec } = nic.spec
  return { ...nic, spec }
}

export function aContext(given: { metadata?: Partial<ObjectMeta>; spec?: Partial<NetworkContext['spec']> } = {}): NetworkContext {
  return {
    apiVersion,
    kind: 'NetworkContext',
    metadata: meta('net-here', given.metadata),
    spec: { network: { name: 'net' }, location: { name: 'here' }, ipFamilies: ['IPv6'], mtu: 1460, ...given.spec },
  }
}

export function aSubnet(given: { metadata?: Partial<ObjectMeta>; spec?: Partial<Subnet['spec']> } = {}): Subnet {
  return {
    apiVersion,
    kind: 'Subnet',
    metadata: meta('net-here-ipv6', given.metadata),
    spec: {
      subnetClass: 'private',
      networkContext: { name: 'net-here' },
      location: { name: 'here' },
      ipFamily: 'IPv6',
      startAddress: 'fd20:0:0:1::',
      prefixLength: 64,
      ...given.spec,
    },
  }
}
