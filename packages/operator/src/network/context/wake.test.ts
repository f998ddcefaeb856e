import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkContext, Subnet } from '@nso/api'
import { createCache, createClient, keyOf, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { aContext, aSubnet } from '../../../test/objects.ts'
import { createCaches } from '../../caches.ts'
import { byContext, bySubnet } from './wake.ts'

const contextOf = (network: string, name: string): NetworkContext =>
  aContext({ metadata: { name, uid: `${name}-uid` }, spec: { network: { name: network } } })
const subnetOf = (context: string, name = 'by-hand', spec: Partial<Subnet['spec']> = {}): Subnet =>
  aSubnet({ metadata: { name, uid: `${name}-uid` }, spec: { networkContext: { name: context }, ...spec } })

/** Networks `net` and `net-a`, each in two locations; one more whose context has a name of its own; and others. */
const contexts = [
  contextOf('net', 'net-dfw'),
  contextOf('net', 'net-lhr'),
  contextOf('net-a', 'net-a-dfw'),
  contextOf('net-a', 'net-a-lhr'),
  contextOf('odd', 'by-hand'),
  contextOf('odd', 'odd-dfw'),
  contextOf('other', 'other-dfw'),
]

function cachesWith(subnets: readonly Subnet[], standing: readonly NetworkContext[] = contexts) {
  const parts = { clock: createManualClock(), jitter: () => 0 }
  const client = createClient(scriptTransport(), parts)
  const caches = createCaches((kind, options) => createCache(client, kind, options, { ...parts, log: silentLogger }))
  for (const context of standing) caches.contexts.absorb(context)
  for (const subnet of subnets) caches.subnets.absorb(subnet)
  return caches
}
const names = (keys: Iterable<string>) => [...keys].map((key) => key.replace('default/', '')).sort()

const net = ['net-dfw', 'net-lhr']
const netA = ['net-a-dfw', 'net-a-lhr']
const otherRange = { startAddress: 'fd20:9::' }
const subnetChanges: { says: string; before?: Subnet; after?: Subnet; wakes: string[] }[] = [
  { says: 'appears wakes its context', after: subnetOf('net-dfw'), wakes: ['net-dfw'] },
  { says: 'stays as it is wakes its context', before: subnetOf('net-dfw'), after: subnetOf('net-dfw'), wakes: ['net-dfw'] },
  { says: 'goes wakes its network', before: subnetOf('net-dfw'), wakes: net },
  {
    says: 'gets another range wakes its network',
    before: subnetOf('net-dfw'),
    after: subnetOf('net-dfw', 'by-hand', otherRange),
    wakes: net,
  },
  {
    says: 'gets another family wakes its network',
    before: subnetOf('net-dfw'),
    after: subnetOf('net-dfw', 'by-hand', { ipFamily: 'IPv4' }),
    wakes: net,
  },
  {
    says: 'has the name that another context gives wakes that one too',
    after: subnetOf('typo', 'net-dfw-ipv4'),
    wakes: ['net-dfw', 'typo'],
  },
  {
    says: 'had the name that another context gives wakes that one when it goes',
    before: subnetOf('typo', 'net-dfw-ipv4'),
    wakes: ['net-dfw', 'typo'],
  },
  {
    says: 'of a context that does not stand wakes, when it goes, every network that it may be of',
    before: subnetOf('net-a-sea'),
    wakes: ['net-a-sea', ...net, ...netA],
  },
  {
    says: 'moves to a context of another network wakes both contexts and the network that it left',
    before: subnetOf('net-dfw'),
    after: subnetOf('other-dfw'),
    wakes: [...net, 'other-dfw'],
  },
  {
    says: 'goes wakes the network that its context says, whatever its name',
    before: subnetOf('by-hand'),
    wakes: ['by-hand', 'odd-dfw'],
  },
]
for (const { says, before, after, wakes } of subnetChanges) {
  test(`a Subnet that ${says}`, () => {
    const change = { key: 'default/any', initial: false, ...(before ? { before } : {}), ...(after ? { after } : {}) }
    assert.deepEqual(names(bySubnet(cachesWith(after ? [after] : []), change)), wakes.toSorted())
  })
}

const sea = contextOf('net-a', 'net-a-sea')
const moved = contextOf('other', 'net-a-sea')
const contextChanges: { says: string; before?: NetworkContext; after?: NetworkContext; subnets?: Subnet[]; wakes: string[] }[] = [
  { says: 'appears without Subnets wakes itself', after: sea, wakes: ['net-a-sea'] },
  { says: 'goes without Subnets wakes itself', before: sea, wakes: ['net-a-sea'] },
  {
    says: 'changes within its network wakes itself',
    before: sea,
    after: sea,
    subnets: [subnetOf('net-a-sea')],
    wakes: ['net-a-sea'],
  },
  {
    says: 'appears wakes who learns now whose its Subnets are',
    after: sea,
    subnets: [subnetOf('net-a-sea')],
    wakes: ['net-a-sea', ...net, ...netA],
  },
  {
    says: 'goes and leaves a Subnet made by hand wakes its network',
    before: sea,
    subnets: [subnetOf('net-a-sea')],
    wakes: ['net-a-sea', ...net, ...netA],
  },
  {
    says: 'is of another network than before wakes both',
    before: sea,
    after: moved,
    subnets: [subnetOf('net-a-sea')],
    wakes: ['net-a-sea', ...net, ...netA, 'other-dfw'],
  },
]
for (const { says, before, after, subnets = [], wakes } of contextChanges) {
  test(`a context that ${says}`, () => {
    const caches = cachesWith(subnets, after ? [...contexts, after] : contexts)
    const change = { key: keyOf(sea), initial: false, ...(before ? { before } : {}), ...(after ? { after } : {}) }
    assert.deepEqual(names(byContext(caches, change)), wakes.toSorted())
  })
}
