import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalizers, type Network, type NetworkContext, type Subnet } from '@nso/api'
import { readBlock } from '../../addresses/cidr.ts'
import { type Decision, decide } from './decide.ts'
import type { Seen, Taken } from './observe.ts'

const apiVersion = 'networking.datumapis.com/v1alpha'
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function aNetwork(spec: Partial<Network['spec']> = {}, prefix: string | undefined = 'fd20:0:1::/48'): Network {
  return {
    apiVersion,
    kind: 'Network',
    metadata: { name: 'net', namespace: 'default', uid: 'net-uid' },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460, ...spec },
    ...(prefix ? { status: { ipam: { ipv6Prefix: prefix } } } : {}),
  }
}

function aContext(spec: Partial<NetworkContext['spec']> = {}, given: Partial<NetworkContext['metadata']> = {}): NetworkContext {
  return {
    apiVersion,
    kind: 'NetworkContext',
    metadata: { name: 'net-dfw', namespace: 'default', uid: 'context-uid', ...given },
    spec: { network: { name: 'net' }, location: { name: 'dfw' }, ipFamilies: ['IPv6'], ...spec },
  }
}

function aSubnet(spec: Partial<Subnet['spec']> = {}, given: Partial<Subnet['metadata']> = {}): Subnet {
  return {
    apiVersion,
    kind: 'Subnet',
    metadata: { name: 'by-hand', namespace: 'default', uid: 'subnet-uid', ...given },
    spec: {
      subnetClass: 'private',
      networkContext: { name: 'net-dfw' },
      location: { name: 'dfw' },
      ipFamily: 'IPv6',
      startAddress: 'fd00::',
      prefixLength: 64,
      ...spec,
    },
  }
}

const ours = { ownerReferences: [{ apiVersion, kind: 'NetworkContext', name: 'net-dfw', uid: 'context-uid' }] }

function seen(given: Partial<Seen> & { standing?: readonly Subnet[] } = {}): Seen {
  const { standing = [], ...rest } = given
  const all = [...(given.subnets ?? []), ...standing]
  return {
    context: aContext(),
    network: aNetwork(),
    subnets: [],
    named: (name) => all.find(({ metadata }) => metadata.name === name),
    taken: [],
    ...rest,
  }
}

function taken(range: string): Taken {
  const block = readBlock(range)
  assert.ok(block)
  return { range: block, by: 'Subnet of another context' }
}

function summary(decision: Decision): object {
  if (decision.do === 'wait') return { do: 'wait' }
  if (decision.do === 'release') return { remove: decision.remove.map(({ metadata }) => metadata.name) }
  const { create, standing, holds } = decision
  return {
    create: create.map(({ subnet }) => subnet.metadata.name),
    ...(standing.state === 'refused' ? { refused: standing.reason } : standing.state === 'waiting' ? { waits: true } : {}),
    ...(holds ? { holds } : {}),
  }
}

const both = { ipFamilies: ['IPv6', 'IPv4'] as ('IPv6' | 'IPv4')[] }
const table: { says: string; given: Seen; want: object }[] = [
  {
    says: 'gets a Subnet for each family',
    given: seen({ context: aContext(both) }),
    want: { create: ['net-dfw-ipv6', 'net-dfw-ipv4'], holds: true },
  },
  {
    says: 'is content with one made by hand, and takes no finalizer for it',
    given: seen({ subnets: [aSubnet()] }),
    want: { create: [] },
  },
  {
    says: 'keeps its finalizer while a Subnet made for it stands',
    given: seen({ subnets: [aSubnet({}, ours)] }),
    want: { create: [], holds: true },
  },
  {
    says: 'does not take a Subnet of a named class for a private one',
    given: seen({ subnets: [aSubnet({ subnetClass: 'public' })] }),
    want: { create: ['net-dfw-ipv6'], holds: true },
  },
  {
    says: 'makes nothing where its families are not known',
    given: seen({ context: { ...aContext(), spec: { network: { name: 'net' }, location: { name: 'dfw' } } } }),
    want: { create: [] },
  },
  {
    says: 'makes nothing where a policy gives the ranges',
    given: seen({ network: aNetwork({ ipam: { mode: 'Policy' } }) }),
    want: { create: [] },
  },
  { says: 'waits for its network', given: seen({ network: undefined }), want: { create: [], waits: true } },
  {
    says: 'needs no network when its Subnets are made by hand',
    given: seen({ network: undefined, subnets: [aSubnet()] }),
    want: { create: [] },
  },
  { says: 'waits for the prefix of its network', given: seen({ network: aNetwork({}, '') }), want: { create: [], waits: true } },
  {
    says: 'waits until the record of the prefix agrees with the stated range',
    given: seen({ network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: 'fd99::/48' } }) }),
    want: { create: [], waits: true },
  },
  {
    says: 'serves one family while the other waits',
    given: seen({ context: aContext(both), network: aNetwork({}, '') }),
    want: { create: ['net-dfw-ipv4'], waits: true, holds: true },
  },
  {
    says: 'cannot get a family that its network lacks',
    given: seen({ context: aContext(both), network: aNetwork({ ipFamilies: ['IPv6'] }) }),
    want: { create: ['net-dfw-ipv6'], refused: 'AllocationFailed', holds: true },
  },
  {
    says: 'is told that the range is full',
    given: seen({ taken: [taken('fd20:0:1::/48')] }),
    want: { create: [], refused: 'AddressPoolExhausted' },
  },
  {
    says: "is told that its network's range cannot be used",
    given: seen({
      context: aContext({ ipFamilies: ['IPv4'] }),
      network: aNetwork({ ipam: { mode: 'Auto', ipv4Range: '10.0.0.0/30' } }),
    }),
    want: { create: [], refused: 'RangeUnsupported' },
  },
  {
    says: 'leaves a foreign Subnet under its name alone',
    given: seen({ standing: [aSubnet({ networkContext: { name: 'other' } }, { name: 'net-dfw-ipv6' })] }),
    want: { create: [], refused: 'AllocationFailed' },
  },
  {
    says: 'waits for a Subnet of its name that is going',
    given: seen({ subnets: [aSubnet({}, { name: 'net-dfw-ipv6', ...deleting })] }),
    want: { create: [], waits: true },
  },
  {
    says: 'is told when a Subnet overlaps one of another location',
    given: seen({ subnets: [aSubnet({}, ours)], taken: [taken('fd00::/60')] }),
    want: { create: [], refused: 'RangeOccupied', holds: true },
  },
  {
    says: 'is not told of a Subnet that may be of another network: nobody would take it back when that turns out',
    given: seen({ subnets: [aSubnet({}, ours)], taken: [{ ...taken('fd00::/60'), maybe: true }] }),
    want: { create: [], holds: true },
  },
  {
    says: 'carves beside what may be of its network',
    given: seen({ taken: [{ ...taken('fd20:0:1::/48'), maybe: true }] }),
    want: { create: [], refused: 'AddressPoolExhausted' },
  },
  {
    says: 'going, waits while interfaces hold it',
    given: seen({ context: aContext({}, { ...deleting, finalizers: [finalizers.contextInUse] }), subnets: [aSubnet({}, ours)] }),
    want: { do: 'wait' },
  },
  {
    says: 'going, deletes the Subnets made for it only',
    given: seen({ context: aContext({}, deleting), subnets: [aSubnet(), aSubnet({}, { name: 'net-dfw-ipv6', ...ours })] }),
    want: { remove: ['net-dfw-ipv6'] },
  },
]
for (const { says, given, want } of table) {
  test(`a context ${says}`, () => assert.deepEqual(summary(decide(given)), want))
}
