/** What a pass reads of the caches: what concerns its object, however much else stands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labels, type Network, type NetworkContext, type Subnet } from '@nso/api'
import { type Cache, createCache, createClient, type KubeObject, keyOf, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { aContext, anInterface, aSubnet } from '../../test/objects.ts'
import { formatCidr } from '../addresses/cidr.ts'
import { createCaches } from '../caches.ts'
import { trackAhead } from './context/ahead.ts'
import { observe as observeContext } from './context/observe.ts'
import { nicsOf } from './hold/index.ts'
import { decide as decideNetwork } from './network/decide.ts'
import { trackHeldPrefixes } from './network/held-prefixes.ts'
import { observe as observeNetwork } from './network/observe.ts'
import type { NetworkCaches } from './parts.ts'

const others = 10_000

/** Real caches that nobody follows: what stands in them is taken in by hand. */
function emptyCaches(): NetworkCaches {
  const parts = { clock: createManualClock(), jitter: () => 0 }
  const client = createClient(scriptTransport(), parts)
  return createCaches((kind, options) => createCache(client, kind, options, { ...parts, log: silentLogger }))
}

/** The same caches, which tell what is read; to go through all of one fails. */
function watched(caches: NetworkCaches): { caches: NetworkCaches; read: Set<string> } {
  const read = new Set<string>()
  const note = <O extends KubeObject>(objects: readonly O[]): readonly O[] => {
    for (const object of objects) read.add(`${object.kind} ${keyOf(object)}`)
    return objects
  }
  const watch = <C extends Cache>(cache: C): C => ({
    ...cache,
    get: (key: string) => note([cache.get(key) ?? []].flat())[0],
    by: (index: string, value: string) => note(cache.by(index, value)),
    values: () => assert.fail(`all ${cache.kind.plural} are gone through`),
  })
  // Every network has to be in every location: those are read whole.
  const { networks, contexts, subnets, interfaces, servingLocations } = caches
  const each = { networks: watch(networks), contexts: watch(contexts), subnets: watch(subnets), interfaces: watch(interfaces) }
  return { caches: { ...each, servingLocations }, read }
}

function aNetwork(name: string, prefix?: string): Network {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Network',
    metadata: { name, namespace: 'default', uid: `${name}-uid`, resourceVersion: '1' },
    spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460 },
    ...(prefix ? { status: { ipam: { ipv6Prefix: prefix } } } : {}),
  }
}

const contextOf = (network: string, location: string): NetworkContext =>
  aContext({
    metadata: { name: `${network}-${location}`, uid: `${network}-${location}-uid` },
    spec: { network: { name: network }, location: { name: location } },
  })

const subnetOf = (context: string, name = `${context}-ipv6`): Subnet =>
  aSubnet({ metadata: { name, uid: `${name}-uid` }, spec: { networkContext: { name: context } } })

test(`a pass over one context reads its own network's Subnets among ${others} of others`, () => {
  const stored = emptyCaches()
  const ahead = trackAhead(stored)
  const place = (network: string, location: string) => {
    stored.contexts.absorb(contextOf(network, location))
    stored.subnets.absorb(subnetOf(`${network}-${location}`))
  }
  for (let n = 0; n < others; n += 1) place(`net-${n}`, 'dfw')
  place('net', 'dfw')
  place('net', 'lhr')
  stored.subnets.absorb(subnetOf('net-ams', 'by-hand'))
  const { caches, read } = watched(stored)
  const seen = observeContext({ caches, ahead, carving: new Map(), ranges: undefined }, contextOf('net', 'dfw'))
  assert.deepEqual(
    [...read].filter((each) => each.startsWith('Subnet')),
    ['Subnet default/net-dfw-ipv6', 'Subnet default/net-lhr-ipv6'],
  )
  assert.deepEqual(
    seen.taken.map(({ by }) => by),
    ['Subnet net-lhr-ipv6', 'Subnet by-hand'],
  )
})

test('a Subnet is ahead of its context until that stands, and again when it is gone', () => {
  const { contexts, subnets } = emptyCaches()
  subnets.absorb(subnetOf('net-a-dfw', 'first'))
  const ahead = trackAhead({ contexts, subnets })
  const names = (network: string) => ahead.of(`default/${network}`).map(({ metadata }) => metadata.name)
  assert.deepEqual([names('net'), names('net-a'), names('net-a-dfw'), names('ne')], [['first'], ['first'], [], []])
  subnets.absorb(subnetOf('net-a-dfw', 'second'))
  assert.deepEqual(names('net'), ['first', 'second'])
  const context = contextOf('net-a', 'dfw')
  contexts.absorb(context)
  assert.deepEqual([names('net'), names('net-a')], [[], []])
  contexts.absorbGone(context)
  assert.deepEqual(names('net-a'), ['first', 'second'])
  subnets.absorb({ ...subnetOf('net-b-dfw', 'first'), metadata: { ...subnetOf('', 'first').metadata, resourceVersion: '2' } })
  assert.deepEqual([names('net-a'), names('net-b')], [['second'], ['first']])
  for (const name of ['first', 'second']) subnets.absorbGone(subnetOf('', name))
  assert.deepEqual([names('net-a'), names('net-b'), names('net')], [[], [], []])
})

test(`a pass over one network reads none of ${others} others, and its prefix is nobody else's`, () => {
  const stored = emptyCaches()
  const held = trackHeldPrefixes(stored.networks)
  for (let n = 0; n < others; n += 1) {
    const group = (0xfd20_0000 + n).toString(16)
    stored.networks.absorb(aNetwork(`net-${n}`, `${group.slice(0, 4)}:${group.slice(4)}::/48`))
  }
  const { caches, read } = watched(stored)
  const decision = decideNetwork(observeNetwork(caches, aNetwork('net'), held))
  assert.ok(decision.do === 'serve' && decision.ranges.kind === 'held' && decision.ranges.prefix)
  assert.deepEqual([...read], [])
  const done = held.choosing('default/net', decision.ranges.prefix)
  const other = decideNetwork(observeNetwork(caches, aNetwork('net'), held))
  assert.ok(other.do === 'serve' && other.ranges.kind === 'held' && other.ranges.prefix)
  assert.notEqual(formatCidr(other.ranges.prefix), formatCidr(decision.ranges.prefix), 'while the one is being written')
  done()
  const again = decideNetwork(observeNetwork(caches, aNetwork('net'), held))
  assert.ok(again.do === 'serve' && again.ranges.kind === 'held' && again.ranges.prefix)
  assert.equal(formatCidr(again.ranges.prefix), formatCidr(decision.ranges.prefix))
})

test(`a pass over the hold of one context reads none of ${others} interfaces in other locations`, () => {
  const stored = emptyCaches()
  const nic = (name: string, location?: string) => {
    const at = location === undefined ? {} : { [labels.location]: location }
    return anInterface({ metadata: { name, uid: `${name}-uid`, labels: at } })
  }
  for (let n = 0; n < others; n += 1) stored.interfaces.absorb(nic(`web-${n}`, 'lhr'))
  stored.interfaces.absorb(nic('one', 'dfw'))
  stored.interfaces.absorb(nic('two'))
  const { caches, read } = watched(stored)
  assert.equal(nicsOf(caches, contextOf('net', 'dfw')).length, 2)
  assert.deepEqual([...read], ['NetworkInterface default/one', 'NetworkInterface default/two'])
})
