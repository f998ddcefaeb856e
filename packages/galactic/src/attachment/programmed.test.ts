import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Advertisement, type NodeReport, nodeReport, stillAdvertised } from './programmed.ts'

const identity = { vpc: 'jU', attachment: '1a' }
const devices = { hostInterface: 'G0000000jU01aH', vrfInterface: 'G0000000jUV' }
const yes = { status: 'True', reason: 'Advertised', message: 'advertised to 2 peers' } as const
const no = { status: 'False', reason: 'PeersDown', message: 'no peer is established' } as const
const published = (over: Partial<Advertisement> = {}): Advertisement => ({
  name: '4d2-48',
  deleting: false,
  annotations: {},
  ...over,
})
const v6 = 'galactic.datum.net/allocated-subnet-ipv6.'
const v4 = 'galactic.datum.net/allocated-subnet-ipv4.'

const table: { says: string; given: Advertisement[]; before?: boolean; want: NodeReport }[] = [
  {
    says: 'nothing published yet: Unknown, and no field has a source',
    given: [],
    want: {
      programmed: {
        status: 'Unknown',
        reason: 'AwaitingDataPlane',
        message: 'no router has reported on a BGPAdvertisement of this attachment yet',
      },
    },
  },
  {
    says: 'published, not reported on: as before, so that nothing is written for it',
    given: [published({ node: 'node-1' })],
    want: {
      programmed: {
        status: 'Unknown',
        reason: 'AwaitingDataPlane',
        message: 'no router has reported on a BGPAdvertisement of this attachment yet',
      },
    },
  },
  {
    says: 'published anew and not reported on yet: Unknown, not withdrawn',
    given: [published({ node: 'node-1' })],
    before: true,
    want: {
      programmed: {
        status: 'Unknown',
        reason: 'AwaitingDataPlane',
        message: 'no router has reported on a BGPAdvertisement of this attachment yet',
      },
    },
  },
  {
    says: 'advertised: True with the router’s reason and message',
    given: [published({ node: 'node-1', advertised: yes })],
    before: true,
    want: { programmed: yes, node: 'node-1', ...devices },
  },
  {
    says: 'no longer advertised: False, as the router says',
    given: [published({ node: 'node-1', advertised: no })],
    before: true,
    want: { programmed: no, node: 'node-1', ...devices },
  },
  {
    says: 'the router is not known: no node, the rest stands',
    given: [published({ advertised: yes })],
    want: { programmed: yes, ...devices },
  },
  {
    says: 'withdrawn after a report: False, and the fields leave',
    given: [],
    before: true,
    want: {
      programmed: {
        status: 'False',
        reason: 'AdvertisementWithdrawn',
        message: 'the BGPAdvertisement of this attachment was withdrawn',
      },
    },
  },
  {
    says: 'being deleted counts as withdrawn',
    given: [published({ deleting: true, advertised: yes })],
    before: true,
    want: {
      programmed: {
        status: 'False',
        reason: 'AdvertisementWithdrawn',
        message: 'the BGPAdvertisement of this attachment was withdrawn',
      },
    },
  },
  {
    says: 'both forms of the name: the advertised one speaks',
    given: [published({ name: 'ju-1a', node: 'old', advertised: no }), published({ node: 'new', advertised: yes })],
    want: { programmed: yes, node: 'new', ...devices },
  },
  {
    says: 'a guest that addresses itself',
    given: [published({ advertised: yes, annotations: { 'galactic.datum.net/no-addressing': 'true' } })],
    want: { programmed: { ...yes, message: 'attachment advertised; the guest manages its own addressing' }, ...devices },
  },
  {
    says: 'one recorded subnet',
    given: [published({ advertised: yes, annotations: { [`${v6}abc`]: 'fd20:1:2:3:1::/96', other: 'x' } })],
    want: { programmed: yes, ...devices, podSubnet: 'fd20:1:2:3:1::/96' },
  },
  {
    says: 'a bare IPv4 address gets its prefix length',
    given: [published({ advertised: yes, annotations: { [`${v4}abc`]: '10.128.0.7' } })],
    want: { programmed: yes, ...devices, podSubnet: '10.128.0.7/32' },
  },
  {
    says: 'two recorded subnets: neither',
    given: [published({ advertised: yes, annotations: { [`${v6}abc`]: 'fd20:1:2:3:1::/96', [`${v4}abc`]: '10.128.0.7' } })],
    want: { programmed: yes, ...devices },
  },
  {
    says: 'a record that is no subnet is ignored, not repeated',
    given: [published({ advertised: yes, annotations: { [`${v6}abc`]: 'fd20::/129' } })],
    want: { programmed: yes, ...devices },
  },
]

for (const { says, given, before = false, want } of table) {
  test(says, () => assert.deepEqual(nodeReport(identity, given, before), want))
}

test('an advertisement that is being deleted still holds the detach', () => {
  assert.equal(stillAdvertised([published({ deleting: true })])?.name, '4d2-48')
  assert.equal(stillAdvertised([]), undefined)
})

test('whatever is recorded, a pod subnet is a CIDR or absent', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.ipV4(),
        fc.ipV6(),
        fc.ipV6().map((ip) => `${ip}/64`),
      ),
      (value) => {
        const { podSubnet } = nodeReport(identity, [published({ advertised: yes, annotations: { [`${v6}c`]: value } })], false)
        if (podSubnet !== undefined) assert.match(podSubnet, /^[0-9a-fA-F:.]+\/\d+$/)
      },
    ),
  )
})
