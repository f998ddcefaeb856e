import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Network, NetworkContext, Subnet } from '@nso/api'
import { aContext, aSubnet } from '../../../test/objects.ts'
import { readBlock } from '../../addresses/cidr.ts'
import type { HeldRange } from '../range-claim.ts'
import { settle } from './ask.ts'
import { decide } from './decide.ts'
import type { Seen, ServiceSeen } from './observe.ts'
import type { Standing } from './standing.ts'
import { contextStatus } from './status.ts'

const project = { kind: 'resolved', project: { name: 'alpha', namespace: 'there' } } as const
const service: ServiceSeen = { className: 'datum-subnet-v6', project, isNetworkAsked: true }
const ref = { project: 'alpha', namespace: 'there', claimName: 'networkcontext-net-here-uid', poolName: 'pool' }
const networkRef = { ...ref, claimName: 'network-net-uid' }
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function aNetwork(spec: Partial<Network['spec']> = {}, given: Partial<Network['metadata']> = {}, isHeld = true): Network {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Network',
    metadata: { name: 'net', namespace: 'default', uid: 'net-uid', ...given },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460, ...spec },
    ...(isHeld ? { status: { ipam: { ipv6Prefix: 'fd20:1000::/48', ipv6PrefixRef: networkRef } } } : {}),
  }
}

const context = (ipFamilies?: ('IPv4' | 'IPv6')[], name = 'net-here'): NetworkContext => {
  const made = aContext({ metadata: { name, uid: 'net-here-uid' }, ...(ipFamilies ? { spec: { ipFamilies } } : {}) })
  if (ipFamilies) return made
  const { ipFamilies: _, ...spec } = made.spec
  return { ...made, spec }
}

function seen(given: Partial<Seen> = {}): Seen {
  const { subnets = [] } = given
  return {
    context: context(['IPv6']),
    network: aNetwork(),
    subnets,
    named: (name) => subnets.find(({ metadata }) => metadata.name === name),
    taken: [],
    service,
    ...given,
  }
}

const owner = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkContext', name: 'net-here', uid: 'net-here-uid' }
const own = (startAddress = 'fd20:1000:0:1::'): Subnet =>
  aSubnet({ metadata: { ownerReferences: [owner] }, spec: { startAddress } })
const byHand = (spec: Partial<Subnet['spec']> = {}): Subnet => aSubnet({ metadata: { name: 'by-hand' }, spec })

const told = (standing: Standing): string =>
  standing.state === 'refused' ? standing.reason : standing.state === 'held' ? `held ${standing.any}` : 'waits'

const table: { says: string; given: Seen; want: string }[] = [
  { says: 'asks for its range', given: seen(), want: 'asks, held true, holds' },
  { says: 'asks also where no Network stands beside it', given: seen({ network: undefined }), want: 'asks, held true, holds' },
  { says: 'asks again while its Subnet stands', given: seen({ subnets: [own()] }), want: 'asks, held true, holds' },
  {
    says: 'whose Subnet stands asks whatever has become of its network',
    given: seen({ subnets: [own()], network: aNetwork({ ipFamilies: ['IPv4'] }, deleting, false) }),
    want: 'asks, held true, holds',
  },
  { says: 'of IPv4 alone has nothing to ask for', given: seen({ context: context(['IPv4']) }), want: 'held false' },
  { says: 'whose families are not known has nothing to ask for', given: seen({ context: context() }), want: 'held false' },
  {
    says: 'asks for no IPv4 range, and makes no Subnet of one',
    given: seen({ context: context(['IPv6', 'IPv4']) }),
    want: 'asks, held true, holds',
  },
  {
    says: 'asks for nothing where the service has no class for it',
    given: seen({ service: { ...service, className: undefined } }),
    want: 'held false',
  },
  {
    says: 'asks for nothing where a policy gives the ranges',
    given: seen({ network: aNetwork({ ipam: { mode: 'Policy' } }) }),
    want: 'held false',
  },
  { says: 'is content with a Subnet made by hand', given: seen({ subnets: [byHand()] }), want: 'held true' },
  {
    says: 'is content with one made by hand though its project is not known',
    given: seen({
      subnets: [byHand()],
      service: { ...service, project: { kind: 'refused', reason: 'ProjectUnresolved', message: 'no' } },
    }),
    want: 'held true',
  },
  {
    says: 'does not take a Subnet of another class or family for its range',
    given: seen({
      subnets: [byHand({ subnetClass: 'public' }), byHand({ ipFamily: 'IPv4', startAddress: '10.0.0.0', prefixLength: 24 })],
    }),
    want: 'asks, held true, holds',
  },
  { says: 'waits for the prefix of its network', given: seen({ network: aNetwork({}, {}, false) }), want: 'waits' },
  {
    says: 'does not wait for a prefix that no network is given',
    given: seen({ network: aNetwork({}, {}, false), service: { ...service, isNetworkAsked: false } }),
    want: 'asks, held true, holds',
  },
  { says: 'waits while its network is going', given: seen({ network: aNetwork({}, deleting) }), want: 'waits' },
  {
    says: 'cannot get a family that its network lacks',
    given: seen({ network: aNetwork({ ipFamilies: ['IPv4'] }) }),
    want: 'AllocationFailed',
  },
  {
    says: 'says that its project is not known',
    given: seen({ service: { ...service, project: { kind: 'refused', reason: 'ProjectUnresolved', message: 'no' } } }),
    want: 'ProjectUnresolved',
  },
  {
    says: 'asks for nothing whose Subnet could have no name',
    given: seen({ context: context(['IPv6'], 'n'.repeat(250)) }),
    want: 'AllocationFailed',
  },
  {
    says: 'asks for nothing while a foreign Subnet stands under the name',
    given: seen({ named: () => aSubnet({ spec: { networkContext: { name: 'other' } } }) }),
    want: 'AllocationFailed',
  },
  {
    says: 'waits while a Subnet of the name is going',
    given: seen({ subnets: [aSubnet({ metadata: { ...deleting, ownerReferences: [owner] } })] }),
    want: 'waits, holds',
  },
]
for (const { says, given, want } of table) {
  test(`where an address service gives the ranges, a context ${says}`, () => {
    const decision = decide(given)
    assert.ok(decision.do === 'serve')
    assert.deepEqual(decision.create, [])
    const parts = [decision.request ? 'asks' : [], told(decision.standing), decision.holds ? 'holds' : []].flat()
    assert.equal(parts.join(', '), want)
  })
}

