import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Network, NetworkContext } from '@nso/api'
import { formatCidr, readBlock } from '../../addresses/cidr.ts'
import type { ProjectAnswer } from '../../addresses/ipam/project.ts'
import { createOccupancy } from '../../addresses/occupancy.ts'
import { contextFor, type Decision, decide } from './decide.ts'
import type { RangesSeen, Seen } from './observe.ts'
import { networkStatus } from './status.ts'

function aNetwork(spec: Partial<Network['spec']> = {}, given: Partial<Network['metadata']> = {}, prefix?: string): Network {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Network',
    metadata: { name: 'net', namespace: 'default', uid: 'net-uid', generation: 3, ...given },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460, ...spec },
    ...(prefix ? { status: { ipam: { ipv6Prefix: prefix } } } : {}),
  }
}

function seen(given: Partial<Seen> = {}): Seen {
  return { network: aNetwork(), contexts: [], locations: ['dfw'], ranges: chosen([]), ...given }
}

function chosen(held: readonly string[]): RangesSeen {
  const occupancy = createOccupancy()
  for (const text of held)
    occupancy.add(
      text,
      [readBlock(text)].flatMap((block) => block ?? []),
    )
  return { kind: 'chosen', held: occupancy }
}

const project: ProjectAnswer = { kind: 'resolved', project: { name: 'alpha', namespace: 'there' } }
const service: RangesSeen = { kind: 'service', className: 'datum-network-v6', project }

function stored(context: NetworkContext, given: Partial<NetworkContext['metadata']> = {}): NetworkContext {
  return { ...context, metadata: { ...context.metadata, uid: `${context.metadata.name}-uid`, ...given } }
}

const dfw = stored(contextFor(aNetwork(), 'dfw'))
const lhr = stored(contextFor(aNetwork(), 'lhr'))
const byHand: NetworkContext = { ...dfw, metadata: { ...dfw.metadata, ownerReferences: [] } }
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const names = (objects: readonly { metadata: { name: string } }[]) => objects.map(({ metadata }) => metadata.name)

function summary(decision: Decision): object {
  if (decision.do === 'release') return { do: 'release', remove: names(decision.remove) }
  const { ranges, create, change, retire } = decision
  const range =
    ranges.kind === 'held'
      ? ranges.prefix
        ? formatCidr(ranges.prefix)
        : 'held'
      : 'reason' in ranges
        ? ranges.reason
        : ranges.kind
  const changed = change.flatMap(({ operations }) => operations.filter(({ op }) => op !== 'test').map(({ path }) => path))
  return { ranges: range, create: names(create), change: changed, retire: names(retire) }
}

const rest = { create: [], change: [], retire: [] }
const record = 'fd20:0:1::/48'
const table: { says: string; given: Seen; want: object }[] = [
  {
    says: 'makes a context in each location',
    given: seen({ network: aNetwork({}, {}, record), locations: ['dfw', 'lhr'] }),
    want: { ...rest, ranges: record, create: ['net-dfw', 'net-lhr'] },
  },
  {
    says: 'is content with what stands',
    given: seen({ network: aNetwork({}, {}, record), contexts: [dfw] }),
    want: { ...rest, ranges: record },
  },
  {
    says: 'leaves a context made by hand as it is',
    given: seen({ network: aNetwork({ mtu: 9000 - 200 }, {}, record), contexts: [byHand] }),
    want: { ...rest, ranges: record },
  },
  {
    says: 'carries its MTU and generation over',
    given: seen({ network: aNetwork({ mtu: 8800 }, { generation: 4 }, record), contexts: [dfw] }),
    want: { ...rest, ranges: record, change: ['/spec/mtu', '/spec/networkGeneration'] },
  },
  {
    says: 'does not touch a context that is going',
    given: seen({ network: aNetwork({ mtu: 8800 }, {}, record), contexts: [stored(dfw, deleting)] }),
    want: { ...rest, ranges: record },
  },
  {
    says: 'retires the context of a location that is served no more',
    given: seen({ network: aNetwork({}, {}, record), contexts: [dfw, lhr] }),
    want: { ...rest, ranges: record, retire: ['net-lhr'] },
  },
  {
    says: 'never retires a context made by hand',
    given: seen({ network: aNetwork({}, {}, record), contexts: [byHand], locations: [] }),
    want: { ...rest, ranges: record },
  },
  {
    says: 'keeps the prefix on record though another holds it',
    given: seen({
      network: aNetwork({}, {}, record),
      ranges: chosen([record]),
      locations: [],
    }),
    want: { ...rest, ranges: record },
  },
  {
    says: 'takes an IPv6 range that the user states, in canonical form',
    given: seen({ network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: 'FD00:1:0::/48' } }), locations: [] }),
    want: { ...rest, ranges: 'fd00:1::/48' },
  },
  {
    says: 'refuses a range of the wrong family',
    given: seen({ network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: '10.0.0.0/8' } }), locations: [] }),
    want: { ...rest, ranges: 'RangeUnsupported' },
  },
  {
    says: 'refuses a range too small for a /64',
    given: seen({ network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: 'fd00::/65' } }), locations: [] }),
    want: { ...rest, ranges: 'RangeUnsupported' },
  },
  {
    says: 'refuses an IPv4 range that is no range',
    given: seen({ network: aNetwork({ ipFamilies: ['IPv4'], ipam: { mode: 'Auto', ipv4Range: 'ten' } }), locations: [] }),
    want: { ...rest, ranges: 'RangeUnsupported' },
  },
  {
    says: 'needs no prefix for IPv4 alone',
    given: seen({ network: aNetwork({ ipFamilies: ['IPv4'] }), locations: [] }),
    want: { ...rest, ranges: 'held' },
  },
  {
    says: 'takes no range where a policy gives them',
    given: seen({ network: aNetwork({ ipam: { mode: 'Policy' } }), locations: [] }),
    want: { ...rest, ranges: 'none' },
  },
  {
    says: 'asks an address service for its range, whatever is on record',
    given: seen({ network: aNetwork({}, {}, record), locations: [], ranges: service }),
    want: { ...rest, ranges: 'ask' },
  },
  {
    says: 'asks no address service for IPv4',
    given: seen({ network: aNetwork({ ipFamilies: ['IPv4'] }), locations: [], ranges: service }),
    want: { ...rest, ranges: 'none' },
  },
  {
    says: 'asks no address service that has no class for it, and chooses nothing itself',
    given: seen({ locations: [], ranges: { ...service, className: undefined } }),
    want: { ...rest, ranges: 'none' },
  },
  {
    says: 'cannot have a range of its own choice of an address service',
    given: seen({ network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: 'fd00::/48' } }), locations: [], ranges: service }),
    want: { ...rest, ranges: 'RangeUnsupported' },
  },
  {
    says: 'asks no address service while its project is not known',
    given: seen({
      locations: [],
      ranges: { ...service, project: { kind: 'refused', reason: 'ProjectUnresolved', message: 'no' } },
    }),
    want: { ...rest, ranges: 'ProjectUnresolved' },
  },
  {
    says: 'going, deletes the contexts made for it only',
    given: seen({
      network: aNetwork({}, deleting),
      contexts: [{ ...byHand, metadata: { ...byHand.metadata, name: 'net-ams' } }, dfw, stored(lhr, deleting)],
    }),
    want: { do: 'release', remove: ['net-dfw'] },
  },
]
for (const { says, given, want } of table) {
  test(`a network ${says}`, () => assert.deepEqual(summary(decide(given)), want))
}

