import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { configurationName, conflist, type Link, type OnNetwork } from './conflist.ts'

const network: OnNetwork = { bridge: 'kb-0123456789ab', ranges: ['10.128.0.0/20', 'fd20:1::/64'], hostGateway: false }
const routed: OnNetwork = { ...network, hostGateway: true }
const named = { namespace: 'blue', name: 'web-0' }
const none: Link = { addresses: [], gateways: [] }
const four = { 'net.ipv4.conf.IFNAME.arp_announce': '2', 'net.ipv4.conf.IFNAME.arp_ignore': '1' }
const six = { 'net.ipv6.conf.IFNAME.accept_ra': '0', 'net.ipv6.conf.IFNAME.autoconf': '0' }

type Case = { says: string; link: Partial<Link>; on?: OnNetwork; main: object; sysctl: object }

const bare = { type: 'bridge', bridge: 'kb-0123456789ab', ipMasq: false, forceAddress: false }

const table: Case[] = [
  { says: 'a workload that addresses itself gets a plain device and no address plugin', link: {}, main: bare, sysctl: four },
  {
    says: 'nor does the node take part in a network with hostGateway then: there is no address to start from',
    link: {},
    on: routed,
    main: bare,
    sysctl: four,
  },
  {
    says: 'an IPv4 address stands as given, with its network on the link and a route that CHECK looks for; the gateway leads nowhere',
    link: { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] },
    main: {
      ...bare,
      mtu: 1460,
      ipam: {
        type: 'static',
        addresses: [{ address: '10.128.0.7/32' }],
        routes: [{ dst: '10.128.0.7/32' }, { dst: '10.128.0.0/20' }],
      },
    },
    sysctl: four,
  },
  {
    says: 'an IPv6 block stands as given, in canonical form, with its network on the link',
    link: { addresses: ['FD20:1:0:0::1:0:0/96'] },
    main: { ...bare, ipam: { type: 'static', addresses: [{ address: 'fd20:1::1:0:0/96' }], routes: [{ dst: 'fd20:1::/64' }] } },
    sysctl: { ...four, ...six },
  },
  {
    says: 'a range that an address covers by its own prefix needs no route',
    link: { addresses: ['10.128.0.7/20', 'fd20:1::7/64'] },
    main: { ...bare, ipam: { type: 'static', addresses: [{ address: '10.128.0.7/20' }, { address: 'fd20:1::7/64' }] } },
    sysctl: { ...four, ...six },
  },
  {
    says: 'a range that is said twice, in whatever spelling, is one route; that to an address itself too',
    link: { addresses: ['10.128.0.7/32'] },
    on: { ...network, ranges: ['10.128.0.0/20', '10.128.0.7/32', '10.128.9.9/20', '10.129.0.0/20'] },
    main: {
      ...bare,
      ipam: {
        type: 'static',
        addresses: [{ address: '10.128.0.7/32' }],
        routes: [{ dst: '10.128.0.7/32' }, { dst: '10.128.0.0/20' }, { dst: '10.129.0.0/20' }],
      },
    },
    sysctl: four,
  },
  {
    says: 'where the node is the gateway, addresses have the length of their range, and each goes with the gateway of its family',
    link: { addresses: ['fd20:1::1:0:0/96', '10.128.0.7/32'], gateways: ['10.128.0.1', 'FD20:1::1'] },
    on: routed,
    main: {
      ...bare,
      isGateway: true,
      ipam: {
        type: 'static',
        addresses: [
          { address: 'fd20:1::1:0:0/64', gateway: 'fd20:1::1' },
          { address: '10.128.0.7/20', gateway: '10.128.0.1' },
        ],
      },
    },
    sysctl: { ...four, ...six },
  },
  {
    says: 'where the node is the gateway and none is said, the plugin takes the first address of the range',
    link: { addresses: ['10.128.0.7/32'] },
    on: routed,
    main: { ...bare, isGateway: true, ipam: { type: 'static', addresses: [{ address: '10.128.0.7/20' }] } },
    sysctl: four,
  },
]

for (const { says, link, on = network, main, sysctl } of table)
  test(says, () => {
    assert.deepEqual(JSON.parse(conflist(named, { ...none, ...link }, on)), {
      cniVersion: '1.0.0',
      name: 'blue.web-0',
      plugins: [main, { type: 'tuning', sysctl }],
    })
  })

test('the bytes are these, so a stored configuration that is still right is never rewritten', () => {
  assert.equal(
    conflist(named, { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: [] }, network),
    '{"cniVersion":"1.0.0","name":"blue.web-0","plugins":[{"type":"bridge","bridge":"kb-0123456789ab","mtu":1460,"ipMasq":false,"forceAddress":false,"ipam":{"type":"static","addresses":[{"address":"10.128.0.7/32"}],"routes":[{"dst":"10.128.0.7/32"},{"dst":"10.128.0.0/20"}]}},{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_announce":"2","net.ipv4.conf.IFNAME.arp_ignore":"1"}}]}',
  )
})

test('text that is no address does not get in', () => {
  const rendered = conflist(
    named,
    { addresses: ['"},{"x', '10.0.0.1', '10.128.0.7/33', 'fe80::1%eth0/64'], gateways: ['"'] },
    network,
  )
  assert.deepEqual(JSON.parse(rendered).plugins[0], bare)
})

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
const objectName = fc.array(label, { minLength: 1, maxLength: 8 }).map((parts) =>
  parts
    .join('.')
    .slice(0, 253)
    .replace(/[.-]+$/, ''),
)
const anyNamed = fc.record({ namespace: label, name: objectName })

test('B51: the inner name is valid for CNI, short enough for a file of its own, and different for every two attachments', () => {
  fc.assert(
    fc.property(anyNamed, anyNamed, (one, other) => {
      const name = configurationName(one)
      // libcni 1.3.1, utils.ValidateNetworkName; 64 for a container id, 15 for a device, 2 dashes, of 255.
      assert.match(name, /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/)
      assert.ok(name.length <= 255 - 64 - 15 - 2)
      assert.equal(configurationName({ ...one }), name)
      const areSame = one.namespace === other.namespace && one.name === other.name
      assert.equal(name === configurationName(other), areSame)
    }),
  )
})

test('B51: long names that begin alike stay apart', () => {
  const long = 'a'.repeat(252)
  const names = [`${long}b`, `${long}c`].map((name) => configurationName({ namespace: 'n', name }))
  assert.notEqual(names[0], names[1])
  assert.ok(names.every((name) => name.length === 161))
})
