import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflist, type Link } from './conflist.ts'

const identity = { vpc: 'jU', attachment: '1a' }
const bgp = '{"type":"galactic-bgp","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system"}'
const start = '{"cniVersion":"1.0.0","name":"web-0","plugins":['
const six = 'fd20:1:2:3::1:0/96'
const four = '10.128.0.7/32'

const table: { says: string; link: Link; main: string }[] = [
  {
    says: 'a container with one IPv6 address, its gateway and an MTU',
    link: { mode: 'Netns', mtu: 1460, addresses: [six], gateways: ['fd20:1:2:3::1'] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96","gateway":"fd20:1:2:3::1"}]}}',
  },
  {
    says: 'a container with an address and no gateway',
    link: { mode: 'Netns', mtu: 1460, addresses: [six], gateways: [] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96"}]}}',
  },
  {
    says: 'no MTU: the key is left out',
    link: { mode: 'Netns', addresses: [six], gateways: [] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96"}]}}',
  },
  {
    says: 'no address: no address plugin, even with a gateway',
    link: { mode: 'Netns', mtu: 9000, addresses: [], gateways: ['10.128.0.1'] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":9000}',
  },
  {
    says: 'neither MTU nor address',
    link: { mode: 'Netns', addresses: [], gateways: [] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system"}',
  },
  {
    says: 'a virtual machine: the tap plugin',
    link: { mode: 'Hypervisor', mtu: 1460, addresses: [six], gateways: ['fd20:1:2:3::1'] },
    main: '{"type":"galactic-tap","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96","gateway":"fd20:1:2:3::1"}]}}',
  },
  {
    says: 'a virtual machine without MTU and address',
    link: { mode: 'Hypervisor', addresses: [], gateways: [] },
    main: '{"type":"galactic-tap","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system"}',
  },
  {
    says: 'a virtual machine whose hypervisor is handed the device: declared, between MTU and addresses',
    link: { mode: 'HypervisorDeclared', mtu: 1460, addresses: [six], gateways: [] },
    main: '{"type":"galactic-tap","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"dan":true,"ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96"}]}}',
  },
  {
    says: 'both families: the order of the addresses stays, each with the gateway of its family',
    link: { mode: 'Netns', mtu: 1460, addresses: [six, four], gateways: ['10.128.0.1', 'fd20:1:2:3::1'] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"fd20:1:2:3::1:0/96","gateway":"fd20:1:2:3::1"},{"address":"10.128.0.7/32","gateway":"10.128.0.1"}]}}',
  },
  {
    says: 'a gateway of the other family is nobody’s',
    link: { mode: 'Netns', mtu: 1460, addresses: [four], gateways: ['fd20:1:2:3::1'] },
    main: '{"type":"galactic-veth","vpc":"jU","vpcattachment":"1a","namespace":"galactic-system","mtu":1460,"ipam":{"type":"galactic-ipam","addresses":[{"address":"10.128.0.7/32"}]}}',
  },
]

for (const { says, link, main } of table) {
  test(`byte for byte: ${says}`, () => {
    assert.equal(conflist('web-0', identity, link, 'galactic-system'), `${start}${main},${bgp}]}`)
  })
}

test('another system namespace stands in both plugins', () => {
  const text = conflist('web-0', identity, { mode: 'Netns', addresses: [], gateways: [] }, 'edge')
  assert.equal(text.match(/"namespace":"edge"/g)?.length, 2)
})

test('B52: names of 63 and 253 characters stand unchanged', () => {
  for (const length of [63, 253]) {
    const name = 'n'.repeat(length)
    assert.equal(
      JSON.parse(conflist(name, identity, { mode: 'Netns', addresses: [], gateways: [] }, 'galactic-system')).name,
      name,
    )
  }
})
