import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalAddress, contains, parseCidr } from './cidr.ts'

const table: { says: string; given: string; want: object | undefined }[] = [
  {
    says: 'host bits stay in the address and leave the network',
    given: '10.128.5.7/20',
    want: { family: 'IPv4', address: '10.128.5.7', network: '10.128.0.0', length: 20 },
  },
  {
    says: 'IPv6 in one form',
    given: 'FD20:0:0:1::0:7/64',
    want: { family: 'IPv6', address: 'fd20:0:0:1::7', network: 'fd20:0:0:1::', length: 64 },
  },
  {
    says: 'an IPv6 address that ends in IPv4',
    given: '64:ff9b::192.0.2.33/96',
    want: { family: 'IPv6', address: '64:ff9b::c000:221', network: '64:ff9b::', length: 96 },
  },
  { says: 'everything', given: '0.0.0.0/0', want: { family: 'IPv4', address: '0.0.0.0', network: '0.0.0.0', length: 0 } },
  { says: 'no length', given: '10.0.0.1', want: undefined },
  { says: 'too long', given: '10.0.0.1/33', want: undefined },
  { says: 'a zone', given: 'fe80::1%eth0/64', want: undefined },
  { says: 'leading zeros', given: '010.0.0.1/8', want: undefined },
]

for (const { says, given, want } of table) test(says, () => assert.deepEqual(parseCidr(given), want))

const group = fc.nat(0xffff).map((value) => value.toString(16))
const six = fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => groups.join(':'))
const four = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.'))
const cidr = fc.oneof(
  fc.tuple(six, fc.nat(128)).map(([address, length]) => `${address}/${length}`),
  fc.tuple(four, fc.nat(32)).map(([address, length]) => `${address}/${length}`),
)

test('a range contains the address it was read with, its network, and no address of the other family', () => {
  fc.assert(
    fc.property(cidr, (text) => {
      const parsed = parseCidr(text)
      assert.ok(parsed)
      assert.ok(contains(parsed, parsed.address))
      assert.ok(contains(parsed, parsed.network))
      assert.ok(!contains(parsed, parsed.family === 'IPv4' ? '::1' : '192.0.2.1'))
      assert.deepEqual(parseCidr(`${parsed.address}/${parsed.length}`), parsed)
      assert.equal(parseCidr(`${parsed.network}/${parsed.length}`)?.address, parsed.network)
      assert.equal(canonicalAddress(parsed.address), parsed.address)
    }),
  )
})

test('a range of a full length contains one address', () => {
  const one = parseCidr('fd20::7/128')
  assert.ok(one && contains(one, 'fd20::7') && !contains(one, 'fd20::8'))
})