test('a claim on the range of a context is named by its uid, and says network and location', () => {
  const decision = decide(seen())
  assert.ok(decision.do === 'serve')
  const role = (kind: string, name: string) => ({ apiGroup: 'networking.datumapis.com', kind, name })
  assert.deepEqual(decision.request?.claim, {
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'networkcontext-net-here-uid', namespace: 'there' },
    spec: {
      className: 'datum-subnet-v6',
      scope: { network: role('Network', 'net'), location: role('Location', 'here') },
      target: 'ScopeRange',
    },
  })
})

const held: Standing = { state: 'held', any: true }
function answer(cidr: string): Exclude<HeldRange, { kind: 'away' }> {
  const range = readBlock(cidr)
  assert.ok(range)
  return { kind: 'held', range, ref }
}
const block = answer('fd20:1000:0:1::/64')
const overlapping = readBlock('fd20:1000:0:1::/60')
assert.ok(overlapping)

const answers: { says: string; given: Seen; answer: typeof block; create: string[]; want: string }[] = [
  { says: 'makes the Subnet of its answer', given: seen(), answer: block, create: ['fd20:1000:0:1::/64'], want: 'held true' },
  {
    says: 'makes none beside the one that stands',
    given: seen({ subnets: [own()] }),
    answer: block,
    create: [],
    want: 'held true',
  },
  {
    says: 'of another range than the Subnet that stands moves nothing, and is told',
    given: seen({ subnets: [own('fd20:1000:0:2::')] }),
    answer: block,
    create: [],
    want: 'AllocationFailed',
  },
  {
    says: 'that overlaps another Subnet of the network makes none, and is told',
    given: seen({ taken: [{ range: overlapping, by: 'Subnet by-hand' }] }),
    answer: block,
    create: [],
    want: 'RangeOccupied',
  },
  {
    says: 'that overlaps a Subnet which may be of another network makes one',
    given: seen({ taken: [{ range: overlapping, by: 'Subnet by-hand', maybe: true }] }),
    answer: block,
    create: ['fd20:1000:0:1::/64'],
    want: 'held true',
  },
  {
    says: 'that is a refusal is told as it is',
    given: seen(),
    answer: { kind: 'refused', reason: 'AddressPoolExhausted', message: 'full', againMs: 60_000 },
    create: [],
    want: 'AddressPoolExhausted',
  },
]
for (const { says, given, answer: of, create, want } of answers) {
  test(`an answer of the address service ${says}`, () => {
    const { create: made, standing } = settle(given, held, of)
    assert.deepEqual(
      made.map(({ metadata, spec }) => `${metadata.name === 'net-here-ipv6' && spec.startAddress}/${spec.prefixLength}`),
      create,
    )
    assert.equal(told(standing), want)
  })
}

test('a refused context keeps on record where its range is held', () => {
  const stored: NetworkContext = { ...context(['IPv6']), status: { ipam: { ipv6ClaimRef: ref } } }
  const status = contextStatus(stored, [own()], { state: 'refused', reason: 'AllocationFailed', message: 'away' })
  assert.deepEqual(status.ipam, { ipv6SubnetRef: { name: 'net-here-ipv6' }, ipv6ClaimRef: ref })
})