test('a claim on a range is named by the uid of its network, in the namespace of the project', () => {
  const decision = decide(seen({ ranges: service }))
  assert.ok(decision.do === 'serve' && decision.ranges.kind === 'ask')
  assert.deepEqual(decision.ranges.claim, {
    apiVersion: 'ipam.miloapis.com/v1alpha1',
    kind: 'IPClaim',
    metadata: { name: 'network-net-uid', namespace: 'there' },
    spec: {
      className: 'datum-network-v6',
      scope: { network: { apiGroup: 'networking.datumapis.com', kind: 'Network', name: 'net' } },
      target: 'ScopeRange',
    },
  })
})

test('a context projects the families once each, the MTU and the generation, and is found by its labels', () => {
  const context = contextFor(aNetwork({ ipFamilies: ['IPv6', 'IPv4', 'IPv6'], mtu: 8000 }), 'dfw')
  assert.deepEqual(context.spec, {
    network: { name: 'net' },
    location: { name: 'dfw' },
    ipFamilies: ['IPv6', 'IPv4'],
    mtu: 8000,
    networkGeneration: 3,
  })
  assert.deepEqual(context.metadata.labels, {
    'networking.datumapis.com/network': 'net',
    'networking.datumapis.com/location': 'dfw',
    'networking.datumapis.com/network-uid': 'net-uid',
  })
  assert.deepEqual(context.metadata.ownerReferences, [
    {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'Network',
      name: 'net',
      uid: 'net-uid',
      controller: true,
      blockOwnerDeletion: false,
    },
  ])
})

test('B52: a name that is no label value is left out of the labels, and one that is no object name is told', () => {
  const long = 'n'.repeat(64)
  assert.deepEqual(Object.keys(contextFor(aNetwork({}, { name: long }), 'dfw').metadata.labels ?? {}), [
    'networking.datumapis.com/location',
    'networking.datumapis.com/network-uid',
  ])
  const endless = aNetwork({}, { name: 'n'.repeat(252) })
  const decision = decide(seen({ network: endless, locations: ['dfw'] }))
  assert.ok(decision.do === 'serve' && decision.create.length === 0)
  assert.ok(decision.ranges.kind !== 'ask')
  const ready = networkStatus(endless, decision.ranges, decision.tooLong).conditions.find(({ type }) => type === 'Ready')
  assert.deepEqual([ready?.status, ready?.reason], ['False', 'AllocationFailed'])
})

test('a message about names that are too long has an end, however many there are', () => {
  const names = Array.from({ length: 500 }, (_, at) => `${at}${'n'.repeat(300)}`)
  const { conditions } = networkStatus(aNetwork(), { kind: 'none' }, names)
  assert.match(conditions[0]?.message ?? '', /^No NetworkContext can be named 0n+…, 1n+…, 2n+… and 497 more, longer than 253/)
})

test('a refused network keeps the prefix on record and says why it is not ready', () => {
  const network = aNetwork({}, {}, record)
  const status = networkStatus(network, { kind: 'refused', reason: 'RangeUnsupported', message: 'no range' }, [])
  assert.deepEqual(status.ipam, { ipv6Prefix: record })
  assert.deepEqual(
    status.conditions.map(({ type, status: is, reason, message, observedGeneration }) => [
      type,
      is,
      reason,
      message,
      observedGeneration,
    ]),
    [
      ['IPAMAllocated', 'False', 'RangeUnsupported', 'no range', 3],
      ['Ready', 'False', 'RangeUnsupported', 'no range', 3],
    ],
  )
})
