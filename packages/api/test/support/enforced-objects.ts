/** Two valid versions of an object of each kind, which differ on every enforced path. */
import {
  AddressLease,
  annotations,
  DataPlane,
  finalizers,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ownership,
  Subnet,
} from '@nso/api'
import { apiVersionOf, type Kind, type KubeObject } from 'kube-control-loop'

export type Versions = { kind: Kind; before: KubeObject; after: KubeObject }

/** All documented conditions of a kind in one state. */
function conditionsOf(kind: Kind, status: 'True' | 'False') {
  const row = ownership.find((each) => each.kind.plural === kind.plural)
  const owned = row?.status.flatMap(({ owns }) => owns) ?? []
  return [...owned, ...(row?.reserved ?? []).map(({ path }) => path)]
    .filter((path) => path.startsWith('conditions/'))
    .map((path) => ({
      type: path.slice('conditions/'.length),
      ...{ status, reason: `Is${status}`, message: `it is ${status}`, lastTransitionTime: '2026-08-21T10:00:00Z' },
    }))
}

const source = (name: string) => [
  {
    ...{ type: 'Prepared', dataPlane: 'galactic', generation: 1, condition: 'Ready' },
    object: { apiVersion: 'cloud.datumapis.com/v1alpha1', kind: 'VPCAttachment', name, uid: name },
  },
]

type Parts = { metadata?: object; spec: object; status?: object }

function versions(kind: Kind, before: Parts, after: Parts): Versions {
  const object = ({ metadata, spec, status }: Parts, is: 'True' | 'False') => ({
    ...{ apiVersion: apiVersionOf(kind), kind: kind.kind, spec },
    metadata: { name: 'web', ...metadata },
    ...(status ? { status: { ...status, conditions: conditionsOf(kind, is) } } : {}),
  })
  return { kind, before: object(before, 'False') as KubeObject, after: object(after, 'True') as KubeObject }
}

const network = { network: { name: 'net' } }
const here = { location: { name: 'here' } }
const address = (last: number) => [{ family: 'IPv6', address: `fd20::${last}/128`, gateway: 'fd20::1', primary: true }]
const external = (last: number) => [{ family: 'IPv4', address: `198.51.100.${last}`, class: 'public' }]

export const enforcedVersions: readonly Versions[] = [
  versions(
    NetworkInterfaceClaim,
    {
      metadata: { finalizers: [finalizers.claim] },
      spec: { ...network, externalAddressClasses: ['public'] },
      status: {
        ...{ networkInterfaceRef: { name: 'web' }, conditionSources: source('web') },
        ...{ addresses: address(7), externalAddresses: external(7) },
      },
    },
    {
      spec: { ...network, externalAddressClasses: ['public'] },
      status: {
        ...{ networkInterfaceRef: { name: 'other' }, conditionSources: source('other') },
        ...{ addresses: address(8), externalAddresses: external(8) },
      },
    },
  ),
  versions(
    NetworkInterface,
    {
      metadata: {
        ...{ finalizers: [finalizers.interface], labels: { 'compute.datumapis.com/instance': 'a' } },
        annotations: { [annotations.claimUid]: 'a', [annotations.allocationClaim]: 'a', [annotations.dataPlane]: 'a/a' },
      },
      spec: { ...network, claimRef: { name: 'web' } },
      status: {
        ...{ phase: 'Bound', vpc: 'jU', networkContextRef: { name: 'net-here' }, conditionSources: source('web') },
        attachmentRef: { apiGroup: 'cloud.datumapis.com', kind: 'VPCAttachment', name: 'web' },
      },
    },
    {
      spec: { ...network, claimRef: { name: 'other' } },
      status: {
        ...{ phase: 'Available', vpc: 'other', networkContextRef: { name: 'other' }, conditionSources: source('other') },
        attachmentRef: { apiGroup: 'cloud.datumapis.com', kind: 'VPCAttachment', name: 'other' },
      },
    },
  ),
  versions(
    Network,
    { metadata: { finalizers: [finalizers.network] }, spec: { ipam: { mode: 'Auto' } }, status: {} },
    { spec: { ipam: { mode: 'Auto' } }, status: { ipam: { ipv6Prefix: 'fd20:1000:7::/48' } } },
  ),
  versions(
    NetworkContext,
    { metadata: { finalizers: [finalizers.contextInUse] }, spec: { ...network, ...here, ipFamilies: ['IPv6'] }, status: {} },
    { spec: { ...network, ...here, ipFamilies: ['IPv6'] }, status: { ipam: { ipv6Prefix: 'fd20:1000:7:1::/64' } } },
  ),
  versions(
    Subnet,
    {
      spec: {
        ...{ subnetClass: 'private', networkContext: { name: 'net-here' }, ...here },
        ...{ ipFamily: 'IPv6', startAddress: 'fd20::', prefixLength: 64 },
      },
      status: {},
    },
    { spec: {}, status: { startAddress: 'fd21::', prefixLength: 65 } },
  ),
  versions(
    AddressLease,
    {
      spec: {
        ...{ network: { name: 'net' }, networkContext: { name: 'net-here' }, family: 'IPv6', address: 'fd20::7/128' },
        holder: { claimName: 'web', claimUID: 'web', family: 'IPv6' },
      },
    },
    // The schema keeps it fixed: only a creation can be refused here.
    { spec: {} },
  ),
  versions(
    DataPlane,
    {
      spec: {
        locations: ['here'],
        attachment: { apiVersion: 'planes.example.dev/v1', kind: 'Port', spec: {} },
        report: { prepared: { condition: 'Ready' } },
      },
      status: {},
    },
    { spec: {}, status: {} },
  ),
]
