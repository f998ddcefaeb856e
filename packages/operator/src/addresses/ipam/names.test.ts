import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { aFreeInterface, anInterface } from '../../../test/objects.ts'
import type { AddressRequest } from '../port.ts'
import { allocationNameOf, ipClaimName, listedIn } from './names.ts'

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

const table: { says: string; claim: string; request: AddressRequest; want: string }[] = [
  { says: 'an IPv6 address', claim: 'web-0', request: { family: 'IPv6' }, want: 'web-0-f-ipv6' },
  { says: 'an IPv4 address', claim: 'web-0', request: { family: 'IPv4' }, want: 'web-0-f-ipv4' },
  { says: 'an address of a class', claim: 'web-0', request: { class: 'datum-public-v4' }, want: 'web-0-c-datum-public-v4' },
  {
    says: 'a class that no name may hold',
    claim: 'web-0',
    request: { class: 'Public_V4' },
    want: `web-0-${digestOf('web-0\0c-Public_V4')}`,
  },
  {
    says: 'a claim whose name is too long, cut where a name may end',
    claim: `${'a'.repeat(239)}.${'b'.repeat(13)}`,
    request: { family: 'IPv6' },
    want: `${'a'.repeat(239)}-${digestOf(`${'a'.repeat(239)}.${'b'.repeat(13)}\0f-ipv6`)}`,
  },
]
for (const { says, claim, request, want } of table) {
  test(`the IPClaim of ${says} is named ${want.slice(0, 40)}`, () => assert.equal(ipClaimName(claim, request), want))
}

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/)
const claimName = fc.array(label, { minLength: 1, maxLength: 8 }).map((labels) =>
  labels
    .join('.')
    .slice(0, 253)
    .replace(/[-.]+$/, ''),
)
const request: fc.Arbitrary<AddressRequest> = fc.oneof(
  fc.constantFrom('IPv4' as const, 'IPv6' as const).map((family) => ({ family })),
  fc.string({ minLength: 1, maxLength: 63 }).map((name) => ({ class: name })),
)

test('every name is one that an API server takes, and the same for the same request', () => {
  fc.assert(
    fc.property(claimName, request, (claim, asked) => {
      const name = ipClaimName(claim, asked)
      assert.ok(name.length <= 253 && subdomain.test(name), name)
      assert.equal(ipClaimName(claim, { ...asked }), name)
    }),
  )
})

test('two requests of one claim never share a name', () => {
  fc.assert(
    fc.property(claimName, request, request, (claim, one, other) => {
      fc.pre(one.class !== other.class || one.family !== other.family)
      assert.notEqual(ipClaimName(claim, one), ipClaimName(claim, other))
    }),
  )
})

test('an interface’s IPClaims bear the name of the claim they were made for, else of its claim, else its own', () => {
  const noted = anInterface({ metadata: { annotations: { 'networking.datumapis.com/allocation-claim': 'first' } } })
  assert.equal(allocationNameOf(noted), 'first')
  const original = anInterface({ metadata: { name: 'nic', annotations: {} }, spec: { claimRef: { name: 'web-0' } } })
  assert.equal(allocationNameOf(original), 'web-0')
  const free = aFreeInterface()
  assert.equal(allocationNameOf({ ...free, metadata: { ...free.metadata, name: 'nic', annotations: {} } }), 'nic')
})

test('every address of an interface is held under a name, whatever its spelling', () => {
  const nic = anInterface({
    spec: {
      addresses: [
        { family: 'IPv6', address: 'FD20:0::1:0:0/96', primary: true },
        { family: 'IPv4', address: '10.0.0.5/32', class: 'special' },
      ],
      externalAddresses: [{ family: 'IPv4', address: '198.51.100.7', class: 'datum-public-v4' }],
    },
  })
  assert.deepEqual(
    listedIn(nic).map(({ ipClaim, block }) => [ipClaim, block?.prefixLength]),
    [
      ['web-0-f-ipv6', 96],
      ['web-0-c-special', 32],
      ['web-0-c-datum-public-v4', 32],
    ],
  )
})
