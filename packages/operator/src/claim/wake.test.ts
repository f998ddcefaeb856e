import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  annotations,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  type Subnet,
} from '@nso/api'
import { createCache, createClient, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { aClaim, aContext, anInterface, aSubnet } from '../../test/objects.ts'
import { type Caches, createCaches } from '../caches.ts'
import type { CompiledPlane, PlaneRef } from '../dataplane/types.ts'
import {
  byContext as interfacesByContext,
  byPlane as interfacesByPlane,
  bySubnet as interfacesBySubnet,
} from '../interface/wake.ts'
import { byAttachment, byContext, byPlane, bySubnet, unsupported } from './wake.ts'

/** Real caches that nobody follows: what stands in them is taken in by hand. */
function cachesWith(nics: readonly NetworkInterface[], claims: readonly NetworkInterfaceClaim[]): Caches {
  const parts = { clock: createManualClock(), jitter: () => 0 }
  const client = createClient(scriptTransport(), parts)
  const caches = createCaches((kind, options) => createCache(client, kind, options, { ...parts, log: silentLogger }))
  for (const nic of nics) caches.interfaces.absorb(nic)
  for (const claim of claims) caches.claims.absorb(claim)
  return caches
}

const nic = (name: string, choice?: string): NetworkInterface =>
  anInterface({
    metadata: { name, uid: `${name}-nic`, annotations: choice === undefined ? {} : { [annotations.dataPlane]: choice } },
    spec: { claimRef: { name: `claim-${name}` } },
  })

const rejected = (name: string, reason: string): NetworkInterfaceClaim =>
  aClaim({
    metadata: { name, uid: `${name}-claim` },
    status: {
      conditions: [
        { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
        { type: 'Bound', status: 'False', reason: 'Else', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  })

const planes = {
  find({ name, uid }: PlaneRef) {
    if (!['toy/p-1', 'other/p-2', 'going/p-3'].includes(`${name}/${uid}`)) return undefined
    const metadata = name === 'going' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
    const attachmentKind = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
    return { object: { metadata }, attachmentKind, hindrance: 'not installed' } as unknown as CompiledPlane
  },
}

const attached = (given: NetworkInterface): NetworkInterface => ({
  ...given,
  status: { attachmentRef: { apiGroup: 'planes.example.dev', kind: 'Wire', name: given.metadata.name } },
})

test('a data plane that changes wakes whom it serves, if it matters to them, whom nobody serves, and who was turned away', () => {
  const nics = [
    nic('its', 'toy/p-1'),
    attached(nic('served', 'toy/p-1')),
    nic('earlier', 'toy/p-0'),
    nic('none'),
    nic('lost', 'gone/p-9'),
    nic('leaving', 'going/p-3'),
    attached(nic('staying', 'going/p-3')),
    nic('elsewhere', 'other/p-2'),
  ]
  const claims = [
    rejected('mode', 'AttachmentModeNotSupported'),
    rejected('family', 'AddressFamilyNotSupported'),
    rejected('network', 'NetworkMismatch'),
    aClaim({ metadata: { name: 'new', uid: 'new-claim' } }),
  ]
  const caches = cachesWith(nics, claims)
  const toy = { name: 'toy', uid: 'p-1' }
  const free = ['earlier', 'none', 'lost', 'leaving']
  for (const [servedToo, concerned] of [
    [true, ['its', 'served', ...free]],
    [false, free],
  ] as const) {
    const news = { ...toy, servedToo }
    assert.deepEqual(interfacesByPlane(caches, planes, news).toSorted(), concerned.map((name) => `default/${name}`).toSorted())
    assert.deepEqual(byPlane(caches, planes, news), new Set(concerned.map((name) => `default/claim-${name}`)))
  }
  assert.deepEqual(unsupported(caches), ['default/mode', 'default/family'])
})

const six = (name: string, spec: Partial<NetworkInterfaceClaim['spec']> = {}) =>
  aClaim({ metadata: { name, uid: `${name}-claim` }, spec })
const placed = (name: string, location: string | undefined, held = true): NetworkInterface => {
  const nic = anInterface({
    metadata: {
      name,
      uid: `${name}-nic`,
      labels: location === undefined ? {} : { [labels.location]: location },
      annotations: held ? { [annotations.claimUid]: `${name}-claim` } : {},
    },
    spec: { claimRef: { name } },
  })
  const { claimRef: _, ...free } = nic.spec
  return held ? nic : { ...nic, spec: free }
}

/** Claims of network `net` here, save where the name says otherwise. */
const town = {
  claims: [
    six('new'),
    six('four', { ipFamilies: ['IPv4'] }),
    six('public', { ipFamilies: ['IPv4'], addresses: [{ class: 'public' }] }),
    six('bound-here'),
    six('bound-there'),
    six('retained-there', { reclaimPolicy: 'Retain' }),
    six('other-network', { network: { name: 'other' } }),
    { ...rejected('turned-away', 'AddressAllocationRejected'), spec: six('turned-away', { ipFamilies: ['IPv4'] }).spec },
    { ...six('dual'), status: { addresses: [{ family: 'IPv4' as const, address: '10.0.0.5/32' }] } },
  ],
  nics: [
    placed('bound-here', 'here'),
    placed('bound-there', 'there'),
    placed('retained-there', 'there', false),
    placed('old', undefined),
  ],
}

function townWith(...contexts: NetworkContext[]) {
  const caches = cachesWith(town.nics, town.claims)
  for (const context of contexts) caches.contexts.absorb(context)
  return { caches, location: 'here' }
}

const there = aContext({ metadata: { name: 'net-there', uid: 'there' }, spec: { location: { name: 'there' } } })
const names = (keys: Iterable<string>) => [...keys].map((key) => key.replace('default/', '')).sort()
const inSubnet = (spec: Partial<Subnet['spec']> = {}) => aSubnet({ spec })

const contextRows: { says: string; before?: NetworkContext; after?: NetworkContext; claims: string[]; nics: string[] }[] = [
  {
    says: 'a context that comes',
    after: aContext(),
    claims: ['bound-here', 'dual', 'four', 'new', 'public', 'turned-away'],
    nics: ['bound-here', 'old'],
  },
  {
    says: 'one of another location, by what was placed there, held or free',
    before: there,
    claims: ['bound-there', 'retained-there'],
    nics: ['bound-there', 'old', 'retained-there'],
  },
  {
    says: 'one that comes to be of another network: whom it leaves too',
    before: aContext(),
    after: aContext({ spec: { network: { name: 'nett' } } }),
    claims: ['bound-here', 'dual', 'four', 'new', 'public', 'turned-away'],
    nics: ['bound-here', 'old'],
  },
  {
    says: 'one whose name is no presence of its network',
    after: aContext({ metadata: { name: 'else' } }),
    claims: [],
    nics: ['old'],
  },
]
for (const { says, before, after, claims, nics } of contextRows) {
  test(`woken by a context: ${says}`, () => {
    const sources = townWith()
    const { name } = (after ?? before ?? aContext()).metadata
    const change = { key: `default/${name}`, initial: false, ...(before ? { before } : {}), ...(after ? { after } : {}) }
    assert.deepEqual(names(byContext(sources, change)), claims)
    assert.deepEqual(names(interfacesByContext(sources.caches, change)), nics)
  })
}

const subnetRows: { says: string; before?: Subnet; after?: Subnet; claims: string[] }[] = [
  { says: 'of IPv6, by those that ask for it', after: inSubnet(), claims: ['bound-here', 'dual', 'new'] },
  {
    says: 'of IPv4, by those that ask for it or have an address of it',
    after: inSubnet({ ipFamily: 'IPv4' }),
    claims: ['dual', 'four', 'public', 'turned-away'],
  },
  {
    says: 'of a class, by those that ask for the family or the class',
    after: inSubnet({ subnetClass: 'public' }),
    claims: ['bound-here', 'dual', 'new', 'public'],
  },
  {
    says: 'that changes its family: both',
    before: inSubnet({ ipFamily: 'IPv4' }),
    after: inSubnet(),
    claims: ['bound-here', 'dual', 'four', 'new', 'public', 'turned-away'],
  },
  {
    says: 'that moves to another context: of both',
    before: inSubnet(),
    after: inSubnet({ networkContext: { name: 'net-there' } }),
    claims: ['bound-here', 'bound-there', 'dual', 'new', 'retained-there', 'turned-away'],
  },
  {
    says: 'of another location that goes: by those whose own it made unusable',
    before: inSubnet({ networkContext: { name: 'net-there' } }),
    claims: ['bound-there', 'retained-there', 'turned-away'],
  },
  {
    says: 'whose status is written: by nobody of another location',
    before: inSubnet({ networkContext: { name: 'net-there' } }),
    after: inSubnet({ networkContext: { name: 'net-there' } }),
    claims: ['bound-there', 'retained-there'],
  },
  { says: 'of a context that is not there', after: inSubnet({ networkContext: { name: 'none' } }), claims: [] },
]
for (const { says, before, after, claims } of subnetRows) {
  test(`woken by a Subnet ${says}`, () => {
    const sources = townWith(aContext(), there)
    const change = { key: 'default/net-here-ipv6', initial: false, ...(before ? { before } : {}), ...(after ? { after } : {}) }
    assert.deepEqual(names(bySubnet(sources, change)), claims)
    const contexts = new Set([before, after].map((one) => one?.spec.networkContext.name))
    const here = contexts.has('net-here') ? ['bound-here'] : []
    const elsewhere = contexts.has('net-there') ? ['bound-there', 'retained-there'] : []
    const nics = claims.length === 0 ? [] : [...here, ...elsewhere, 'old'].sort()
    assert.deepEqual(names(interfacesBySubnet(sources.caches, change)), nics)
  })
}

test('an attachment that comes or goes wakes the holder of its interface, or while nobody holds it those who ask for it', () => {
  const free: NetworkInterface = anInterface({ metadata: { name: 'free', uid: 'free-nic' } })
  delete free.spec.claimRef
  const asking = (name: string) => aClaim({ metadata: { name, uid: `${name}-claim` }, spec: { networkInterfaceName: 'free' } })
  const caches = cachesWith([nic('held'), free], [asking('first'), asking('second'), aClaim({ metadata: { name: 'other' } })])
  assert.deepEqual(byAttachment(caches, 'default/held'), ['default/claim-held'])
  assert.deepEqual(byAttachment(caches, 'default/free').toSorted(), ['default/first', 'default/second'])
  assert.deepEqual(byAttachment(caches, 'default/gone'), [])
})
